"""Locks, of whatever kind: two faces over one description and the same steps.

What taking and giving back mean, and what a block does when its body raises, is in
`recipes.holding`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Generic, Literal, TypeAlias, TypeVar, overload

from ..drive import arun, now
from ..errors import AcquireTimeout, NotHeld
from ..model import LockInfo, Seconds, Terms, checked_timeout
from ..recipes import blocks, holding
from ..recipes.kinds import explain_kind_mismatch
from ..recipes.lease import Lease
from ..recipes.local_queue import Key
from ..recipes.lock import ANSWER
from ..recipes.self_wait import stacked
from ..session.holds import Holds, HoldsRef
from ..session.session import AsyncSession, BaseSession, Session
from ..spi import LockStore
from ..steps import Steps, nothing
from .attempt import AsyncAttempt, Attempt
from .copying import Described
from .hold import AsyncHold, BaseHold, Hold
from .timeouts import OWN, patience

H = TypeVar("H", bound=BaseHold)
HoldT = TypeVar("HoldT", bound=BaseHold)
AsyncHoldT = TypeVar("AsyncHoldT", bound=BaseHold)


#: The hold of an open block, and the block around it.
Block: TypeAlias = tuple[BaseHold, "Block | None"]


class Request:
    """What a lock wants of its session: see `recipes.hosts.Wanted`; and its open blocks.

    A block leaves what it has entered.  The holds of open blocks are kept here, apart for each
    thread and task; a block that is suspended, in a generator perhaps, may outlive the one that
    entered it.  Each has the ones around it in a pair, so that a signal handler which enters and
    leaves a block, wherever it strikes, puts back what it has found.
    """

    __slots__ = ("_blocks", "_session", "key", "lease_class", "store", "terms", "wrap")

    def __init__(
        self,
        session: BaseSession,
        store: LockStore,
        name: str,
        terms: Terms,
        wrap: Callable[[Lease], Any],
        lease_class: type[Lease],
    ) -> None:
        self._session, self.store, self.key, self.terms = session, store, (store.kind, name), terms
        self.wrap: Any = wrap
        self.lease_class = lease_class
        self._blocks: dict[HoldsRef, Block] = {}

    def enter(self, lease: Lease, holds: Holds, again: bool = False) -> BaseHold:
        around, ref = self._blocks.get(holds.ref), holds.ref
        hold: BaseHold = around[0] if around and around[0]._lease is lease else self.wrap(lease)
        if again:
            lease.reenter(self.store)
        # From here on nothing is called, and so nothing interrupts: all of it counts, or nothing.
        lease.blocks += 1
        self._blocks[ref] = hold, around
        if self._session.cancels:
            self._session.enter_scope(lease)
        return hold

    def abandon(self, lease: Lease, holds: Holds) -> None:
        block = self._blocks.get(holds.ref)
        if block and block[0]._lease is lease:
            self._end(holds.ref, block[1])

    def leave_block(self, error: BaseException | None) -> Steps[None]:
        """Leave the block that ends now, with what it has entered; a forked child passes through
        its parent's without a trace."""
        holds: Holds = self._session.holds.current
        ref = holds.ref if holds.ref in self._blocks else self._elsewhere()
        if ref is None:
            return nothing()
        hold, around = self._blocks[ref]
        self._end(ref, around)
        lease = hold._lease if hold._lease.depth else self._instead(hold._lease, holds, error)
        return self._leave(lease, error)

    def _leave(self, lease: Lease, error: BaseException | None) -> Steps[None]:
        """What a block does at its end with what it has entered."""
        return blocks.leave_block(self._session, lease, error, self.store)

    def _end(self, ref: HoldsRef, around: Block | None) -> None:
        """The innermost block ends, and the one around it goes on."""
        if around is None:
            del self._blocks[ref]
        else:
            self._blocks[ref] = around

    def _elsewhere(self) -> HoldsRef | None:
        ref = entered_elsewhere(self._blocks)
        if ref is None and self.key not in self._session.inherited:
            raise NotHeld(self.key[1])
        return ref

    def _instead(self, lease: Lease, holds: Holds, error: BaseException | None) -> Lease:
        """What a block leaves: what it has entered, or what was taken anew inside of it after
        that was released, as `threading.Condition` does."""
        newer = holds.get(self.key)
        if newer is None or newer.store is not self.store or newer.for_block:
            return lease
        lease.exit_block(error)
        newer.blocks += 1
        return newer


def entered_elsewhere(blocks: Mapping[HoldsRef, object]) -> HoldsRef | None:
    """Whose the block is that ends now, if the running thread or task has entered none: one's that
    has ended; or it is the only one, which another has entered, as that of a generator may be."""
    every = list(blocks)
    ended = next((each for each in every if each() is None), None)
    return every[0] if ended is None and len(every) == 1 else ended


class BaseLock(Described, Generic[H]):
    """A description of a lock, the session to ask, and its open blocks."""

    __slots__ = ("__weakref__", "_request", "_session", "_timeout")
    _hold_class: type[H]
    _lease_class: type[Lease] = Lease
    _request_class: type[Request] = Request

    def __init__(
        self,
        session: BaseSession,
        store: LockStore,
        name: str,
        terms: Terms,
        timeout: Seconds | None,
    ) -> None:
        self._session: Any = session
        self._request = self._request_class(
            session, store, name, terms, self._hold_class._of, self._lease_class
        )
        self._timeout = checked_timeout(timeout)

    @property
    def name(self) -> str:
        """What the user calls this lock."""
        return self._request.key[1]

    @property
    def _store(self) -> LockStore:
        return self._request.store

    @property
    def _key(self) -> Key:
        return self._request.key

    def _leave_hold(self, hold: H, error: BaseException | None) -> Steps[None]:
        return blocks.leave_block(self._session, hold._lease, error, self._store)

    def _release(self) -> Steps[None]:
        return holding.release(self._session, self._mine(), self._request.store)

    def _acquire(self, blocking: bool, timeout: Seconds | None) -> Steps[H | None]:
        wait = patience(blocking, timeout, self._timeout)
        if wait is None:
            return self._try()
        return holding.acquire(self._session, self._request, wait)

    def _try(self) -> Steps[H | None]:
        wish = self._session, self._request, 0.0
        try:
            hold: H = yield from holding.acquire(*wish, try_once=True)
        except AcquireTimeout:
            return None
        return hold

    def _locked(self) -> Steps[bool]:
        return (yield from self._look()) is not None

    def _look(self) -> Steps[LockInfo | None]:
        store, name = self._store, self.name
        return explain_kind_mismatch(
            self._session.backend, store, name, lambda: store.look(name, now() + ANSWER), now
        )

    def _mine(self) -> Lease:
        """What `release()` gives back: the newest lease that the running thread or task took of
        this lock, and rather one that no block relies on."""
        wanted = self._request
        newest: Lease | None = self._session.holds.current.get(wanted.key)
        if newest is not None and (newest.outer is not None or not wanted.store.reentrant):
            newest = self._among(list(stacked(newest)))
        if newest is not None:
            return newest
        if self._key in self._session.inherited:
            raise NotHeld(self.name, why="here: this process is a fork of the holder")
        raise NotHeld(self.name)

    def _among(self, leases: list[Lease]) -> Lease | None:
        alike = [each for each in leases if each.store is self._store]
        # A writer may read as well, and is left as a reader then.
        free = [each for each in alike if not each.for_block]
        return next(iter(free or alike or (leases if self._store.reentrant else ())), None)

    def __repr__(self) -> str:
        lease: Lease | None = None
        try:
            lease = self._session.holds.current.get(self._key)
        except RuntimeError:
            pass  # outside of any task nothing is held
        state = f" {self._request.wrap(lease)!r}" if lease is not None else ""
        kind, label = self._store.kind, self._session.backend.label
        return f"<{type(self).__name__} {kind} {self.name!r} on {label}{state}>"


class Acquirable(BaseLock[HoldT]):
    """What can be taken by threads.  One object may be shared by all of them."""

    __slots__ = ()
    _session: Session

    @overload
    def acquire(self, blocking: Literal[True] = True, timeout: Seconds | None = OWN) -> HoldT: ...
    @overload
    def acquire(self, blocking: bool, timeout: Seconds | None = OWN) -> HoldT | None: ...
    def acquire(self, blocking: bool = True, timeout: Seconds | None = OWN) -> HoldT | None:
        """Take the lock and return its hold; None only when not blocking and busy.

        Raises AcquireTimeout when `timeout` seconds were not enough (None: no limit), and
        StoreUnavailable when the store could not be asked for so long (None: for 30 s).
        If interrupted: nothing is left in the store.  A store that does not answer may
        take two seconds longer, because the question has to be taken back.
        Cost: none when re-entering; one round trip when free, two of a semaphore or mutex on
        ZooKeeper.  The first use of a name may cost more: two round trips of a semaphore on
        Redis; one on ZooKeeper, three of a semaphore.
        """
        return self._session.run(self._acquire(blocking, timeout))

    def try_acquire(self) -> HoldT | None:
        """Try once: the hold, or None when the lock is busy.  Cost: one round trip."""
        return self._session.run(self._try())

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
        self._session.run(self._release())

    def locked(self) -> bool:
        """Whether the lock is held now.  Cost: at most two round trips, four on ZooKeeper."""
        return self._session.run(self._locked())

    def __enter__(self) -> HoldT:
        session = self._session
        steps = holding.acquire(session, self._request, self._timeout, block=True)
        hold: HoldT = session.run(steps)
        return hold

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._session.run(self._request.leave_block(error))


class AsyncAcquirable(BaseLock[AsyncHoldT]):
    """What can be taken by tasks.  One object may be shared by all of them."""

    __slots__ = ()
    _session: AsyncSession

    @overload
    async def acquire(
        self, blocking: Literal[True] = True, timeout: Seconds | None = OWN
    ) -> AsyncHoldT: ...
    @overload
    async def acquire(
        self, blocking: bool, timeout: Seconds | None = OWN
    ) -> AsyncHoldT | None: ...
    async def acquire(
        self, blocking: bool = True, timeout: Seconds | None = OWN
    ) -> AsyncHoldT | None:
        """Take the lock and return its hold; None only when not blocking and busy.

        Raises AcquireTimeout when `timeout` seconds were not enough (None: no limit), and
        StoreUnavailable when the store could not be asked for so long (None: for 30 s).
        If interrupted: nothing is left in the store.  A store that does not answer may
        take two seconds longer, because the question has to be taken back.
        Cost: none when re-entering; one round trip when free, two of a semaphore or mutex on
        ZooKeeper.  The first use of a name may cost more: two round trips of a semaphore on
        Redis; one on ZooKeeper, three of a semaphore.
        """
        session = self._session
        session.here()  # what is held is looked up at once, not by a step
        return await arun(self._acquire(blocking, timeout), session.link)

    async def try_acquire(self) -> AsyncHoldT | None:
        """Try once: the hold, or None when the lock is busy.  Cost: one round trip."""
        return await self._session.run(self._try())

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
        session = self._session
        session.here()
        await arun(self._release(), session.link)

    async def locked(self) -> bool:
        """Whether the lock is held now.  Cost: at most two round trips, four on ZooKeeper."""
        return await self._session.run(self._locked())

    def __aenter__(self) -> Awaitable[AsyncHoldT]:
        session = self._session
        session.here()
        steps = holding.acquire(session, self._request, self._timeout, block=True)
        return arun(steps, session.link)

    def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Awaitable[None]:
        session = self._session
        session.here()
        return arun(self._request.leave_block(error), session.link)


class Lock(Acquirable[Hold]):
    """A lock for threads, as `client.lock()` and its kin make it.

    Use it in a `with` block, or by `acquire()`, `try_acquire()` and `release()`.  One object may
    be shared by all threads.
    """

    __slots__ = ()
    _hold_class = Hold


class AsyncLock(AsyncAcquirable[AsyncHold]):
    """A lock for tasks, as `client.lock()` and its kin make it.

    Use it in an `async with` block, or by `acquire()`, `try_acquire()` and `release()`.  One
    object may be shared by all tasks.
    """

    __slots__ = ()
    _hold_class = AsyncHold
