"""The client, as users meet it: it makes locks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, ParamSpec, TypeVar

from ..model import (
    Seconds,
    Terms,
    checked_name,
    checked_terms,
    checked_timeout,
    spelled,
)
from .decorate import locked_async, locked_sync
from .lock import AsyncLock, Lock
from .worlds import AsyncSession, Session

P = ParamSpec("P")
R = TypeVar("R")


class Client(Session):
    """A client for threads: make one for each process and store, and share it."""

    def lock(
        self,
        name: str,
        *,
        lease: Seconds = 30.0,
        renew: bool = True,
        max_hold: Seconds | None = None,
        timeout: Seconds | None = None,
    ) -> Lock:
        """A reentrant lock; on Redis it is Redisson's RLock.

        The lease is kept while the process lives (`renew`), at most for `max_hold` seconds;
        `timeout` is how long an acquire waits, None for ever, 0 for one try.
        """
        terms = checked_terms(lease, renew, max_hold)
        return Lock(self, self.backend.locks, checked_name(name), terms, timeout)

    def mutex(
        self,
        name: str,
        *,
        lease: Seconds = 30.0,
        renew: bool = True,
        max_hold: Seconds | None = None,
        timeout: Seconds | None = None,
    ) -> Lock:
        """A lock that is not reentrant; on Redis the plain SET NX PX of many libraries.

        The lease is kept while the process lives (`renew`), at most for `max_hold` seconds;
        `timeout` is how long an acquire waits, None for ever, 0 for one try.
        """
        terms = checked_terms(lease, renew, max_hold)
        return Lock(self, self.backend.mutexes, checked_name(name), terms, timeout)

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

    def _lock_for(self, terms: Terms, timeout: Seconds | None) -> Callable[[str], Lock]:
        return lambda name: Lock(self, self.backend.locks, checked_name(name), terms, timeout)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exit: object) -> None:
        self.close()


class AsyncClient(AsyncSession):
    """A client for tasks: make one for each event loop and store, and share it."""

    def lock(
        self,
        name: str,
        *,
        lease: Seconds = 30.0,
        renew: bool = True,
        max_hold: Seconds | None = None,
        timeout: Seconds | None = None,
    ) -> AsyncLock:
        """A reentrant lock; on Redis it is Redisson's RLock.

        The lease is kept while the process lives (`renew`), at most for `max_hold` seconds;
        `timeout` is how long an acquire waits, None for ever, 0 for one try.
        """
        terms = checked_terms(lease, renew, max_hold)
        return AsyncLock(self, self.backend.locks, checked_name(name), terms, timeout)

    def mutex(
        self,
        name: str,
        *,
        lease: Seconds = 30.0,
        renew: bool = True,
        max_hold: Seconds | None = None,
        timeout: Seconds | None = None,
    ) -> AsyncLock:
        """A lock that is not reentrant; on Redis the plain SET NX PX of many libraries.

        The lease is kept while the process lives (`renew`), at most for `max_hold` seconds;
        `timeout` is how long an acquire waits, None for ever, 0 for one try.
        """
        terms = checked_terms(lease, renew, max_hold)
        return AsyncLock(self, self.backend.mutexes, checked_name(name), terms, timeout)

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

    def _lock_for(self, terms: Terms, timeout: Seconds | None) -> Callable[[str], AsyncLock]:
        return lambda name: AsyncLock(self, self.backend.locks, checked_name(name), terms, timeout)

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
