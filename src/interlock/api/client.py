"""The client, as users meet it: it makes locks, and looks at them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, ParamSpec, TypeVar

from ..model import (
    LockInfo,
    Seconds,
    Terms,
    checked_name,
    checked_terms,
    checked_timeout,
    spelled,
)
from . import looking
from .decorate import locked_async, locked_sync
from .latch import AsyncLatch, Latch
from .lock import AsyncLock, Lock
from .maker import Maker
from .rwlock import AsyncRwLock, RwLock
from .semaphore import AsyncSemaphore, Semaphore
from .several import AsyncSeveral, Several, aall_of, all_of
from .worlds import AsyncSession, Session

P = ParamSpec("P")
R = TypeVar("R")


class Client(Session, Maker[Lock, RwLock, Semaphore, Latch, Several]):
    """A client for threads: make one for each process and store, and share it."""

    _lock_class, _rwlock_class, _semaphore_class = Lock, RwLock, Semaphore
    _latch_class, _all_of = Latch, staticmethod(all_of)

    def locked(
        self,
        name: str | Callable[..., str],
        *,
        lease: Seconds | str = 30.0,
        renew: bool = True,
        max_hold: Seconds | str | None = None,
        timeout: Seconds | str | None = None,
        on_busy: Literal["raise", "skip"] = "raise",
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """Run the decorated function under a lock whose name is built from its arguments.

        `name` is a template such as `"orders:{order_id}"`, checked when decorating, or a
        function of the arguments.  With `on_busy="skip"` a call that cannot get the lock in
        time returns None.  Times may be spelled out: `timeout="5s"`.
        """
        terms, wait = _spelled_terms(lease, renew, max_hold, timeout)
        return locked_sync(self._lock_for(terms, wait), name, on_busy)

    def inspect(self, name: str) -> LockInfo | None:
        """What a name is in use as, who holds it, and how many wait; None when it is not.

        Cost: at most three round trips, five on ZooKeeper.
        """
        return self.run(looking.inspect(self.backend, checked_name(name)))

    def locks(self, pattern: str = "*") -> list[LockInfo]:
        """Everything that is in use and whose name matches, as in a shell: `orders:*`.

        Cost: two round trips for each, three on ZooKeeper; and on Redis a walk over all keys
        of the database, on ZooKeeper over all nodes below the chroot.
        """
        return self.run(looking.locks(self.backend, pattern))

    def revoke(self, name: str, reason: str = "") -> LockInfo | None:
        """End every lease of a name, whoever has it; answers what was ended, None if nothing.

        The holders learn of it, and of the reason, when they next renew; until then they may
        go on, so what they write must be fenced.  A latch is opened.  Permits that other
        clients than ours hold without a name cannot be told apart, and stay.
        Cost: what `inspect` costs, and one round trip for each holder; two of a semaphore,
        three on ZooKeeper.
        """
        return self.run(looking.revoke(self, checked_name(name), reason))

    def ask_back(self, name: str) -> int:
        """Ask everybody who holds a lock or a read/write lock to give it back; answers how many
        were asked.

        Nobody is made to: the holders hear of it by `hold.asked` and `hold.on_asked`, Java's by
        the listener of their `makeRevocable`.  Only ZooKeeper can ask.
        Cost: two round trips.
        """
        return self.run(looking.ask_back(self.backend, checked_name(name)))

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exit: object) -> None:
        self.close()


class AsyncClient(
    AsyncSession, Maker[AsyncLock, AsyncRwLock, AsyncSemaphore, AsyncLatch, AsyncSeveral]
):
    """A client for tasks: make one for each event loop and store, and share it."""

    _lock_class, _rwlock_class, _semaphore_class = AsyncLock, AsyncRwLock, AsyncSemaphore
    _latch_class, _all_of = AsyncLatch, staticmethod(aall_of)

    def locked(
        self,
        name: str | Callable[..., str],
        *,
        lease: Seconds | str = 30.0,
        renew: bool = True,
        max_hold: Seconds | str | None = None,
        timeout: Seconds | str | None = None,
        on_busy: Literal["raise", "skip"] = "raise",
    ) -> Callable[[Callable[P, Awaitable[R]]], Callable[P, Awaitable[R]]]:
        """Run the decorated function under a lock whose name is built from its arguments.

        `name` is a template such as `"orders:{order_id}"`, checked when decorating, or a
        function of the arguments.  With `on_busy="skip"` a call that cannot get the lock in
        time returns None.  Times may be spelled out: `timeout="5s"`.
        """
        terms, wait = _spelled_terms(lease, renew, max_hold, timeout)
        return locked_async(self._lock_for(terms, wait), name, on_busy)

    async def inspect(self, name: str) -> LockInfo | None:
        """What a name is in use as, who holds it, and how many wait; None when it is not.

        Cost: at most three round trips, five on ZooKeeper.
        """
        return await self.run(looking.inspect(self.backend, checked_name(name)))

    async def locks(self, pattern: str = "*") -> list[LockInfo]:
        """Everything that is in use and whose name matches, as in a shell: `orders:*`.

        Cost: two round trips for each, three on ZooKeeper; and on Redis a walk over all keys
        of the database, on ZooKeeper over all nodes below the chroot.
        """
        return await self.run(looking.locks(self.backend, pattern))

    async def revoke(self, name: str, reason: str = "") -> LockInfo | None:
        """End every lease of a name, whoever has it; answers what was ended, None if nothing.

        The holders learn of it, and of the reason, when they next renew; until then they may
        go on, so what they write must be fenced.  A latch is opened.  Permits that other
        clients than ours hold without a name cannot be told apart, and stay.
        Cost: what `inspect` costs, and one round trip for each holder; two of a semaphore,
        three on ZooKeeper.
        """
        return await self.run(looking.revoke(self, checked_name(name), reason))

    async def ask_back(self, name: str) -> int:
        """Ask everybody who holds a lock or a read/write lock to give it back; answers how many
        were asked.

        Nobody is made to: the holders hear of it by `hold.asked` and `hold.on_asked`, Java's by
        the listener of their `makeRevocable`.  Only ZooKeeper can ask.
        Cost: two round trips.
        """
        return await self.run(looking.ask_back(self.backend, checked_name(name)))

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *exit: object) -> None:
        await self.close()


def _spelled_terms(
    lease: Seconds | str,
    renew: bool,
    max_hold: Seconds | str | None,
    timeout: Seconds | str | None,
) -> tuple[Terms, Seconds | None]:
    terms = checked_terms(spelled("lease", lease), renew, spelled("max_hold", max_hold))
    wait = spelled("timeout", timeout)
    checked_timeout(wait)
    return terms, wait
