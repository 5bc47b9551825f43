"""How to get through to a file that other processes are writing to as well."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

from ...drive import now
from ...steps import Call, Reply
from .failures import still_busy
from .world import World

#: However much time a call has, a file that is busy for so long is not to be had.
LIMIT = 5.0

#: Seconds that closing may take to say good-bye.
FAREWELL = 1.0


def insist(world: World, call: Call, limit: float) -> Reply:
    """Make a call, again and again while other processes are in the way."""
    began = now()
    for pause in pauses():
        replies = world.once((call,))
        if replies is not None:
            return replies[0]
        at = now()
        if at >= limit:
            break
        time.sleep(min(pause, limit - at))
    raise still_busy(world.path, now() - began)


def pauses() -> Iterator[float]:
    """How long to wait for another process' transaction, which takes some 50 µs."""
    pause = 0.0001
    while True:
        yield pause * random.uniform(0.5, 1.0)
        pause = min(pause * 1.4, 0.005)
