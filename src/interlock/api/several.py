"""Several locks as one: all of them, or a majority.  They may be of different clients."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Sequence
from itertools import pairwise
from types import TracebackType
from typing import Any, Generic, Literal, TypeVar, overload

from ..drive import now
from ..errors import AcquireTimeout, NotHeld, UsageError
from ..model import Seconds, checked_timeout
from ..recipes.several import Member, or_restore, quorum, take_all, take_majority
from ..steps import Steps, elsewhere
from .books import TaskBooks, ThreadBooks
from .bundle import AsyncBundle, BaseBundle, Bundle
from .lock import OWN, AsyncAttempt, AsyncFace, Attempt, BaseLock, Face, _Own
from .worlds import AsyncSession, Session

B = TypeVar("B", bound=BaseBundle)

#: Where a thread's or task's bundles stand in its book.
STACK = ("several", "")


class LockMember:
    """A lock, as one member of several: see `recipes.several.Member`."""

    def __init__(self, lock: BaseLock[Any]) -> None:
        self.lock, self.name = lock, lock.name

    def take(self, timeout: float) -> Steps[Any]:
        client = self.lock.client
        return elsewhere(client.run, client.take(self.lock, timeout))

    def give(self, hold: Any) -> Steps[None]:
        client = self.lock.client
        return elsewhere(client.run, client.give(hold, self.lock.store))

    def standing(self) -> tuple[Any, int] | None:
        hold = self.lock.client.books.mine.get(self.lock.key)
        return None if hold is None else (hold, hold.depth)


class BaseSeveral(Generic[B]):
    """A description of several locks; what is held is in the bundle."""

    _books: Any
    bundle_class: type[B]
    client: Any

    def __init__(
        self, locks: Sequence[BaseLock[Any]], need: int, timeout: Seconds | _Own | None
    ) -> None:
        if not locks:
            raise UsageError("several locks are at least one")
        self.locks, self._need = tuple(sorted(locks, key=_place)), need
        _refuse_twins(self.locks)
        own = min(lock._timeout for lock in locks)
        self._timeout = own if isinstance(timeout, _Own) else checked_timeout(timeout)
        self._members: list[Member] = [LockMember(lock) for lock in self.locks]
        self.client = self.locks[0].client

    def _take(self, timeout: float) -> Steps[B]:
        return or_restore(self._members, self._bundled(timeout))

    def _bundled(self, timeout: float) -> Steps[B]:
        members, deadline = self._members, now() + timeout
        if self._need == len(members):
            holds = yield from take_all(members, deadline, now)
        else:
            jitter = os.urandom(1)[0] / 256
            holds = yield from take_majority(members, deadline, now, jitter)
        stack = self._books.mine.setdefault(STACK, [])
        return self.bundle_class(self.client, members, holds, self._need, stack)

    def _try(self) -> Steps[B | None]:
        try:
            return (yield from self._take(0.0))
        except AcquireTimeout:
            return None

    def _acquire(self, blocking: bool, timeout: Seconds | _Own | None) -> Steps[B | None]:
        if not blocking:
            if not isinstance(timeout, _Own) and timeout != -1:
                raise UsageError("a try does not wait, so it takes no timeout")
            return (yield from self._try())
        wait = self._timeout if isinstance(timeout, _Own) else checked_timeout(timeout)
        return (yield from self._take(wait))

    def _enter(self) -> Steps[B]:
        bundle = yield from self._take(self._timeout)
        bundle.blocked = True
        return bundle

    def _mine(self, block: bool = False) -> B:
        """The newest bundle of this thread or task: of the block that is left, or rather not
        of a block."""
        stack: list[B] = self._books.mine.get(STACK, [])
        fitting = [bundle for bundle in stack if bundle.blocked == block] or stack
        if not fitting:
            raise NotHeld(self.name)
        return fitting[-1]

    def _leave_hold(self, hold: B, error: BaseException | None) -> Steps[None]:
        return hold._leave(error)

    @property
    def name(self) -> str:
        """The names of the locks, in the order in which they are taken."""
        return ", ".join(lock.name for lock in self.locks)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._need} of {self.name}>"


def _place(lock: BaseLock[Any]) -> tuple[str, str, str]:
    """The one order in which everybody takes locks."""
    return (lock.client.backend.label, lock.store.kind, lock.name)


def _refuse_twins(locks: Sequence[BaseLock[Any]]) -> None:
    for one, other in pairwise(locks):
        if _place(one) == _place(other):
            raise UsageError(f"{one.name!r} is there twice, and would wait for itself")


class Several(BaseSeveral[Bundle]):
    """Several locks as one, for threads.  One object may be shared by all of them."""

    bundle_class = Bundle
    client: Session

    def __init__(
        self, locks: Sequence[Face[Any]], need: int, timeout: Seconds | _Own | None
    ) -> None:
        super().__init__(locks, need, timeout)
        self._books: ThreadBooks[Any] = ThreadBooks()

    @overload
    def acquire(
        self, blocking: Literal[True] = True, timeout: Seconds | _Own | None = OWN
    ) -> Bundle: ...
    @overload
    def acquire(self, blocking: bool, timeout: Seconds | _Own | None = OWN) -> Bundle | None: ...
    def acquire(
        self, blocking: bool = True, timeout: Seconds | _Own | None = OWN
    ) -> Bundle | None:
        """Take the locks and return their bundle; None only when not blocking and busy.

        Raises AcquireTimeout, for the member that was busy, when `timeout` seconds were not
        enough for all of them together.  If interrupted: nothing is left in the stores.
        Cost: one round trip for each when free, one after another.
        """
        return self.client.run(self._acquire(blocking, timeout))

    def attempt(self) -> Attempt[Bundle]:
        """Try once, as a context manager: None when any of them is busy."""
        return Attempt(self)

    def release(self) -> None:
        """Give back what the running thread or task took last.  One round trip for each."""
        self.client.run(self._mine()._give())

    def __enter__(self) -> Bundle:
        return self.client.run(self._enter())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.client.run(self._mine(block=True)._leave(error))


class AsyncSeveral(BaseSeveral[AsyncBundle]):
    """Several locks as one, for tasks.  One object may be shared by all of them."""

    bundle_class = AsyncBundle
    client: AsyncSession

    def __init__(
        self, locks: Sequence[AsyncFace[Any]], need: int, timeout: Seconds | _Own | None
    ) -> None:
        super().__init__(locks, need, timeout)
        self._books: TaskBooks[Any] = TaskBooks()

    @overload
    async def acquire(
        self, blocking: Literal[True] = True, timeout: Seconds | _Own | None = OWN
    ) -> AsyncBundle: ...
    @overload
    async def acquire(
        self, blocking: bool, timeout: Seconds | _Own | None = OWN
    ) -> AsyncBundle | None: ...
    async def acquire(
        self, blocking: bool = True, timeout: Seconds | _Own | None = OWN
    ) -> AsyncBundle | None:
        """Take the locks and return their bundle; None only when not blocking and busy.

        Raises AcquireTimeout, for the member that was busy, when `timeout` seconds were not
        enough for all of them together.  If interrupted: nothing is left in the stores.
        Cost: one round trip for each when free, one after another.
        """
        return await self.client.run(self._acquire(blocking, timeout))

    def attempt(self) -> AsyncAttempt[AsyncBundle]:
        """Try once, as a context manager: None when any of them is busy."""
        return AsyncAttempt(self)

    async def release(self) -> None:
        """Give back what the running thread or task took last.  One round trip for each."""
        await self.client.run(self._mine()._give())

    async def __aenter__(self) -> AsyncBundle:
        return await (await self.client.run(self._enter())).__aenter__()

    def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Awaitable[None]:
        return self.client.run(self._mine(block=True)._leave(error))


def all_of(*locks: Face[Any], timeout: Seconds | _Own | None = OWN) -> Several:
    """Several locks as one: all of them, or none.

    They are taken in one fixed order, so that callers cannot wait for each other in a circle;
    they may be of different kinds, clients and stores.  `timeout` is for all of them together;
    by itself it is the shortest of theirs.
    """
    return Several(locks, len(locks), timeout)


def majority_of(*locks: Face[Any], timeout: Seconds | _Own | None = OWN) -> Several:
    """More than half of several locks, each in a store of its own: Redisson's RedLock.

    It tolerates stores that are out of reach, as long as the majority is not.  A grant counts
    only while more than half of the leases stand, less the time that it took to get them.
    """
    return Several(locks, quorum(len(locks)), timeout)


def aall_of(*locks: AsyncFace[Any], timeout: Seconds | _Own | None = OWN) -> AsyncSeveral:
    """Several locks as one: all of them, or none.

    They are taken in one fixed order, so that callers cannot wait for each other in a circle;
    they may be of different kinds, clients and stores.  `timeout` is for all of them together;
    by itself it is the shortest of theirs.
    """
    return AsyncSeveral(locks, len(locks), timeout)


def amajority_of(*locks: AsyncFace[Any], timeout: Seconds | _Own | None = OWN) -> AsyncSeveral:
    """More than half of several locks, each in a store of its own: Redisson's RedLock.

    It tolerates stores that are out of reach, as long as the majority is not.  A grant counts
    only while more than half of the leases stand, less the time that it took to get them.
    """
    return AsyncSeveral(locks, quorum(len(locks)), timeout)
