"""What a simulated client has while it holds: the real lease, and what it is watched for."""

from __future__ import annotations

from typing import Any

from interlock.recipes.lease import Lease
from interlock.recipes.rw_lease import RwLease

from .holds import SimWakes


class SimLease(Lease):
    """A lease of one share, or of as many as its client wanted."""

    def __init__(self, host: Any, *facts: Any) -> None:
        super().__init__(host, *facts)
        host.leases[self.owner] = self
        #: How much of the room its client wanted.
        self.wanted = 1
        #: The last question in answer to which it was granted or renewed.
        self.asked = self.grant.asked
        #: Where its client works on, unless the lease is lost.
        self.wakes = SimWakes()
        self.on_lost(lambda _: self.wakes.wake())

    @property
    def weight(self) -> int:
        """How much of the room it takes."""
        return self.wanted

    def renewed(self, asked: float) -> None:
        self.asked = max(asked, self.asked)
        super().renewed(asked)

    @property
    def standing(self) -> bool:
        """Neither lost nor being given back, as far as its client knows."""
        return self.depth > 0 and self.cause is None

    def believed(self, now: float) -> bool:
        """Whether its client may act on it at this instant."""
        return self.standing and now < self.until


class SimRwLease(RwLease, SimLease):
    """A lease of a reader, or of a writer, which takes all the room."""

    @property
    def weight(self) -> int:
        return self.wanted if self.writing else 1
