"""What a backend offers: stores answer with steps, links perform requests.

A store knows how one primitive is laid out; its methods are small generators and do no
I/O.  A link is a live way to the service outside, one class for each world.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any, Protocol

from .errors import StoreError
from .model import Busy, Holder, LockInfo
from .steps import Call, Reply, Steps, Wakes


class LockStore(Protocol):
    """One kind of exclusive lock in one store.

    Every operation is atomic and safe to repeat for the same owner.  `until` bounds how
    long its answer is worth waiting for.
    """

    kind: str
    #: Whether the thread or task that holds it may take it again.
    reentrant: bool

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        """Ask once: a token, or busy.  An owner that `waits` is remembered in order."""
        ...

    def release(self, name: str, owner: str, until: float) -> Steps[bool]:
        """Give it back and wake the next; False when `owner` did not hold it."""
        ...

    def withdraw(self, name: str, owner: str, until: float) -> Steps[bool]:
        """Remove every trace of `owner`, refuse it from now on; True when it held."""
        ...

    def renew(
        self, holds: Sequence[tuple[str, str]], lease: float, until: float
    ) -> Steps[Sequence[bool | StoreError]]:
        """Make the lease of each (name, owner) whole.

        For each: True, False where it is not theirs, or why the store did not say.
        """
        ...

    def look(self, name: str, until: float) -> Steps[LockInfo | None]:
        """Tell who holds it; None when it is free."""
        ...

    def topics(self, name: str, owner: str, busy: Busy) -> tuple[Any, ...]:
        """Where a waiter will hear that asking again is worth it."""
        ...


class Directory(Protocol):
    """Where a process says who it is, so that others can tell who holds a lock."""

    def introduce(self, holder: Holder, until: float) -> Steps[float]:
        """Describe this process; answers in how many seconds to say it again."""
        ...


class Link(Protocol):
    """A blocking way to a store, shared by every thread of a client."""

    #: Whether calls are executed in the order in which they were made.
    ordered: bool

    def call(self, request: Call) -> Reply: ...
    def together(self, requests: tuple[Call, ...]) -> list[Reply]: ...
    def listen(self, topics: tuple[Any, ...]) -> Wakes: ...
    def park(self, wakes: Wakes | None, until: float) -> bool: ...
    def local(self) -> Wakes: ...
    def after_fork(self) -> None: ...
    def close(self) -> None: ...


class AsyncLink(Protocol):
    """An asyncio way to a store, shared by every task of a client.

    A call, once made, is settled whatever happens to the task that awaits it: see
    `tasks.Sent`.
    """

    #: Whether calls are executed in the order in which they were made.
    ordered: bool

    def call(self, request: Call) -> Awaitable[Reply]: ...
    def together(self, requests: tuple[Call, ...]) -> Awaitable[list[Reply]]: ...
    async def listen(self, topics: tuple[Any, ...]) -> Wakes: ...
    async def park(self, wakes: Wakes | None, until: float) -> bool: ...
    def local(self) -> Wakes: ...
    def after_fork(self) -> None: ...
    def hang_up(self) -> None:
        """The loop is about to close: let go of what nobody waits for."""
        ...

    async def close(self) -> None: ...


class Backend(Protocol):
    """A service outside, as `connect` finds it behind a URL."""

    @property
    def label(self) -> str:
        """How to name it to people; never a password."""
        ...

    @property
    def locks(self) -> LockStore: ...
    @property
    def mutexes(self) -> LockStore: ...
    @property
    def directory(self) -> Directory: ...
    def link(self) -> Link: ...
    def alink(self) -> AsyncLink: ...
