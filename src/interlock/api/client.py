"""The client, as users meet it: it makes locks, and looks at them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, Literal, ParamSpec, Self, TypeVar, overload

from ..events import Observer
from ..model import (
    Finding,
    LockInfo,
    Seconds,
    checked_name,
    checked_terms,
    checked_text,
    spelled,
)
from ..session import exit_signals
from ..session.exit_signals import USUAL
from ..session.session import AsyncSession, Session
from ..spi import Backend
from . import inspection
from .assertion import check_held
from .barrier import AsyncBarrier, Barrier
from .copying import Single, remake
from .decorator import locked_async, locked_sync, patience
from .election import AsyncElection, Election
from .factories import Factories
from .jobs import AsyncJobs, Jobs
from .latch import AsyncLatch, Latch
from .lock import AsyncLock, Lock
from .multilock import AsyncMultiLock, MultiLock, aall_of, all_of
from .once import AsyncOnce, Once
from .rwlock import AsyncRwLock, RwLock
from .semaphore import AsyncSemaphore, Semaphore

P = ParamSpec("P")
R = TypeVar("R")

PATTERN = " such as 'orders:*'"


class SingleClient(Single):
    """What both worlds share: a client is neither copied nor pickled."""

    __slots__ = ()
    _session: Any

    def assert_held(self, name: str) -> None:
        """Raise NotHeld unless the running thread or task holds a lock of this name by this
        client; LockLost if it does, and the lease is over: see `interlock.assert_held`.

        Cost: no round trip.
        """
        check_held([self._session], checked_name(name))

    def release_on_exit(self, signals: Iterable[int] = USUAL) -> None:
        """Give back everything that this client holds when one of these signals comes, before what
        was installed for it before.

        Without it a process that is ended by a signal leaves its locks for the rest of their
        leases.  If the default action was installed, the process then ends by the signal; a
        function is called, and the program may go on, without its locks; where the signal is
        ignored, it stays so.  Call it in the main thread, once for each client, and after all that
        installs handlers of its own.  It takes a second at most, and counts for forked children
        too, with what they hold.  docs/signals.md says which programs need it.
        Cost: none now; then one round trip for 250 locks.
        """
        exit_signals.install(self._session, signals)

    def _why_not(self) -> str:
        return (
            "a client cannot be copied or pickled: its connections, its leases and its identity "
            f"belong to this process; share it between threads or tasks, and {remake(self)}"
        )

    def __repr__(self) -> str:
        session = self._session
        held = len(session.schedule.holds())
        return f"<{type(self).__name__} {session.backend.label} holding {held}>"


class Client(
    Factories[Lock, RwLock, Semaphore, Latch, MultiLock, Election, Barrier], Jobs, SingleClient
):
    """A client for threads: make one for each process and store, and share it."""

    __slots__ = ("__weakref__", "_session")
    _session: Session
    _lock_class, _rwlock_class, _semaphore_class = Lock, RwLock, Semaphore
    _latch_class, _election_class, _barrier_class = Latch, Election, Barrier
    _all_of = staticmethod(all_of)

    def __init__(self, backend: Backend, observer: Observer | None = None) -> None:
        self._session = Session(backend, observer)

    @overload
    def locked(
        self,
        name: str | Callable[..., str],
        *,
        lease: Seconds | str = 30.0,
        renew: bool = True,
        max_hold: Seconds | str | None = None,
        timeout: Seconds | str | None = None,
        on_busy: Literal["raise"] = "raise",
    ) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
    @overload
    def locked(
        self,
        name: str | Callable[..., str],
        *,
        lease: Seconds | str = 30.0,
        renew: bool = True,
        max_hold: Seconds | str | None = None,
        timeout: Seconds | str | None = None,
        on_busy: Literal["skip"],
    ) -> Callable[[Callable[P, R]], Callable[P, R | None]]: ...
    def locked(
        self,
        name: str | Callable[..., str],
        *,
        lease: Seconds | str = 30.0,
        renew: bool = True,
        max_hold: Seconds | str | None = None,
        timeout: Seconds | str | None = None,
        on_busy: Literal["raise", "skip"] = "raise",
    ) -> Callable[[Callable[P, R]], Callable[P, R | None]]:
        """Run the decorated function under a lock whose name is built from its arguments.

        `name` is a template such as `"orders:{order_id}"`, checked when decorating, or a
        function of the arguments.  With `on_busy="skip"` a call that finds the lock busy
        returns None: it tries once, or waits for `timeout` first if there is one.  Times may
        be spelled out: `timeout="5s"`.
        """
        terms = checked_terms(spelled("lease", lease), renew, spelled("max_hold", max_hold))
        wait = patience(spelled("timeout", timeout), on_busy)
        return locked_sync(self._lock_for(terms, wait), name, on_busy)

    def once(
        self,
        key: str | Callable[..., str],
        *,
        remember: Seconds | str | None = None,
        timeout: Seconds | str | None = None,
        retry_failed: bool = True,
        retry_dead: bool = True,
    ) -> Once:
        """What is done once in the whole cluster: ever, or once in `remember` seconds.

        Decorate a function, whose key may be built from its arguments (`"paid:{order_id}"`), and
        which returns None where it was done before; or enter it as a block, which has a hold if it
        has to be done, and otherwise None.  While another client does it, this one waits for the
        end, `timeout` seconds at most.  What failed is done again by the next that comes, and so
        is what was begun by a process that died, unless `retry_failed` or `retry_dead` says no.
        Cost: one round trip where it was done before, seven to do it.
        """
        return Once(self, key, remember, timeout, retry_failed, retry_dead)

    def inspect(self, name: str) -> LockInfo | None:
        """What a name is in use as, who holds it, and how many wait; None when it is not.

        Cost: at most three round trips, five on ZooKeeper.
        """
        return self._session.run(inspection.inspect(self._session, checked_name(name)))

    def locks(self, pattern: str = "*") -> list[LockInfo]:
        """Everything that is in use and whose name matches, as in a shell: `orders:*`.

        Cost: two round trips for each, three on ZooKeeper; and on Redis a walk over all keys
        of the database, on ZooKeeper over all nodes below the chroot.
        """
        return self._session.run(
            inspection.locks(self._session, checked_text("pattern", pattern, PATTERN))
        )

    def revoke(self, name: str, reason: str = "") -> LockInfo | None:
        """End every lease of a name, of every client; answers what was ended, None if nothing.

        The holders learn of it, and of the reason, when they next renew; until then they may
        go on, so what they write must be fenced.  A latch is opened.  Permits that other
        clients than ours hold without a name cannot be told apart, and stay.
        Cost: what `inspect` costs, and one round trip for each holder; two of a semaphore,
        three on ZooKeeper.
        """
        return self._session.run(
            inspection.revoke(self._session, checked_name(name), checked_text("reason", reason))
        )

    def request_release(self, name: str) -> int:
        """Ask the holders of a lock or a read/write lock to give it back; answers how many
        holders were asked.

        No holder is made to: our holders hear of it by `hold.release_requested` and
        `hold.on_release_requested`, Java's by the listener of their `makeRevocable`.
        Only ZooKeeper can ask.
        Cost: two round trips.
        """
        return self._session.run(
            inspection.request_release(self._session.backend, checked_name(name))
        )

    def doctor(self) -> tuple[Finding, ...]:
        """What makes the locks of this store unsafe, the worst first, each with what to do.

        Nothing is found where all is well; docs/doctor.md lists what can be.  On Redis it looks
        at every server, and at the names in use: 10,000 keys of each server at most.
        Cost: one round trip on Redis, and for names up to 40; elsewhere none.
        """
        return self._session.run(inspection.doctor(self._session.backend))

    def close(self) -> None:
        """Release what is still held, and close every connection."""
        self._stop()
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exit: object) -> None:
        self.close()


class AsyncClient(
    Factories[
        AsyncLock,
        AsyncRwLock,
        AsyncSemaphore,
        AsyncLatch,
        AsyncMultiLock,
        AsyncElection,
        AsyncBarrier,
    ],
    AsyncJobs,
    SingleClient,
):
    """A client for tasks: make one for each event loop and store, and share it."""

    __slots__ = ("__weakref__", "_session")
    _session: AsyncSession
    _lock_class, _rwlock_class, _semaphore_class = AsyncLock, AsyncRwLock, AsyncSemaphore
    _latch_class, _election_class, _barrier_class = AsyncLatch, AsyncElection, AsyncBarrier
    _all_of = staticmethod(aall_of)

    def __init__(self, backend: Backend, observer: Observer | None = None) -> None:
        self._session = AsyncSession(backend, observer)

    @overload
    def locked(
        self,
        name: str | Callable[..., str],
        *,
        lease: Seconds | str = 30.0,
        renew: bool = True,
        max_hold: Seconds | str | None = None,
        timeout: Seconds | str | None = None,
        on_busy: Literal["raise"] = "raise",
    ) -> Callable[[Callable[P, Awaitable[R]]], Callable[P, Coroutine[Any, Any, R]]]: ...
    @overload
    def locked(
        self,
        name: str | Callable[..., str],
        *,
        lease: Seconds | str = 30.0,
        renew: bool = True,
        max_hold: Seconds | str | None = None,
        timeout: Seconds | str | None = None,
        on_busy: Literal["skip"],
    ) -> Callable[[Callable[P, Awaitable[R]]], Callable[P, Coroutine[Any, Any, R | None]]]: ...
    def locked(
        self,
        name: str | Callable[..., str],
        *,
        lease: Seconds | str = 30.0,
        renew: bool = True,
        max_hold: Seconds | str | None = None,
        timeout: Seconds | str | None = None,
        on_busy: Literal["raise", "skip"] = "raise",
    ) -> Callable[[Callable[P, Awaitable[R]]], Callable[P, Coroutine[Any, Any, R | None]]]:
        """Run the decorated function under a lock whose name is built from its arguments.

        `name` is a template such as `"orders:{order_id}"`, checked when decorating, or a
        function of the arguments.  With `on_busy="skip"` a call that finds the lock busy
        returns None: it tries once, or waits for `timeout` first if there is one.  Times may
        be spelled out: `timeout="5s"`.
        """
        terms = checked_terms(spelled("lease", lease), renew, spelled("max_hold", max_hold))
        wait = patience(spelled("timeout", timeout), on_busy)
        return locked_async(self._lock_for(terms, wait), name, on_busy)

    def once(
        self,
        key: str | Callable[..., str],
        *,
        remember: Seconds | str | None = None,
        timeout: Seconds | str | None = None,
        retry_failed: bool = True,
        retry_dead: bool = True,
    ) -> AsyncOnce:
        """What is done once in the whole cluster: ever, or once in `remember` seconds.

        Decorate a function, whose key may be built from its arguments (`"paid:{order_id}"`), and
        which returns None where it was done before; or enter it as a block, which has a hold if it
        has to be done, and otherwise None.  While another client does it, this one waits for the
        end, `timeout` seconds at most.  What failed is done again by the next that comes, and so
        is what was begun by a process that died, unless `retry_failed` or `retry_dead` says no.
        Cost: one round trip where it was done before, seven to do it.
        """
        return AsyncOnce(self, key, remember, timeout, retry_failed, retry_dead)

    async def inspect(self, name: str) -> LockInfo | None:
        """What a name is in use as, who holds it, and how many wait; None when it is not.

        Cost: at most three round trips, five on ZooKeeper.
        """
        return await self._session.run(inspection.inspect(self._session, checked_name(name)))

    async def locks(self, pattern: str = "*") -> list[LockInfo]:
        """Everything that is in use and whose name matches, as in a shell: `orders:*`.

        Cost: two round trips for each, three on ZooKeeper; and on Redis a walk over all keys
        of the database, on ZooKeeper over all nodes below the chroot.
        """
        return await self._session.run(
            inspection.locks(self._session, checked_text("pattern", pattern, PATTERN))
        )

    async def revoke(self, name: str, reason: str = "") -> LockInfo | None:
        """End every lease of a name, of every client; answers what was ended, None if nothing.

        The holders learn of it, and of the reason, when they next renew; until then they may
        go on, so what they write must be fenced.  A latch is opened.  Permits that other
        clients than ours hold without a name cannot be told apart, and stay.
        Cost: what `inspect` costs, and one round trip for each holder; two of a semaphore,
        three on ZooKeeper.
        """
        return await self._session.run(
            inspection.revoke(self._session, checked_name(name), checked_text("reason", reason))
        )

    async def request_release(self, name: str) -> int:
        """Ask the holders of a lock or a read/write lock to give it back; answers how many
        holders were asked.

        No holder is made to: our holders hear of it by `hold.release_requested` and
        `hold.on_release_requested`, Java's by the listener of their `makeRevocable`.
        Only ZooKeeper can ask.
        Cost: two round trips.
        """
        return await self._session.run(
            inspection.request_release(self._session.backend, checked_name(name))
        )

    async def doctor(self) -> tuple[Finding, ...]:
        """What makes the locks of this store unsafe, the worst first, each with what to do.

        Nothing is found where all is well; docs/doctor.md lists what can be.  On Redis it looks
        at every server, and at the names in use: 10,000 keys of each server at most.
        Cost: one round trip on Redis, and for names up to 40; elsewhere none.
        """
        return await self._session.run(inspection.doctor(self._session.backend))

    async def close(self) -> None:
        """Release what is still held, and close every connection."""
        self._stop()
        await self._session.close()

    async def __aenter__(self) -> Self:
        self._session.here()
        return self

    async def __aexit__(self, *exit: object) -> None:
        await self.close()
