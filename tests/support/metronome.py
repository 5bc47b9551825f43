"""Whether the machine kept time while something was measured.

A promise such as "a loss is told 50 ms before the validity ends" is made by a process that gets
the processor.  Where a busy machine takes the processor away for longer, nothing is known of the
promise, and the scene is played again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Self

#: Seconds between two beats.
BEAT = 0.005

#: How often a scene is played at most, until the machine keeps time.
MOST = 6


class Metronome:
    """A thread that beats; `worst` is by how much its latest beat was late."""

    def __init__(self) -> None:
        self.worst = 0.0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exit: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _beat(self) -> None:
        due = time.monotonic() + BEAT
        while not self._stopped.wait(max(0.0, due - time.monotonic())):
            self.worst = max(self.worst, time.monotonic() - due)
            due = time.monotonic() + BEAT


def lateness(scene: Callable[[], float], tolerance: float) -> float:
    """Play a scene that answers how late something was, until it was in time (below 0) or the
    machine was less late than `tolerance` seconds: then the scene's own lateness counts."""
    late = 0.0
    for _ in range(MOST):
        with Metronome() as metronome:
            late = scene()
        if late < 0 or metronome.worst < tolerance:
            break
    return late
