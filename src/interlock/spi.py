"""What a backend offers: stores answer with steps, links perform requests.

A store knows how one primitive is laid out; its methods are small generators and do no
I/O.  A link is a live connection to the service outside, one class for each world.

The protocols say what the kernel calls.  `BaseLockStore`, `BaseDirectory` and `BaseBackend` have
defaults for most of it, for a backend of your own: see docs/extending.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from .errors import StoreError, Unsupported
from .model import KIND_CODES, Busy, Finding, Holder, LockInfo, Register, validity
from .steps import Call, Enough, Flight, Reply, Steps, Wakes, answered


class LockStore(Protocol):
    """One kind of lock in one store: of one owner at a time, or shared by several.

    Every operation is atomic and safe to repeat for the same owner.  `until` bounds how
    long its answer is worth waiting for.
    """

    #: What a name of this store is in use as: a key of `model.KIND_CODES`, or "rwlock".
    kind: str
    #: The code that ends the numbers of its owners: see `model.KIND_CODES`.
    kind_code: str
    #: Whether the thread or task that holds it may take it again.
    reentrant: bool
    #: Whether several owners may hold it at the same time.
    shared: bool
    #: Whether each waiter has a place of its own in the store's queue; otherwise a client has one
    #: place, and its threads and tasks wait in the local queue behind it.
    own_places: bool
    #: Whether questions of one client about one name hinder each other, so that even tries take
    #: turns.
    takes_turns: bool
    #: Whether the store ends a lease by itself; otherwise the client that lost it withdraws.
    leases_expire: bool

    def for_wait(self, timeout: float) -> LockStore:
        """The store for an acquisition that waits `timeout` seconds; mostly this one."""
        ...

    def effective_lease(self, lease: float) -> float:
        """How many seconds of a lease the store promises with each answer; mostly all."""
        ...

    def valid_until(self, asked: float, lease: float) -> float:
        """Until when the holder may trust a lease that answers a question sent at `asked`;
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

    def withdrawal_reason(self, name: str, owner: str, until: float) -> Steps[str]:
        """The reason for which `owner` was withdrawn, if there is one."""
        ...

    def renew(
        self, holds: Sequence[tuple[str, str]], lease: float, until: float
    ) -> Steps[Sequence[bool | str | StoreError]]:
        """Make the lease of each (name, owner) whole.

        For each: True, False where it is not theirs, or why the store did not say.
        RELEASE_REQUESTED is a True that passes on another client's wish to have it back.
        """
        ...

    def look(self, name: str, until: float) -> Steps[LockInfo | None]:
        """Tell who holds it; None when it is free and the store knows nothing else of it."""
        ...

    def topics(self, name: str, owner: str, busy: Busy) -> tuple[Any, ...]:
        """Where a waiter will hear that asking again is worth it."""
        ...


class RwStore(LockStore, Protocol):
    """One mode of a read/write lock; only `attempt` and `kind_code` differ between the two."""

    def downgrade(self, name: str, owner: str, lease: float, until: float) -> Steps[bool]:
        """Make a writer a reader and let others read; False when `owner` held nothing."""
        ...


class PermitStore(LockStore, Protocol):
    """One kind of semaphore; an attempt takes as many permits as the store was made for."""

    #: How many there are the first time that a name is used; None where that is not said.
    permits: int | None

    def set_permits(self, name: str, permits: int, until: float) -> Steps[None]:
        """From now on there are so many permits, however many of them are held."""
        ...


class LatchStore(LockStore, Protocol):
    """Latches: an attempt is granted once the count is down, and leaves nothing held."""

    def set_count(self, name: str, count: int, until: float) -> Steps[bool]:
        """Begin to count; False when it is counting already."""
        ...

    def open(self, name: str, until: float) -> Steps[None]:
        """Let every waiter pass, whatever the count."""
        ...

    def count_down(self, name: str, owner: str, until: float) -> Steps[int]:
        """Count once for each `owner`, however often it is said; answers what is left."""
        ...


class RegisterStore(Protocol):
    """Registers: small texts that are changed by compare-and-set.  Jobs keep in them what has run.

    A register is no lock: it has a namespace of its own, and no owner.
    """

    def fetch(self, name: str, until: float) -> Steps[Register | None]:
        """The text and its version; None when there is none, or it has ended."""
        ...

    def swap(self, name: str, text: str, version: int, keep: float, until: float) -> Steps[bool]:
        """Replace the text of this version (0: where there is none) by another one, which ends
        `keep` seconds later unless it is written again; False when another version is there.

        A second write of the same says False: read what is there.
        """
        ...


class ElectionStore(LockStore, Protocol):
    """Elections: the holder leads; an observer, which need not take part, hears of a change."""

    #: Seconds after which an observer looks again, wake or no wake; half of it is jitter.
    poll: float

    def watch(self, name: str, until: float) -> Steps[LockInfo | None]:
        """As `look`; from now on a change wakes the listeners of `change_topics`."""
        ...

    def change_topics(self, name: str) -> tuple[Any, ...]:
        """Where an observer hears that another may lead; none where the store cannot tell."""
        ...


class BarrierStore(LockStore, Protocol):
    """Barriers: an attempt is granted once all parties are there, and holds while inside.

    To release is to go at once, whatever the others do; to go together with them is an attempt of
    `leaving`, which is the same store otherwise.
    """

    #: How many parties there have to be; None for one that only looks.
    parties: int | None

    @property
    def leaving(self) -> LockStore:
        """Its attempts are granted once all parties are done: with 0 to an owner that is not
        inside any more."""
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
    """A blocking connection to a store, shared by every thread of a client."""

    #: Whether calls are executed in the order in which they were made.
    ordered: bool

    def call(self, request: Call) -> Reply: ...
    def together(self, requests: tuple[Call, ...]) -> list[Reply]: ...
    def begin(self, requests: tuple[Call, ...]) -> Flight | None:
        """Send calls without waiting for anything; None where that cannot be done."""
        ...

    def arrive(self, flights: tuple[Any, ...], until: float) -> None:
        """Wait until one of several flights, perhaps of other links, has its replies."""
        ...

    def settle(self, flights: tuple[Any, ...]) -> None:
        """Flights were interrupted: leave them."""
        ...

    def listen(self, topics: tuple[Any, ...], until: float) -> Wakes: ...
    def park(self, wakes: Wakes | None, until: float) -> bool: ...
    def local(self) -> Wakes: ...
    def observe(self, observer: Callable[[bool], None]) -> None:
        """Call `observer`, in any thread, when the connection may be gone, so that the holds are
        suspended (True), and when it is time to ask again (False)."""
        ...

    def engaged(self) -> bool:
        """Whether this thread is where others wait for it: then a signal handler, or a finalizer,
        has interrupted it, and must not wait for them."""
        ...

    def after_fork(self) -> None:
        """In a forked child: leave what is open to the parent, and refuse every call.

        The child goes on with a link of its own.  A call that still uses this one is the parent's:
        the child has returned into it from a signal handler that forked.
        """
        ...

    def close(self) -> None: ...


class Quiet:
    """A link that learns of trouble only by asking."""

    def observe(self, observer: Callable[[bool], None]) -> None:
        """The observer is never called."""

    def engaged(self) -> bool:
        """No thread waits for another one here, unless a link says so."""
        return False


class AsyncLink(Protocol):
    """An asyncio connection to a store, shared by every task of a client.

    A call, once made, is settled whatever happens to the task that awaits it: see
    `tasks.Sent`.
    """

    #: Whether calls are executed in the order in which they were made.
    ordered: bool

    def call(self, request: Call) -> Awaitable[Reply]: ...
    def together(self, requests: tuple[Call, ...]) -> Awaitable[list[Reply]]: ...
    def begin(self, requests: tuple[Call, ...]) -> Flight | None:
        """As `Link.begin`."""
        ...

    async def arrive(self, flights: tuple[Any, ...], until: float) -> None:
        """As `Link.arrive`."""
        ...

    async def settle(self, flights: tuple[Any, ...]) -> None:
        """Flights were interrupted: wait for their replies."""
        ...

    async def listen(self, topics: tuple[Any, ...], until: float) -> Wakes: ...
    async def park(self, wakes: Wakes | None, until: float) -> bool: ...
    def local(self) -> Wakes: ...
    def observe(self, observer: Callable[[bool], None]) -> None:
        """As `Link.observe`, in the loop that uses the link."""
        ...

    def after_fork(self) -> None:
        """As `Link.after_fork`."""
        ...

    def hang_up(self) -> None:
        """The loop is about to close: close what can be closed without awaiting."""
        ...

    async def close(self) -> None: ...


class SeveralNodes(Protocol):
    """What a link of a store on several nodes offers besides, in either world."""

    def ask_nodes(self, requests: tuple[Call, ...], enough: Enough) -> Any:
        """Send each call to its node at once, and read until `enough` says so.

        A node that is slow, or cannot be reached, holds up no other.  A reply that comes after
        the `until` of the calls is none.  Answers the replies, or awaits them.
        """
        ...


class Backend(Protocol):
    """A service outside, as `connect` finds it behind a URL, or as a program passes it.

    A primitive that it does not offer raises Unsupported when it is asked for.
    """

    @property
    def label(self) -> str:
        """How errors and logs name it; without a password."""
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
    @property
    def registers(self) -> RegisterStore: ...
    def semaphores(self, permits: int | None, weight: int) -> PermitStore:
        """Semaphores whose acquisitions take `weight` permits; the same for the same terms."""
        ...

    def leased_semaphores(self, permits: int | None) -> PermitStore:
        """Semaphores whose permits have ids; the same for the same terms."""
        ...

    def elections(self, participant: str) -> ElectionStore:
        """Elections in which this client calls itself so; "" where it does not say."""
        ...

    def barriers(self, parties: int | None) -> BarrierStore:
        """Barriers for so many parties; the same for the same number."""
        ...

    @property
    def directory(self) -> Directory: ...
    def link(self) -> Link: ...
    def alink(self) -> AsyncLink: ...


class SelfExamining(Protocol):
    """What a backend offers besides that can see what makes its locks unsafe."""

    def examine(self, until: float, thorough: bool) -> Steps[Sequence[Finding]]:
        """Tell what is found; nothing where all is well.

        It is `thorough` for a user who asks; otherwise it is the first look of a client, in the
        background, which should cost one round trip.
        """
        ...


def examination(backend: Any, until: float, thorough: bool) -> Steps[Sequence[Finding]]:
    """What a backend finds; nothing where it cannot look."""
    examine = getattr(backend, "examine", None)
    return answered(()) if examine is None else examine(until, thorough)


# --- defaults for a backend of your own ----------------------------------------------------------

#: Kinds that the thread or task which holds them may take again.
_REENTRANT = ("lock", "fair_lock", "fenced_lock", "rwlock")

#: What the stores and methods of a backend are for, as a user calls it.
_PRIMITIVES = {
    "locks": "lock",
    "mutexes": "mutex",
    "fair_locks": "fair_lock",
    "fenced_locks": "fenced_lock",
    "readers": "rwlock",
    "writers": "rwlock",
    "latches": "latch",
    "registers": "cron(), every() or once",
}

_COMPLETE = "memory://, SQLite, Redis and ZooKeeper"


class BaseLockStore(ABC):
    """A `LockStore` with defaults: write `attempt`, `release`, `withdraw`, `renew` and `look`.

    `kind` says what is kept: a key of `model.KIND_CODES`; of a read/write lock it is "rwlock",
    with the `mode` "read" or "write".  The defaults are what users expect of the kind: set an
    attribute, or override a method, where your store differs.
    """

    shared = takes_turns = False
    leases_expire = True

    def __init__(self, kind: str, mode: str = "") -> None:
        if (mode or kind) not in KIND_CODES:
            known = ", ".join(KIND_CODES)
            raise ValueError(f"{mode or kind!r} is not a kind of lock; known are {known}")
        self.kind, self.kind_code = kind, KIND_CODES[mode or kind]
        self.reentrant, self.own_places = kind in _REENTRANT, kind == "fair_lock"

    @abstractmethod
    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        """Ask once: a token, or busy.  An owner that `waits` is remembered in order.

        Safe to repeat: an owner that holds is granted again.  An owner that was withdrawn is
        refused with StoreError.  A name in use as another kind is refused with StoreMisconfigured.
        """

    @abstractmethod
    def release(self, name: str, owner: str, until: float) -> Steps[bool]:
        """Give it back and wake the next; False when `owner` did not hold it."""

    @abstractmethod
    def withdraw(self, name: str, owner: str, until: float, reason: str = "") -> Steps[bool]:
        """Remove every trace of `owner`, refuse it from now on; True when it held."""

    @abstractmethod
    def renew(
        self, holds: Sequence[tuple[str, str]], lease: float, until: float
    ) -> Steps[Sequence[bool | str | StoreError]]:
        """Make the lease of each (name, owner) whole; for each True, False or the failure."""

    @abstractmethod
    def look(self, name: str, until: float) -> Steps[LockInfo | None]:
        """Tell who holds it, and how many wait; None when it is free."""

    def for_wait(self, timeout: float) -> LockStore:
        """This store: it need not know how long an acquisition waits."""
        return self

    def effective_lease(self, lease: float) -> float:
        """The whole lease."""
        return lease

    def valid_until(self, asked: float, lease: float) -> float:
        """The lease counts from the question, less the margin for drift."""
        return validity(asked, lease)

    def withdrawal_reason(self, name: str, owner: str, until: float) -> Steps[str]:
        """No reason: the store does not keep them.  No round trip."""
        return answered("")

    def topics(self, name: str, owner: str, busy: Busy) -> tuple[Any, ...]:
        """One topic for each waiter of a name."""
        return ((name, owner),)


class PolledElections:
    """What an `ElectionStore` is beside a `LockStore`, where observers have to ask: put it before
    a lock store of the kind "election"."""

    poll = 2.0

    if TYPE_CHECKING:  # the lock store behind it has one

        def look(self, name: str, until: float) -> Steps[LockInfo | None]: ...

    def watch(self, name: str, until: float) -> Steps[LockInfo | None]:
        """A look."""
        return self.look(name, until)

    def change_topics(self, name: str) -> tuple[Any, ...]:
        """The store wakes no observer."""
        return ()


class BaseDirectory:
    """A `Directory` of a store that knows neither its clients nor its names: override what yours
    knows."""

    def __init__(self, label: str) -> None:
        self.label = label

    def introduce(self, holder: Holder, until: float) -> Steps[float]:
        """The store does not keep it.  No round trip."""
        return answered(3600.0)

    def kind_of(self, name: str, until: float) -> Steps[str | None]:
        """Found among all names; a store that can look at one of them overrides this."""
        return dict((yield from self.names(until))).get(name)

    def names(self, until: float) -> Steps[Sequence[tuple[str, str]]]:
        raise Unsupported(f"{self.label} cannot list or inspect names; {_COMPLETE} can")


class _Missing:
    """A store that a backend does not have; an attribute of the backend counts before it."""

    def __set_name__(self, backend: type, name: str) -> None:
        self._primitive = _PRIMITIVES[name]

    def __get__(self, backend: BaseBackend | None, kind: type) -> Any:
        if backend is None:
            return self
        raise _unsupported(backend.label, self._primitive)


def _missing() -> Any:
    return _Missing()


def _unsupported(label: str, primitive: str) -> Unsupported:
    return Unsupported(f"{label} has no {primitive}(); {_COMPLETE} have")


class BaseBackend(ABC):
    """A `Backend` that offers nothing yet: set, or override, what yours offers.

    What is left out raises Unsupported, in a sentence that names stores that have it.
    """

    locks: LockStore = _missing()
    mutexes: LockStore = _missing()
    fair_locks: LockStore = _missing()
    fenced_locks: LockStore = _missing()
    readers: RwStore = _missing()
    writers: RwStore = _missing()
    latches: LatchStore = _missing()
    registers: RegisterStore = _missing()
    directory: Directory

    def __init__(self, label: str) -> None:
        self.label, self.directory = label, BaseDirectory(label)

    def semaphores(self, permits: int | None, weight: int) -> PermitStore:
        raise _unsupported(self.label, "semaphore")

    def leased_semaphores(self, permits: int | None) -> PermitStore:
        raise _unsupported(self.label, "leased_semaphore")

    def elections(self, participant: str) -> ElectionStore:
        raise _unsupported(self.label, "election")

    def barriers(self, parties: int | None) -> BarrierStore:
        raise _unsupported(self.label, "barrier")

    def examine(self, until: float, thorough: bool) -> Steps[Sequence[Finding]]:
        """Nothing is found: override it where yours can see what makes its locks unsafe."""
        return answered(())

    @abstractmethod
    def link(self) -> Link:
        """A new blocking link, for one client."""

    @abstractmethod
    def alink(self) -> AsyncLink:
        """A new asyncio link, for one client."""
