"""A simulated client's memory: what the steps of holding need, and nothing of threads."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from interlock.errors import LockLost
from interlock.events import Event, Granted, Lost, Renewed
from interlock.model import Terms
from interlock.recipes.lease import Lease
from interlock.recipes.local_queue import Key, LocalQueue
from interlock.recipes.lock import WITHDRAWAL, Acquisition, Silence
from interlock.recipes.renewal import PendingWithdrawal, RenewalSchedule
from interlock.session.holds import Holds
from interlock.spi import LockStore
from interlock.steps import Wakes

from .holds import SimWakes
from .leases import SimLease


class Present:
    """What the one task of a client holds."""

    def __init__(self) -> None:
        self.current = Holds()


class SimSession:
    """See `recipes.hosts.HoldingSession`."""

    observed, generation, tells_origin = True, 0, False
    #: Whether the release of a sibling is executed before the next question.
    ordered = False

    def __init__(self, clock: Callable[[], float], backend: Any = None) -> None:
        self.clock, self.backend = clock, backend
        self.queue = LocalQueue(nullcontext())
        self.schedule, self.silence = RenewalSchedule(nullcontext()), Silence()
        self.holds, self.bell = Present(), SimWakes()
        self.keeper = self.bell
        self.busy_names: set[Key] = set()
        #: By owner; they enter themselves.
        self.leases: dict[str, Any] = {}

    def local(self) -> Wakes:
        return SimWakes()

    def next_owner(self, store: LockStore) -> str:
        """Who the next acquisition is."""
        raise NotImplementedError

    def acquisition(
        self, store: LockStore, name: str, terms: Terms, timeout: float, try_once: bool
    ) -> Acquisition:
        began = self.clock()
        times = (terms.lease, began, began + timeout, self.clock)
        owner = self.next_owner(store)
        return Acquisition(store, name, owner, *times, try_once=try_once, host=self)

    def note_busy(self, key: Key, busy: bool) -> None:
        """A plan says what its client expects."""

    def origin(self) -> str:
        return ""

    # --- what becomes of leases ----------------------------------------------------------

    def drop(self, lease: Lease) -> None:
        self.schedule.drop(lease)
        lease.forget()
        self.queue.leave(lease.key, lease.owner)

    def owe(self, store: LockStore, name: str, owner: str, lease: float) -> None:
        self.owed(owner)
        at = self.clock()
        self.schedule.owe(PendingWithdrawal(store, name, owner, at + lease + WITHDRAWAL, at))
        self.bell.wake()

    def forgotten(self, lease: Lease) -> None:
        """A run ends wherever it is; what is dropped then was not forgotten by a user."""

    # --- what is told ----------------------------------------------------------------------

    def notify(self, event: Event) -> None:
        if isinstance(event, Granted):
            self.granted(self.leases[event.owner])
        elif isinstance(event, Renewed):
            self.renewed(self.leases[event.owner])

    def report_loss(self, error: LockLost, event: Lost) -> None:
        self.lost(self.leases[event.owner], event.cause)

    def call_safely(self, function: Callable[[Any], object], argument: object) -> None:
        function(argument)

    # --- for the watch ---------------------------------------------------------------------

    def granted(self, lease: SimLease) -> None:
        raise NotImplementedError

    def renewed(self, lease: SimLease) -> None:
        raise NotImplementedError

    def lost(self, lease: SimLease, cause: str) -> None:
        raise NotImplementedError

    def owed(self, owner: str) -> None:
        raise NotImplementedError
