"""How a latch is counted down.  To wait for one is an acquisition: see `lock.acquire`.

A count whose answer was lost is said again, by the same owner: the store counts each owner
once.
"""

from __future__ import annotations

from ..steps import Steps
from ..stores import LatchStore
from .insist import insist
from .lock import Clock


def count_down(store: LatchStore, name: str, owner: str, clock: Clock) -> Steps[int]:
    """Count once; answers what is left.  One round trip, if its answer arrives."""
    return insist(lambda until: store.count_down(name, owner, until), clock)
