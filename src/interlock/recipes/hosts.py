"""What the steps of holding need of the session that runs them, and of the lock they want."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ..model import Terms
from ..spi import Backend, LockStore
from ..steps import Wakes
from .lease import Lease, LeaseHost
from .local_queue import Key
from .lock import Acquisition, AcquisitionHost
from .renewal import RenewalSchedule


class Wanted(Protocol):
    """What a thread or task wants: a name of some kind, on some terms, perhaps for a block."""

    @property
    def store(self) -> LockStore: ...
    @property
    def key(self) -> Key: ...
    @property
    def terms(self) -> Terms: ...
    @property
    def lease_class(self) -> type[Lease]: ...
    @property
    def wrap(self) -> Callable[[Lease], Any]:
        """Makes what the user has in hand of a lease."""
        ...

    def enter(self, lease: Lease, holds: Any) -> Any:
        """A block begins that relies on a lease; answers what it has in hand."""
        ...

    def abandon(self, lease: Lease, holds: Any) -> None:
        """The block that has just begun does not begin after all."""
        ...


class HoldingSession(LeaseHost, AcquisitionHost, Protocol):
    """A client's memory, as these steps see it."""

    backend: Backend
    schedule: RenewalSchedule
    #: What each thread or task holds; `current` is of the running one.
    holds: Any
    #: Renews leases in the background; `wake` tells it that there may be something to do.
    keeper: Any
    #: Whether calls are executed in the order in which they were made.
    ordered: bool
    #: Names that were busy when they were last asked for.
    busy_names: set[Key]
    #: Whether leases are to know where in the user's program they were taken.
    tells_origin: bool

    def local(self) -> Wakes:
        """A place where the running thread or task can be woken."""
        ...

    def acquisition(
        self, store: LockStore, name: str, terms: Terms, timeout: float, try_once: bool
    ) -> Acquisition:
        """An acquisition that has not begun, with an owner of its own."""
        ...

    def note_busy(self, key: Key, busy: bool) -> None:
        """Whether a name was busy, for the next time."""
        ...

    def origin(self) -> str:
        """Where in the user's program the lock is taken."""
        ...

    def drop(self, lease: Lease) -> None:
        """Forget a lease here; what the store knows of it is another matter."""
        ...
