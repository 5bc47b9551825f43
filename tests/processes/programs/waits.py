"""Its main thread ends while another one still waits for a lock."""

from __future__ import annotations

import sys
import threading

import interlock
from interlock.events import Event, Parked


def observe(event: Event) -> None:
    if isinstance(event, Parked):
        sys.stdout.write("parked\n")
        sys.stdout.flush()


if __name__ == "__main__":
    client = interlock.connect(sys.argv[1], observer=observe)
    threading.Thread(target=client.lock("claim").acquire).start()
