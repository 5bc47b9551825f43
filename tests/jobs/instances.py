"""Processes that run the same job with clocks that differ, and what became of its ticks."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path
from types import TracebackType

from tests.jobs.programs.deadly import DEADLY

#: Seconds; what a busy machine may add.
SPARE = 1.0

PROGRAM = "tests.jobs.programs.instance"


class Instances:
    """So many processes; one that dies is replaced, as a supervisor would."""

    def __init__(
        self, url: str, log: Path, skews: list[float], period: float, retry: bool
    ) -> None:
        self.period_ms = round(period * 1000)
        self._words = [url, str(log), str(period), "retry" if retry else "leave"]
        self._log, self._skews = log, skews
        self._ending, self._ready, self.deaths = False, 0.0, 0
        self._processes: list[subprocess.Popen[bytes]] = []
        self._watching = threading.Thread(target=self._watch)

    def __enter__(self) -> Instances:
        self._log.touch()
        self._processes = [self._start(skew) for skew in self._skews]
        for process in self._processes:
            assert process.stdout is not None
            process.stdout.readline()  # it is ready
        self._ready = time.time()
        self._watching.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ending = True
        self._watching.join()
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.wait(20)
            if process.stdout is not None:
                process.stdout.close()

    def _start(self, skew: float) -> subprocess.Popen[bytes]:
        url, log, *rest = self._words
        words = [sys.executable, "-m", PROGRAM, url, str(skew), log, *rest]
        return subprocess.Popen(words, stdout=subprocess.PIPE)

    def _watch(self) -> None:
        while not self._ending:
            for place, process in enumerate(self._processes):
                if process.poll() is not None:
                    assert process.stdout is not None
                    process.stdout.close()
                    self.deaths += 1
                    self._processes[place] = self._start(self._skews[place])
            time.sleep(0.02)

    def lines(self) -> list[tuple[str, int, int]]:
        """What the job has written: begin or end, the tick, the token."""
        words = (line.split() for line in self._log.read_text().splitlines())
        return [(what, int(tick), int(token)) for what, tick, token in words]

    def tokens(self, what: str) -> dict[int, list[int]]:
        """The tokens under which each tick was begun, or ended."""
        found: dict[int, list[int]] = defaultdict(list)
        for each, tick, token in self.lines():
            if each == what:
                found[tick].append(token)
        return found

    def ticks(self, count: int) -> list[int]:
        """So many ticks, from the first on for which every instance was there."""
        first = (self._ready + max(self._skews)) * 1000 // self.period_ms + 2
        return [round(first + number) * self.period_ms for number in range(count)]

    def have_begun(self, ticks: list[int]) -> bool:
        """Whether each of them was begun."""
        begun = self.tokens("begin")
        return all(tick in begun for tick in ticks)

    def have_passed(self, ticks: list[int]) -> bool:
        """Whether the last tick has passed on every clock, so that no instance comes to it
        later."""
        span = max(self._skews) - min(self._skews) + SPARE
        return max(self.tokens("begin")) > ticks[-1] + span * 1000

    def is_deadly(self, tick: int) -> bool:
        return tick // self.period_ms % DEADLY == 0
