"""How a latch is counted down.  To wait for one is an acquisition: see `lock.acquire`.

A count whose answer was lost is said again, by the same owner: the store counts each owner
once.
"""

from __future__ import annotations

from ..spi import LatchStore
from ..steps import Steps
from .lock import Clock
from .retry import retry


def count_down(store: LatchStore, name: str, owner: str, clock: Clock) -> Steps[int]:
    """Count once; answers what is left.  One round trip, if its answer arrives."""
    return retry(lambda until: store.count_down(name, owner, until), clock)
