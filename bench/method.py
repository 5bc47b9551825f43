"""How times become figures that mean something on a noisy machine.

Contestants take turns in short slices over many rounds, and what is reported is the median
of the ratios within a round: whatever slows the machine down for a while slows all of them.
Where client and server speak in turns both are pinned to one core, because otherwise the
scheduler's choice of cores weighs more than the code.  Beside the time that passed stands the
processor time of both together, which does not see the neighbours at all.
"""

from __future__ import annotations

import contextlib
import gc
import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import Any, TypeAlias

#: Seconds that one slice of one contestant should take.
SLICE = 0.03


Clock: TypeAlias = Callable[[], float]


@dataclass(frozen=True)
class Effort:
    """How long to measure."""

    quick: bool = False
    rounds: int | None = None

    def of(self, full: int, quick: int) -> int:
        """How many rounds: what the user said, else as the mode wants it."""
        return self.rounds or (quick if self.quick else full)

    def seconds(self, full: float, quick: float) -> float:
        return quick if self.quick else full


@dataclass
class Runner:
    """A contestant: does so many pairs in one go, and may say that it did fewer."""

    name: str
    pairs: Callable[[int], int | None]
    #: The limit that this one is compared with; None where all have the same.
    limit: str | None = None
    #: How many pairs make a slice; found out when it is 0.
    size: int = 0
    rates: list[float] = field(default_factory=list)
    #: Seconds of processor time that a pair cost, client and server together.
    costs: list[float] = field(default_factory=list)
    #: What its processor time is read from, where it is not the clock of all.
    cpu: Clock | None = None

    def calibrate(self) -> None:
        """Find how many pairs fill a slice, and warm up on the way."""
        if self.size:
            return
        self.pairs(2)  # opens connections and creates files, which is not what is timed
        self.size, took = 16, self._shortest(16)
        while took < SLICE / 3 and self.size < 1 << 20:
            self.size *= 2
            took = self._shortest(self.size)
        self.size = max(16, round(self.size * SLICE / took))

    def _shortest(self, size: int) -> float:
        """Of two, because a neighbour may have run during one of them."""
        return min(self._time(size)[0], self._time(size)[0])

    def slice(self, cpu: Clock = time.process_time) -> None:
        spent = cpu()
        took, done = self._time(self.size)
        done = max(done, 1)
        self.rates.append(done / took)
        self.costs.append((cpu() - spent) / done)

    def _time(self, size: int) -> tuple[float, int]:
        began = time.perf_counter()
        done = self.pairs(size)
        return time.perf_counter() - began, size if done is None else done

    @property
    def rate(self) -> float:
        """Pairs in a second, the median of the rounds."""
        return median(self.rates)


def interleave(
    runners: Sequence[Runner], rounds: int, cpu: Clock = time.process_time
) -> dict[str, Runner]:
    """Let everyone run once in every round, each round in another order."""
    for runner in runners:
        runner.calibrate()
    for _ in range(rounds):
        gc.collect()
        for runner in random.sample(runners, len(runners)):
            runner.slice(runner.cpu or cpu)
    return {runner.name: runner for runner in runners}


def ratio(one: Sequence[float], other: Sequence[float]) -> float:
    """The median of the ratios of two contestants, round by round."""
    return median(a / b for a, b in zip(one, other, strict=True))


def spread(one: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    """The quartiles of those ratios."""
    ratios = [a / b for a, b in zip(one, other, strict=True)]
    if len(ratios) < 2:
        return ratios[0], ratios[0]
    low, _, high = quantiles(ratios, n=4, method="inclusive")
    return low, high


def compare(runner: Runner, limit: Runner) -> dict[str, Any]:
    """What is worth knowing of a contestant beside its limit."""
    return {
        "pairs_per_second": runner.rate,
        "limit": limit.name,
        "of_limit": ratio(runner.rates, limit.rates),
        "quartiles": spread(runner.rates, limit.rates),
        "of_limit_by_cpu": ratio(limit.costs, runner.costs),
        "cpu_us": median(runner.costs) * 1e6,
    }


def percentile(values: Sequence[float], percent: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def cpu_with(*pids: int) -> Clock:
    """The processor time of this process and others: blind to whoever else runs."""
    return lambda: time.process_time() + sum(map(cpu_of, pids))


def cpu_between(one: int, other: int) -> Clock:
    """The processor time of two other processes."""
    return lambda: cpu_of_all(one) + cpu_of(other)


def cpu_of_all(pid: int) -> float:
    """The processor seconds of all threads of another process, also of those that have ended."""
    return time.clock_gettime((~pid << 3) | 2)  # as clock_getcpuclockid makes it


def threads_of(pid: int) -> list[int]:
    """The ids of all threads of another process."""
    return [int(each.name) for each in Path(f"/proc/{pid}/task").iterdir()]


def cpu_of(pid: int) -> float:
    """The processor seconds of another process's main thread."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


@contextlib.contextmanager
def pinned(*pids: int) -> Iterator[int]:
    """Put this process and others, or threads of theirs, on one core, the idlest one; undone at
    the end."""
    core, before = idlest_core(), os.sched_getaffinity(0)
    for pid in (0, *pids):
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(pid, {core})
    try:
        yield core
    finally:
        for pid in (0, *pids):
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(pid, before)


def idlest_core() -> int:
    """The core on which others do least just now."""
    first = _idle_ticks()
    time.sleep(0.3)
    second = _idle_ticks()
    allowed = os.sched_getaffinity(0)
    return max(allowed, key=lambda core: second.get(core, 0) - first.get(core, 0))


def _idle_ticks() -> dict[int, int]:
    lines = Path("/proc/stat").read_text().splitlines()
    words = [line.split() for line in lines if line.startswith("cpu") and line[3].isdigit()]
    return {int(each[0][3:]): int(each[4]) for each in words}
