"""How a latch is counted down.  To wait for one is an acquisition: see `lock.acquire`.

A count whose answer was lost is said again, by the same owner: the store counts each owner
once.
"""

from __future__ import annotations

from ..errors import OutcomeUnknown, StoreUnavailable
from ..steps import Steps
from ..stores import LatchStore
from .lock import ANSWER, Clock

#: How often a count is said before we give up.
TRIES = 3


def count_down(store: LatchStore, name: str, owner: str, clock: Clock) -> Steps[int]:
    """Count once; answers what is left.  One round trip, if its answer arrives."""
    for _ in range(TRIES - 1):
        try:
            return (yield from store.count_down(name, owner, clock() + ANSWER))
        except (OutcomeUnknown, StoreUnavailable) as failure:
            if failure.final:
                raise
    return (yield from store.count_down(name, owner, clock() + ANSWER))
