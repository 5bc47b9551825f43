"""Ends while a daemon thread of it waits for something."""

from __future__ import annotations

import sys
import threading

import interlock
from interlock.events import Event, Parked
from interlock.testing.contract import KINDS

parked = threading.Event()


def observe(event: Event) -> None:
    if isinstance(event, Parked):
        parked.set()


if __name__ == "__main__":
    client = interlock.connect(sys.argv[1], observer=observe)
    if sys.argv[2] == "latch":
        wait = client.latch("claim").wait
    else:
        wait = KINDS[sys.argv[2]](client, "claim").acquire
    threading.Thread(target=wait, daemon=True).start()
    parked.wait(10)
