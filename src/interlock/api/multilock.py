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
from ..recipes import holding
from ..recipes.agreement import majority
from ..recipes.lease import Lease
from ..recipes.majority import take_majority
from ..recipes.multilock import Abroad, Member, noted, or_restore, run_by, take_all
from ..recipes.self_wait import check_itself
from ..session.holds import Holds, HoldsRef
from ..session.session import AsyncSession, BaseSession, Session
from ..steps import Steps
from ..words import given, shown
from .attempt import AsyncAttempt, Attempt
from .copying import Described
from .lock import Acquirable, AsyncAcquirable, BaseLock, entered_elsewhere
from .multihold import FORK, AsyncMultiHold, BaseMultiHold, MultiHold
from .timeouts import OWN, OwnTimeout, patience

M = TypeVar("M", bound=BaseMultiHold)
L = TypeVar("L")


class LockMember:
    """A lock, as one member of a multilock: see `recipes.multilock.Member`."""

    def __init__(self, lock: BaseLock[Any], home: BaseSession) -> None:
        self.lock, self.name, self._session = lock, lock.name, lock._session
        self.client = lock._session
        self.abroad: Abroad | None = None if lock._session is home else lock._session.run

    def take(self, timeout: float, limit: float, persists: bool = True) -> Steps[Lease]:
        wish = self._session, self.lock._request, timeout
        hold = yield from holding.acquire(*wish, limit=limit, persists=persists)
        lease: Lease = hold._lease
        return lease

    def check_itself(self) -> Steps[None]:
        wish = self.lock._store, self.lock._key, self._session.holds.current, now
        return run_by(self.abroad, check_itself(*wish))

    def give(self, hold: Lease, until: float) -> Steps[None]:
        return holding.release(self._session, hold, self.lock._store, until)

    def standing(self) -> tuple[Any, int] | None:
        lease = self._session.holds.current.get(self.lock._key)
        return None if lease is None else (lease, lease.depth)


class BaseMultiLock(Described, Generic[M]):
    """A description of several locks; what is held is in the MultiHold."""

    __slots__ = ("__weakref__", "_blocks", "_locks", "_members", "_need", "_session", "_timeout")
    _hold_class: type[M]

    def __init__(self, locks: Sequence[BaseLock[Any]], need: int, timeout: Seconds | None) -> None:
        self._locks, self._need = tuple(sorted(locks, key=_place)), need
        _refuse_twins(self._locks)
        own = min(lock._timeout for lock in locks)
        self._timeout = own if isinstance(timeout, OwnTimeout) else checked_timeout(timeout)
        self._session: Any = self._locks[0]._session
        self._members: Sequence[Member] = [LockMember(lock, self._session) for lock in self._locks]
        #: What open blocks have entered, apart for each thread and task: see `lock.Request`.
        self._blocks: dict[HoldsRef, list[M]] = {}

    @property
    def name(self) -> str:
        """The names of the locks, in the order in which they are taken."""
        return ", ".join(lock.name for lock in self._locks)

    @property
    def locks(self) -> tuple[BaseLock[Any], ...]:
        """The locks, in the order in which they are taken."""
        return self._locks

    def _take(self, timeout: float, block: bool = False) -> Steps[M]:
        for lock in self._locks:
            lock._session.here()  # before any of them is taken
        deadline = now() + timeout
        steps = self._acquire_hold(deadline, timeout, block)
        return or_restore(self._members, steps, deadline, now)

    def _acquire_hold(self, deadline: float, timeout: float, block: bool) -> Steps[M]:
        try:
            leases = yield from self._leases(deadline)
        except AcquireTimeout as busy:
            raise _told_of_all(busy, timeout) from None
        holds: Holds = self._session.holds.current
        held = self._hold_class(self._session, self._members, leases, self._need, holds.ref)
        try:
            holds.multiholds.append(held)
            if block:
                held._for_block = True
                held._enter_block()
                self._blocks.setdefault(held._taken_by, []).append(held)
        except BaseException:
            self._abandon(held)
            raise
        return held

    def _abandon(self, held: M) -> None:
        """The block that has just begun does not begin after all."""
        held._forget()
        self._left(held._taken_by, held)

    def _left(self, ref: HoldsRef, held: M) -> None:
        entered = self._blocks.get(ref, [])
        if held in entered:
            entered.remove(held)
        if not entered:
            self._blocks.pop(ref, None)

    def _leases(self, deadline: float) -> Steps[list[Any]]:
        if self._need == len(self._members):
            return take_all(self._members, deadline, now)
        jitter = os.urandom(1)[0] / 256
        return take_majority(self._members, deadline, now, jitter, self._session.notify)

    def _try(self) -> Steps[M | None]:
        try:
            return (yield from self._take(0.0))
        except AcquireTimeout:
            return None

    def _acquire(self, blocking: bool, timeout: Seconds | None) -> Steps[M | None]:
        wait = patience(blocking, timeout, self._timeout)
        if wait is None:
            return (yield from self._try())
        return (yield from self._take(wait))

    def _enter(self) -> Steps[M]:
        return self._take(self._timeout, block=True)

    def _leave(self, error: BaseException | None) -> Steps[None]:
        """Leave the block that ends now, with what it has entered."""
        ref: HoldsRef | None = self._session.holds.current.ref
        if ref not in self._blocks:
            ref = entered_elsewhere(self._blocks)
        if ref is None:
            raise NotHeld(self.name)
        held = self._blocks[ref][-1]
        try:
            yield from self._instead(held, error)._leave(error)
        finally:
            self._left(ref, held)

    def _instead(self, held: M, error: BaseException | None) -> M:
        """What a block leaves: see `lock.Request`."""
        taken = self._session.holds.current.multiholds
        anew = [each for each in taken if each._members is self._members and not each._for_block]
        if not held._released or not anew:
            return held
        held._exit_scope(error)
        newer: M = anew[-1]
        newer._enter_block()
        return newer

    def _leave_hold(self, hold: M, error: BaseException | None) -> Steps[None]:
        return hold._leave(error)

    def _release(self) -> Steps[None]:
        """Give back what the running thread or task took last, and rather not for a block."""
        taken = self._session.holds.current.multiholds
        mine = [each for each in taken if each._members is self._members]
        free = [each for each in mine if not each._for_block] or mine
        if not free:
            inherited = any(lock._key in lock._session.inherited for lock in self._locks)
            raise NotHeld(self.name, why=FORK if inherited else "")
        yield from free[-1]._release()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._need} of {self.name}>"


def _told_of_all(busy: AcquireTimeout, timeout: float) -> AcquireTimeout:
    """The same, with the timeout that was given for all: a member has what is left of it."""
    return noted(AcquireTimeout(busy.name, busy.holder, busy.waited, timeout), busy)


def _place(lock: BaseLock[Any]) -> tuple[str, str, str]:
    """The one order in which all clients take locks."""
    return (lock._session.backend.label, lock._store.kind, lock.name)


def _refuse_twins(locks: Sequence[BaseLock[Any]]) -> None:
    for one, other in pairwise(locks):
        if _place(one) == _place(other):
            raise UsageError(
                f"lock {one.name!r} is there twice, and would wait for itself: name it once"
            )


def checked_locks(function: str, locks: Sequence[Any], face: type[L]) -> Sequence[L]:
    """Refuse what is no lock of this world, and say what was probably meant."""
    if not locks:
        raise UsageError(f"{function}() needs at least one lock")
    for each in locks:
        if not isinstance(each, face):
            raise TypeError(f"{function}() takes locks, {_meant(function, locks, each)}")
    return locks


def _meant(function: str, locks: Sequence[Any], wrong: Any) -> str:
    if isinstance(wrong, str) and function == "all_of":
        names = ", ".join(shown(each) for each in locks)
        return f"not the name {shown(wrong)}: say client.multilock({names})"
    if isinstance(wrong, str):
        return f"not the name {shown(wrong)}: say client.lock({shown(wrong)}), of a client each"
    if isinstance(wrong, (list, tuple, set, frozenset)):
        return f"not a {type(wrong).__name__} of them: say {function}(*locks)"
    if isinstance(wrong, BaseLock):
        return f"of threads or of asyncio but not both: {shown(wrong)} is of the other kind"
    if hasattr(wrong, "read") and hasattr(wrong, "write"):
        return f"and of {shown(wrong)} that is its read() or its write()"
    return f"not {given(wrong)}"


class MultiLock(BaseMultiLock[MultiHold]):
    """Several locks as one, for threads.  One object may be shared by all of them."""

    __slots__ = ()
    _hold_class = MultiHold
    _session: Session

    @overload
    def acquire(
        self, blocking: Literal[True] = True, timeout: Seconds | None = OWN
    ) -> MultiHold: ...
    @overload
    def acquire(self, blocking: bool, timeout: Seconds | None = OWN) -> MultiHold | None: ...
    def acquire(self, blocking: bool = True, timeout: Seconds | None = OWN) -> MultiHold | None:
        """Take the locks and return their hold; None only when not blocking and busy.

        Raises AcquireTimeout, for the member that was busy, when `timeout` seconds were not
        enough for all of them together.  If interrupted: nothing is left in the stores.  A
        store that does not answer may take two seconds longer, however many locks it has.
        Cost: one round trip for each when free, one after another; for a majority one for all
        of a client, and those of several clients at once.
        """
        return self._session.run(self._acquire(blocking, timeout))

    def try_acquire(self) -> MultiHold | None:
        """Try once: the hold, or None when any of the locks is busy."""
        return self._session.run(self._try())

    def attempt(self) -> Attempt[MultiHold]:
        """Try once, as a context manager: None when any of them is busy."""
        return Attempt(self)

    def release(self) -> None:
        """Give back what the running thread or task took last.

        Cost: one round trip for all that are of one client, and those of several clients at
        once; on SQLite a transaction for each.
        """
        self._session.run(self._release())

    def __enter__(self) -> MultiHold:
        return self._session.run(self._enter())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._session.run(self._leave(error))


class AsyncMultiLock(BaseMultiLock[AsyncMultiHold]):
    """Several locks as one, for tasks.  One object may be shared by all of them."""

    __slots__ = ()
    _hold_class = AsyncMultiHold
    _session: AsyncSession

    @overload
    async def acquire(
        self, blocking: Literal[True] = True, timeout: Seconds | None = OWN
    ) -> AsyncMultiHold: ...
    @overload
    async def acquire(
        self, blocking: bool, timeout: Seconds | None = OWN
    ) -> AsyncMultiHold | None: ...
    async def acquire(
        self, blocking: bool = True, timeout: Seconds | None = OWN
    ) -> AsyncMultiHold | None:
        """Take the locks and return their hold; None only when not blocking and busy.

        Raises AcquireTimeout, for the member that was busy, when `timeout` seconds were not
        enough for all of them together.  If interrupted: nothing is left in the stores.  A
        store that does not answer may take two seconds longer, however many locks it has.
        Cost: one round trip for each when free, one after another; for a majority one for all
        of a client, and those of several clients at once.
        """
        return await self._session.run(self._acquire(blocking, timeout))

    async def try_acquire(self) -> AsyncMultiHold | None:
        """Try once: the hold, or None when any of the locks is busy."""
        return await self._session.run(self._try())

    def attempt(self) -> AsyncAttempt[AsyncMultiHold]:
        """Try once, as a context manager: None when any of them is busy."""
        return AsyncAttempt(self)

    async def release(self) -> None:
        """Give back what the running thread or task took last.

        Cost: one round trip for all that are of one client, and those of several clients at
        once; on SQLite a transaction for each.
        """
        await self._session.run(self._release())

    async def __aenter__(self) -> AsyncMultiHold:
        return await self._session.run(self._enter())

    def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Awaitable[None]:
        return self._session.run(self._leave(error))


def all_of(*locks: Acquirable[Any], timeout: Seconds | None = OWN) -> MultiLock:
    """Several locks as one: all of them, or none.

    They are taken in one fixed order, so that callers cannot wait for each other in a circle;
    they may be of different kinds, clients and stores.  `timeout` is for all of them together;
    by itself it is the shortest of theirs.
    """
    return MultiLock(checked_locks("all_of", locks, Acquirable), len(locks), timeout)


def majority_of(*locks: Acquirable[Any], timeout: Seconds | None = OWN) -> MultiLock:
    """More than half of several locks, each in a store of its own: Redisson's RedLock.

    It tolerates stores that are out of reach, as long as the majority is not.  A grant counts
    only while more than half of the leases stand, less the time that it took to get them.
    """
    return MultiLock(
        checked_locks("majority_of", locks, Acquirable), majority(len(locks)), timeout
    )


def aall_of(*locks: AsyncAcquirable[Any], timeout: Seconds | None = OWN) -> AsyncMultiLock:
    """Several locks as one: all of them, or none.

    They are taken in one fixed order, so that callers cannot wait for each other in a circle;
    they may be of different kinds, clients and stores.  `timeout` is for all of them together;
    by itself it is the shortest of theirs.
    """
    return AsyncMultiLock(checked_locks("all_of", locks, AsyncAcquirable), len(locks), timeout)


def amajority_of(*locks: AsyncAcquirable[Any], timeout: Seconds | None = OWN) -> AsyncMultiLock:
    """More than half of several locks, each in a store of its own: Redisson's RedLock.

    It tolerates stores that are out of reach, as long as the majority is not.  A grant counts
    only while more than half of the leases stand, less the time that it took to get them.
    """
    checked_locks("majority_of", locks, AsyncAcquirable)
    return AsyncMultiLock(locks, majority(len(locks)), timeout)
