"""What a backend offers: stores answer with steps, links perform requests.

A store knows how one primitive is laid out; its methods are small generators and do no
I/O.  A link is a live way to the service outside, one class for each world.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from .errors import StoreError
from .model import Busy, Holder, LockInfo
from .steps import Call, Reply, Steps, Wakes


class LockStore(Protocol):
    """One kind of lock in one store: of one owner at a time, or shared by several.

    Every operation is atomic and safe to repeat for the same owner.  `until` bounds how
    long its answer is worth waiting for.
    """

    kind: str
    #: The digit that ends the numbers of its owners: see `model.MARKS`.
    mark: str
    #: Whether the thread or task that holds it may take it again.
    reentrant: bool
    #: Whether several owners may hold it at the same time.
    shared: bool
    #: How many round trips it takes to take what is free, or to count a latch down.
    trips: int
    #: Whether the store ends a lease by itself; otherwise whoever lost it must withdraw.
    mortal: bool

    def waiting(self, timeout: float) -> LockStore:
        """The same, for an acquisition that will wait so long; most stores do not care."""
        ...

    def trusted(self, lease: float) -> float:
        """For how much of a lease the store stands, counted from each answer; mostly all."""
        ...

    def good_until(self, asked: float, lease: float) -> float:
        """Until when a lease may be trusted that was given in answer to a question of `asked`;
        mostly as `model.validity` says."""
        ...

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        """Ask once: a token, or busy.  An owner that `waits` is remembered in order."""
        ...

    def release(self, name: str, owner: str, until: float) -> Steps[bool]:
        """Give it back and wake the next; False when `owner` did not hold it."""
        ...

    def withdraw(self, name: str, owner: str, until: float, reason: str = "") -> Steps[bool]:
        """Remove every trace of `owner`, refuse it from now on; True when it held."""
        ...

    def why(self, name: str, owner: str, until: float) -> Steps[str]:
        """The reason for which `owner` was withdrawn, if there is one."""
        ...

    def renew(
        self, holds: Sequence[tuple[str, str]], lease: float, until: float
    ) -> Steps[Sequence[bool | str | StoreError]]:
        """Make the lease of each (name, owner) whole.

        For each: True, False where it is not theirs, or why the store did not say.  ASKED is
        a True that passes on somebody's wish to have it back.
        """
        ...

    def look(self, name: str, until: float) -> Steps[LockInfo | None]:
        """Tell who holds it; None when nobody does and nothing else is known of it."""
        ...

    def topics(self, name: str, owner: str, busy: Busy) -> tuple[Any, ...]:
        """Where a waiter will hear that asking again is worth it."""
        ...


class RwStore(LockStore, Protocol):
    """One mode of a read/write lock; only `attempt` and `mark` differ between the two."""

    def downgrade(self, name: str, owner: str, lease: float, until: float) -> Steps[bool]:
        """Make a writer a reader and let others read; False when `owner` held nothing."""
        ...


class PermitStore(LockStore, Protocol):
    """One kind of semaphore; an attempt takes as many permits as the store was made for."""

    def set_permits(self, name: str, permits: int, until: float) -> Steps[None]:
        """From now on there are so many permits, whoever holds some of them."""
        ...


class LatchStore(LockStore, Protocol):
    """Latches: an attempt is granted once the count is down, and nobody holds anything."""

    def set_count(self, name: str, count: int, until: float) -> Steps[bool]:
        """Begin to count; False when it is counting already."""
        ...

    def open(self, name: str, until: float) -> Steps[None]:
        """Let everybody go, whatever the count."""
        ...

    def count_down(self, name: str, owner: str, until: float) -> Steps[int]:
        """Count once for each `owner`, however often it is said; answers what is left."""
        ...


class Directory(Protocol):
    """Who is who, and what is what."""

    def introduce(self, holder: Holder, until: float) -> Steps[float]:
        """Describe this process; answers in how many seconds to say it again."""
        ...

    def kind_of(self, name: str, until: float) -> Steps[str | None]:
        """As what a name is in use; None when it is not, or not as anything of ours."""
        ...

    def names(self, until: float) -> Steps[Sequence[tuple[str, str]]]:
        """What is in use, and as what; the cost grows with the size of the store."""
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
    def observe(self, observer: Callable[[bool], None]) -> None:
        """Tell, from whatever thread, that nobody knows how holds stand (True), or that it is
        time to ask (False)."""
        ...

    def after_fork(self) -> None: ...
    def close(self) -> None: ...


class Quiet:
    """A link that learns of trouble only by asking."""

    def observe(self, observer: Callable[[bool], None]) -> None:
        """Nothing will ever be told."""


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
    def observe(self, observer: Callable[[bool], None]) -> None:
        """As `Link.observe`, in the loop that uses the link."""
        ...

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
    def fair_locks(self) -> LockStore: ...
    @property
    def fenced_locks(self) -> LockStore: ...
    @property
    def readers(self) -> RwStore: ...
    @property
    def writers(self) -> RwStore: ...
    @property
    def latches(self) -> LatchStore: ...
    def semaphores(self, permits: int | None, weight: int) -> PermitStore:
        """Semaphores whose acquisitions take `weight` permits; the same for the same terms."""
        ...

    def leased_semaphores(self, permits: int | None) -> PermitStore:
        """Semaphores whose permits have ids; the same for the same terms."""
        ...

    @property
    def directory(self) -> Directory: ...
    def link(self) -> Link: ...
    def alink(self) -> AsyncLink: ...
