"""Locks, of whatever kind: two faces over one description and the same steps."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator
from types import TracebackType
from typing import Any, Final, Generic, Literal, TypeVar, overload

from ..drive import now
from ..errors import AcquireTimeout, NotHeld, UsageError
from ..model import LockInfo, Seconds, Terms, checked_timeout
from ..recipes.lock import ANSWER
from ..steps import Steps, nothing
from ..stores import LockStore
from .hold import AsyncHold, BaseHold, Hold
from .kinds import kindly
from .session import BaseSession
from .worlds import AsyncSession, Session

H = TypeVar("H", bound=BaseHold)
T = TypeVar("T")
HoldT = TypeVar("HoldT", bound=Hold)
AsyncHoldT = TypeVar("AsyncHoldT", bound=AsyncHold)


class _Own:
    """Stands for the timeout that the lock was made with."""

    def __repr__(self) -> str:
        return "the lock's own"


OWN: Final = _Own()


def stacked(hold: BaseHold | None) -> Iterator[BaseHold]:
    """The holds of one name that a thread or task has, the newest first."""
    while hold is not None:
        yield hold
        hold = hold.outer


class BaseLock(Generic[H]):
    """A description of a lock and the client to ask; it has no state of its own."""

    __slots__ = ("_timeout", "client", "key", "store", "terms")
    hold_class: type[H]

    def __init__(
        self,
        client: BaseSession,
        store: LockStore,
        name: str,
        terms: Terms,
        timeout: Seconds | None,
    ) -> None:
        self.client, self.store, self.terms = client, store, terms
        self.key = (store.kind, name)
        self._timeout = checked_timeout(timeout)

    @property
    def name(self) -> str:
        """What the user calls this lock."""
        return self.key[1]

    def _enter(self) -> Steps[H]:
        return self.client.take(self, self._timeout, block=True)

    def _leave(self, error: BaseException | None) -> Steps[None]:
        """Leave a block; a forked child passes through its parent's without a trace."""
        hold = self._held(block=True)
        return nothing() if hold is None else self._leave_hold(hold, error)

    def _leave_hold(self, hold: H, error: BaseException | None) -> Steps[None]:
        return self.client.leave(hold, error, self.store)

    def _acquire(self, blocking: bool, timeout: Seconds | _Own | None) -> Steps[H | None]:
        if not blocking:
            if not isinstance(timeout, _Own) and timeout != -1:
                raise UsageError("a try does not wait, so it takes no timeout")
            return (yield from self._try())
        wait = self._timeout if isinstance(timeout, _Own) else checked_timeout(timeout)
        return (yield from self.client.take(self, wait))

    def _try(self) -> Steps[H | None]:
        try:
            return (yield from self.client.take(self, 0.0, trial=True))
        except AcquireTimeout:
            return None

    def _locked(self) -> Steps[bool]:
        return (yield from self._look()) is not None

    def _look(self) -> Steps[LockInfo | None]:
        return kindly(
            self.client.backend,
            self.store,
            self.name,
            lambda: self.store.look(self.name, now() + ANSWER),
        )

    def _held(self, block: bool = False) -> H | None:
        """The hold of the running thread or task; None in a fork that never took it."""
        hold: H | None = self.client.books.mine.get(self.key)
        if hold is not None and not self.store.reentrant:
            hold = self._among(hold, block)
        if hold is None and self.key not in self.client.inherited:
            raise NotHeld(self.name)
        return hold

    def _among(self, newest: BaseHold, block: bool) -> Any:
        """Of several holds of a name, the newest that was taken by this lock: for the block
        that is left, or rather not for a block."""
        holds = list(stacked(newest))
        mine = [each for each in holds if each.taker is (self if block else None)]
        alike = [each for each in mine if each.store is self.store]
        return next(iter(alike or [each for each in holds if each.store is self.store]), None)

    def _mine(self) -> H:
        hold = self._held()
        if hold is None:
            raise NotHeld(self.name, why="here: this process is a fork of the holder")
        return hold

    def __repr__(self) -> str:
        hold = None
        try:
            hold = self.client.books.mine.get(self.key)
        except RuntimeError:
            pass  # outside of any task nobody holds anything
        state = f" {hold!r}" if hold is not None else ""
        store = self.client.backend.label
        return f"<{type(self).__name__} {self.store.kind} {self.name!r} on {store}{state}>"


class Face(BaseLock[HoldT]):
    """What can be taken by threads.  One object may be shared by all of them."""

    __slots__ = ()
    client: Session

    @overload
    def acquire(
        self, blocking: Literal[True] = True, timeout: Seconds | _Own | None = OWN
    ) -> HoldT: ...
    @overload
    def acquire(self, blocking: bool, timeout: Seconds | _Own | None = OWN) -> HoldT | None: ...
    def acquire(self, blocking: bool = True, timeout: Seconds | _Own | None = OWN) -> HoldT | None:
        """Take the lock and return its hold; None only when not blocking and busy.

        Raises AcquireTimeout when `timeout` seconds were not enough (None: no limit).
        If interrupted: nothing is left in the store.  A store that does not answer may
        take two seconds longer, because the question has to be taken back.
        Cost: none when re-entering; one round trip when free, two of a semaphore or mutex on
        ZooKeeper.  The first time that anybody uses a name may cost more: two round trips of a
        semaphore on Redis; one on ZooKeeper, three of a semaphore.
        """
        return self.client.run(self._acquire(blocking, timeout))

    def attempt(self) -> Attempt[HoldT]:
        """Try once, as a context manager: `with lock.attempt() as hold`, None when busy.

        Cost: one round trip, and one more to release.
        """
        return Attempt(self)

    def release(self) -> None:
        """Give back what the running thread or task holds; the last one of several counts.

        Raises NotHeld when it holds nothing, LockLost when the lease had ended before.
        Cost: one round trip.
        """
        self.client.run(self.client.give(self._mine(), self.store))

    def locked(self) -> bool:
        """Whether anybody holds it now.  Cost: at most two round trips, four on ZooKeeper."""
        return self.client.run(self._locked())

    def __enter__(self) -> HoldT:
        return self.client.run(self._enter())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.client.run(self._leave(error))


class AsyncFace(BaseLock[AsyncHoldT]):
    """What can be taken by tasks.  One object may be shared by all of them."""

    __slots__ = ()
    client: AsyncSession

    @overload
    async def acquire(
        self, blocking: Literal[True] = True, timeout: Seconds | _Own | None = OWN
    ) -> AsyncHoldT: ...
    @overload
    async def acquire(
        self, blocking: bool, timeout: Seconds | _Own | None = OWN
    ) -> AsyncHoldT | None: ...
    async def acquire(
        self, blocking: bool = True, timeout: Seconds | _Own | None = OWN
    ) -> AsyncHoldT | None:
        """Take the lock and return its hold; None only when not blocking and busy.

        Raises AcquireTimeout when `timeout` seconds were not enough (None: no limit).
        If interrupted: nothing is left in the store.  A store that does not answer may
        take two seconds longer, because the question has to be taken back.
        Cost: none when re-entering; one round trip when free, two of a semaphore or mutex on
        ZooKeeper.  The first time that anybody uses a name may cost more: two round trips of a
        semaphore on Redis; one on ZooKeeper, three of a semaphore.
        """
        return await self.client.run(self._acquire(blocking, timeout))

    def attempt(self) -> AsyncAttempt[AsyncHoldT]:
        """Try once, as a context manager: `with lock.attempt() as hold`, None when busy.

        Cost: one round trip, and one more to release.
        """
        return AsyncAttempt(self)

    async def release(self) -> None:
        """Give back what the running thread or task holds; the last one of several counts.

        Raises NotHeld when it holds nothing, LockLost when the lease had ended before.
        Cost: one round trip.
        """
        await self.client.run(self.client.give(self._mine(), self.store))

    async def locked(self) -> bool:
        """Whether anybody holds it now.  Cost: at most two round trips, four on ZooKeeper."""
        return await self.client.run(self._locked())

    def __aenter__(self) -> Awaitable[AsyncHoldT]:
        return self.client.run(self._enter())

    def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Awaitable[None]:
        return self.client.run(self._leave(error))


class Attempt(Generic[T]):
    """One try at a lock, for a `with` statement."""

    __slots__ = ("_hold", "_lock")

    def __init__(self, lock: Any) -> None:
        self._lock = lock
        self._hold: Any = None

    def __enter__(self) -> T | None:
        self._hold = self._lock.acquire(blocking=False)
        hold: T | None = self._hold
        return hold

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._hold is not None:
            self._lock.client.run(self._lock._leave_hold(self._hold, error))


class AsyncAttempt(Generic[T]):
    """One try at a lock, for an `async with` statement."""

    __slots__ = ("_hold", "_lock")

    def __init__(self, lock: Any) -> None:
        self._lock = lock
        self._hold: Any = None

    async def __aenter__(self) -> T | None:
        self._hold = await self._lock.acquire(blocking=False)
        if self._hold is not None:
            self._hold.enter_block()
        hold: T | None = self._hold
        return hold

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._hold is not None:
            await self._lock.client.run(self._lock._leave_hold(self._hold, error))


class Lock(Face[Hold]):
    """A lock for threads.  One object may be shared by all of them."""

    __slots__ = ()
    hold_class = Hold


class AsyncLock(AsyncFace[AsyncHold]):
    """A lock for tasks.  One object may be shared by all of them."""

    __slots__ = ()
    hold_class = AsyncHold
