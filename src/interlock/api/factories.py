"""What a client makes: descriptions of locks and the like, the same in both worlds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

from ..errors import UsageError
from ..model import (
    Seconds,
    Terms,
    checked_count,
    checked_name,
    checked_participant,
    checked_terms,
)
from ..spi import LockStore

L = TypeVar("L")
RW = TypeVar("RW")
S = TypeVar("S")
T = TypeVar("T")
M = TypeVar("M")
E = TypeVar("E")
B = TypeVar("B")


class Factories(Generic[L, RW, S, T, M, E, B]):
    """Makes locks of every kind, semaphores, latches, elections, barriers, and several as one."""

    __slots__ = ()
    _session: Any
    _lock_class: ClassVar[Any]
    _rwlock_class: ClassVar[Any]
    _semaphore_class: ClassVar[Any]
    _latch_class: ClassVar[Any]
    _election_class: ClassVar[Any]
    _barrier_class: ClassVar[Any]
    _all_of: ClassVar[Callable[..., Any]]

    def lock(
        self,
        name: str,
        *,
        lease: Seconds = 30.0,
        renew: bool = True,
        max_hold: Seconds | None = None,
        timeout: Seconds | None = None,
    ) -> L:
        """A reentrant lock; on Redis it is Redisson's RLock.

        The lease is kept while the process lives (`renew`), at most for `max_hold` seconds;
        `timeout` is how long an acquire waits, None for ever, 0 for one try.
        """
        return self._made(self._session.backend.locks, name, lease, renew, max_hold, timeout)

    def mutex(
        self,
        name: str,
        *,
        lease: Seconds = 30.0,
        renew: bool = True,
        max_hold: Seconds | None = None,
        timeout: Seconds | None = None,
    ) -> L:
        """A lock that is not reentrant; on Redis the plain SET NX PX of many libraries.

        Terms as for `lock`.
        """
        return self._made(self._session.backend.mutexes, name, lease, renew, max_hold, timeout)

    def fair_lock(
        self,
        name: str,
        *,
        lease: Seconds = 30.0,
        renew: bool = True,
        max_hold: Seconds | None = None,
        timeout: Seconds | None = None,
    ) -> L:
        """A reentrant lock, first come first served; on Redis it is Redisson's RFairLock.

        Every lock here is handed on in order among Interlock's own clients, of which each has one
        place in the queue, however many of its threads or tasks wait.  Here each waiter has a
        place of its own, and Java's stand in the same queue.  Terms as for `lock`.
        """
        return self._made(self._session.backend.fair_locks, name, lease, renew, max_hold, timeout)

    def fenced_lock(
        self,
        name: str,
        *,
        lease: Seconds = 30.0,
        renew: bool = True,
        max_hold: Seconds | None = None,
        timeout: Seconds | None = None,
    ) -> L:
        """A reentrant lock whose tokens are counted with Java's; on Redis an RFencedLock.

        Every lock here has a token; this one's is in a counter for each name, shared with
        Redisson: it begins at the server's clock, in microseconds, or goes on from where Java
        has begun (1, 2, 3, …).  Terms as for `lock`.
        """
        return self._made(
            self._session.backend.fenced_locks, name, lease, renew, max_hold, timeout
        )

    def rwlock(
        self,
        name: str,
        *,
        lease: Seconds = 30.0,
        renew: bool = True,
        max_hold: Seconds | None = None,
        timeout: Seconds | None = None,
    ) -> RW:
        """A lock for many readers or one writer; on Redis Redisson's RReadWriteLock.

        `rwlock(name).read()` and `.write()` are taken like a lock.  Terms as for `lock`.
        """
        terms = checked_terms(lease, renew, max_hold)
        made: RW = self._rwlock_class(self._session, checked_name(name), terms, timeout)
        return made

    def semaphore(
        self,
        name: str,
        *,
        permits: int | None = None,
        weight: int = 1,
        lease: Seconds = 30.0,
        renew: bool = True,
        max_hold: Seconds | None = None,
        timeout: Seconds | None = None,
    ) -> S:
        """A semaphore; on Redis Redisson's RSemaphore.

        `permits` counts the first time the name is used; later `set_permits` changes it.  Each
        acquire takes `weight` of them.  The permits of a process that dies come back when its
        lease ends.  Other terms as for `lock`.
        """
        weight = checked_count("weight", weight)
        if permits is not None and weight > checked_count("permits", permits):
            raise UsageError(f"weight {weight} is more than all of {permits} permits")
        store = self._session.backend.semaphores(permits, weight)
        terms = checked_terms(lease, renew, max_hold)
        made: S = self._semaphore_class(self._session, store, checked_name(name), terms, timeout)
        return made

    def leased_semaphore(
        self,
        name: str,
        *,
        permits: int | None = None,
        lease: Seconds = 30.0,
        renew: bool = True,
        max_hold: Seconds | None = None,
        timeout: Seconds | None = None,
    ) -> S:
        """A semaphore whose permits have ids; on Redis an RPermitExpirableSemaphore.

        Its leases are seen and ended by Java, too.  `permits` counts the first time the name is
        used; later `set_permits` changes it.  Other terms as for `lock`.
        """
        if permits is not None:
            checked_count("permits", permits)
        store = self._session.backend.leased_semaphores(permits)
        terms = checked_terms(lease, renew, max_hold)
        made: S = self._semaphore_class(self._session, store, checked_name(name), terms, timeout)
        return made

    def latch(self, name: str) -> T:
        """A latch, waited for until it is counted down; on Redis an RCountDownLatch."""
        made: T = self._latch_class(self._session, checked_name(name))
        return made

    def election(
        self,
        name: str,
        *,
        participant: str = "",
        lease: Seconds = 30.0,
        renew: bool = True,
        max_hold: Seconds | None = None,
        timeout: Seconds | None = None,
    ) -> E:
        """An election, of whose candidates one leads; on ZooKeeper it is Curator's LeaderLatch.

        `participant` is what this client calls itself, for all to see.  A term is leased as a
        lock is, and ends after `max_hold` at the latest.  Other terms as for `lock`.
        """
        called, terms = checked_participant(participant), checked_terms(lease, renew, max_hold)
        made: E = self._election_class(self._session, checked_name(name), called, terms, timeout)
        return made

    def barrier(
        self,
        name: str,
        parties: int,
        *,
        lease: Seconds = 30.0,
        renew: bool = True,
        max_hold: Seconds | None = None,
        timeout: Seconds | None = None,
    ) -> B:
        """A barrier, where `parties` meet; on ZooKeeper it is Curator's DistributedDoubleBarrier.

        All of them say the same number.  A party that dies counts no more when its lease has
        ended.  `timeout` is for entering, and again for leaving.  Other terms as for `lock`.
        """
        store = self._session.backend.barriers(checked_count("parties", parties))
        terms = checked_terms(lease, renew, max_hold)
        made: B = self._barrier_class(self._session, store, checked_name(name), terms, timeout)
        return made

    def multilock(
        self,
        *names: str,
        lease: Seconds = 30.0,
        renew: bool = True,
        max_hold: Seconds | None = None,
        timeout: Seconds | None = None,
    ) -> M:
        """Several locks as one: all of them or none, taken in one fixed order.

        `timeout` is for all of them together.  Other terms as for `lock`.
        """
        if not names:
            raise UsageError("multilock() needs at least one name")
        terms: dict[str, Any] = {"lease": lease, "renew": renew, "max_hold": max_hold}
        locks = [self.lock(name, **terms) for name in names]
        made: M = type(self)._all_of(*locks, timeout=timeout)
        return made

    def _made(
        self,
        store: LockStore,
        name: str,
        lease: Seconds,
        renew: bool,
        max_hold: Seconds | None,
        timeout: Seconds | None,
    ) -> L:
        terms = checked_terms(lease, renew, max_hold)
        made: L = self._lock_class(self._session, store, checked_name(name), terms, timeout)
        return made

    def _lock_for(self, terms: Terms, timeout: Seconds | None) -> Callable[[str], L]:
        """How to make a lock for each name, on terms that were checked."""
        store = self._session.backend.locks
        return lambda name: self._lock_class(
            self._session, store, checked_name(name), terms, timeout
        )
