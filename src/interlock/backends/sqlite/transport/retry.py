"""A call again and again, while other processes have the file locked."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

from ....drive import now
from ....steps import Call, Reply
from ..errors import still_busy
from .shared_file import SharedFile

#: However much time a call has, a file that is busy for so many seconds counts as unavailable.
LIMIT = 5.0

#: Seconds that closing may take to withdraw its waiters.
CLOSE_SECONDS = 1.0


def retry(file: SharedFile, call: Call, limit: float) -> Reply:
    """Make a call, again and again while another process has the file locked."""
    began = now()
    for pause in pauses():
        replies = file.try_apply((call,))
        if replies is not None:
            return replies[0]
        at = now()
        if at >= limit:
            break
        time.sleep(min(pause, limit - at))
    raise still_busy(file.path, now() - began)


def pauses() -> Iterator[float]:
    """The seconds to wait, each time, for another process' transaction of some 50 µs."""
    pause = 0.0001
    while True:
        yield pause * random.uniform(0.5, 1.0)
        pause = min(pause * 1.4, 0.005)
