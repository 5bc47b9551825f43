"""One of the processes that contend in the demo.  It reports in JSON lines, one an event.

It takes orders on its standard input: `linger` (stay in the next block, between reading and
writing), `go-on` (end that) and `finish`.  When its parent goes, it goes too.
"""

from __future__ import annotations

import json
import os
import random
import sys
import threading
import time
from pathlib import Path
from typing import Any

from ..api.connect import connect
from ..api.hold import Hold
from ..drive import now
from ..errors import AcquireTimeout, LockLost, StaleToken, StoreError
from .demo_counter import FencedCounter, LooseCounter

#: Seconds between reading a counter and writing it: long enough to be overtaken.
SHORTEST, LONGEST = 0.03, 0.06

#: Seconds after which a waiter looks whether it is still wanted.
PATIENCE = 15.0


class Orders:
    """What the parent wants, read in the background."""

    def __init__(self) -> None:
        self.linger, self.go_on, self.finish = (threading.Event() for _ in range(3))
        self._words = {"linger": self.linger, "go-on": self.go_on, "finish": self.finish}
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        # Not sys.stdin: a thread inside its buffer would upset the interpreter's exit.
        while words := os.read(0, 4096).decode().split():
            for word in words:
                self._words[word].set()
        self.go_on.set()
        self.finish.set()


class Worker:
    """Counts both counters up, in turn, until told to finish."""

    def __init__(self, name: str, folder: Path, lease: float, number: int) -> None:
        self._client = connect()  # the URL is in our environment, where ps does not show it
        self._lock = self._client.lock(name, lease=lease, timeout=PATIENCE)
        self._fenced = FencedCounter(folder / "counter")
        self._loose = LooseCounter(folder / "loose")
        self._number, self._orders = number, Orders()

    def work(self) -> None:
        self._tell("ready")
        with self._client:
            while not self._orders.finish.is_set():
                self._count_without_lock()
                self._count_under_lock()
        self._tell("finished")

    def _count_without_lock(self) -> None:
        value = self._loose.read()
        _pause()
        self._loose.write(value + 1, self._number)
        self._tell("scribbled")

    def _count_under_lock(self) -> None:
        self._tell("waits")
        try:
            with self._lock as hold:
                self._tell("holds", token=hold.token)
                self._count(hold)
        except LockLost as loss:
            self._tell("lost", token=loss.token)
        except AcquireTimeout:
            pass
        except StoreError as failure:
            self._tell("troubled", error=str(failure))

    def _count(self, hold: Hold) -> None:
        value = self._fenced.read()
        if self._orders.linger.is_set():
            self._linger()
        else:
            _pause()
        try:
            self._fenced.write(value + 1, hold.token)
        except StaleToken as stale:
            self._tell("refused", token=stale.token, newest=stale.newest, value=value + 1)
        else:
            self._tell("counted", value=value + 1)

    def _linger(self) -> None:
        """Stay between reading and writing, where the parent kills or pauses this worker."""
        self._orders.linger.clear()
        self._tell("lingers")
        self._orders.go_on.wait()

    def _tell(self, what: str, **facts: Any) -> None:
        line = json.dumps({"what": what, "at": now(), **facts})
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


def _pause() -> None:
    time.sleep(random.uniform(SHORTEST, LONGEST))


def main(name: str, folder: str, lease: str, number: str) -> None:
    try:
        Worker(name, Path(folder), float(lease), int(number)).work()
    except BrokenPipeError:
        os._exit(1)  # the parent has gone, and reads no more reports


if __name__ == "__main__":
    main(*sys.argv[1:])
