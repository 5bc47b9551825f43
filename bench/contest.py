"""Several libraries on the same servers: pairs in turns, and pairs beside a node that hangs.

All take turns in short slices: on all cores, and with clients and servers on one core, where the
scheduler has no say.  Then one node is stopped (SIGSTOP) for a slice of each.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass
from statistics import median
from typing import Any, Generic, TypeVar

from interlock import aio
from tests.support.servers import RedisServer

from .method import (
    Clock,
    Effort,
    Runner,
    compare,
    cpu_of,
    cpu_of_all,
    cpu_with,
    interleave,
    pinned,
    ratio,
    threads_of,
)
from .programs import Looping
from .report import Answer, Table, count, progress, times

THREADS, ASYNCIO, JAVA, GO = "threads", "asyncio", "Java", "Go"
CORES = ("all cores", "one core")

#: Seconds for which a just-in-time compiler sees its program run before it is measured.
WARM_UP = 8.0

#: Seconds after which tasks that wait for a node that hangs are given up, and programs are.
LONGEST, LONGEST_PROGRAM = 5.0, 15.0

#: Seconds in which a node that hung hears what it has missed.
CATCHING_UP = 0.3

Pairs = Callable[[int], None]


@dataclass
class Ground:
    """Where contestants are made, and what ends with them."""

    nodes: Sequence[RedisServer]
    loop: asyncio.Runner
    folder: str
    stack: ExitStack

    @property
    def pids(self) -> list[int]:
        return [each.pid for each in self.nodes]

    @property
    def ports(self) -> list[int]:
        return [each.port for each in self.nodes]

    def recover(self) -> None:
        """A node goes on again: forget what contestants have left there."""

    def close(self, client: aio.Client) -> None:
        self.loop.run(client.close())


G = TypeVar("G", bound=Ground)


@dataclass(frozen=True)
class Contestant(Generic[G]):
    """One that takes part, if it is installed or built."""

    name: str
    world: str
    make: Callable[[G], Pairs]
    #: How many pairs make a slice beside a node that hangs; none where it would wait for ever.
    beside: int = 2

    @property
    def key(self) -> str:
        """What tells it from its twin in the other world."""
        return f"{self.world}: {self.name}"


def looped(pair: Callable[[str], object], names: Sequence[str]) -> Pairs:
    """Pairs one after another, on each of the names in turn."""

    def pairs(n: int) -> None:
        for number in range(n):
            pair(names[number % len(names)])

    return pairs


def awaited(
    ground: Ground, make: Callable[[], Awaitable[Callable[[str], Any]]], names: Sequence[str]
) -> Pairs:
    """The same by one task; what is made lives on the loop that runs it."""

    async def making() -> Callable[[str], Any]:
        return await make()

    pair = ground.loop.run(making())

    async def several(n: int) -> None:
        async with asyncio.timeout(LONGEST):
            for number in range(n):
                await pair(names[number % len(names)])

    return lambda n: ground.loop.run(several(n))


class Contest(Generic[G]):
    """Those that take part, over the same servers."""

    def __init__(
        self,
        title: str,
        ground: G,
        contestants: Sequence[Contestant[G]],
        limits: Mapping[str, str],
        answer: Answer,
    ) -> None:
        self._title, self._ground, self._limits, self._answer = title, ground, limits, answer
        self._entrants: dict[Contestant[G], Any] = {}
        progress(f"{title}: making the contestants")
        for each in contestants:
            try:
                pairs = each.make(ground)
                pairs(3)  # opens connections
            except Exception as failure:
                why = f"{type(failure).__name__}: {failure}"
                answer.notes.append(f"{each.key} takes no part: {why}")
            else:
                self._entrants[each] = pairs

    @property
    def _programs(self) -> list[Looping]:
        return [each for each in self._entrants.values() if isinstance(each, Looping)]

    def warm_up(self, effort: Effort) -> None:
        progress(f"{self._title}: warming up")
        for each in self._programs:
            end = time.monotonic() + effort.seconds(WARM_UP, 2.0)
            while time.monotonic() < end:
                each(20)

    # --- in turns -------------------------------------------------------------------------------

    def race(self, label: str, rounds: int) -> dict[str, Runner]:
        """Pairs on all cores, or all on one."""
        progress(f"{self._title}: {label}")
        pids = self._ground.pids
        threads = [one for each in self._programs for one in threads_of(each.program.pid)]
        with pinned(*pids, *threads) if label == "one core" else nullcontext():
            found = interleave(self._runners(), rounds, cpu_with(*pids))
        self._report(label, found)
        return found

    def _runners(self) -> list[Runner]:
        return [
            Runner(each.key, pairs, self._limit(each.world), cpu=self._cpu(pairs))
            for each, pairs in self._entrants.items()
        ]

    def _limit(self, world: str) -> str:
        """What a contestant is compared with; those of other languages with threads."""
        return self._limits.get(world, self._limits[THREADS])

    def _cpu(self, pairs: Any) -> Clock | None:
        """Of a program of its own, and of the servers."""
        if not isinstance(pairs, Looping):
            return None
        pid, servers = pairs.program.pid, self._ground.pids
        return lambda: cpu_of_all(pid) + sum(map(cpu_of, servers))

    def _report(self, label: str, found: dict[str, Runner]) -> None:
        columns = ("", "pairs/s", "of its limit", "quartiles", "by CPU", "CPU µs")
        table = Table(f"{self._title} ({label})", columns)
        for name, runner in found.items():
            figures = compare(runner, found[runner.limit or name])
            low, high = figures["quartiles"]
            table.add(
                name,
                count(figures["pairs_per_second"]),
                times(figures["of_limit"]),
                f"{low:.2f}-{high:.2f}",
                times(figures["of_limit_by_cpu"]),
                count(figures["cpu_us"]),
            )
            self._answer.figures[f"{self._title}.{label}.{name}"] = figures
        self._answer.tables.append(table)

    def compare(
        self, label: str, found: dict[str, Runner], ours: str, theirs: str, known_as: str = ""
    ) -> None:
        """Note how many times as fast ours are, if both have taken part."""
        if ours in found and theirs in found:
            one, other = found[ours], found[theirs]
            key = f"{self._title}.{label}.{ours} beside {known_as or theirs}"
            self._answer.figures[key] = {
                "name": theirs,
                "of_peer": ratio(one.rates, other.rates),
                "of_peer_by_cpu": ratio(other.costs, one.costs),
            }

    # --- beside a node that hangs ---------------------------------------------------------------

    def beside(self, nodes: Sequence[int], rounds: int) -> None:
        """Pairs while one of these nodes hangs, each in its turn."""
        progress(f"{self._title}: a node hangs")
        figures: dict[Contestant[G], tuple[list[float], list[float]]] = {
            each: ([], []) for each in self._entrants if each.beside
        }
        for number in range(rounds):
            for each in random.sample(list(figures), len(figures)):
                healthy, hung = figures[each]
                healthy.append(timed(self._entrants[each], each.beside))
                with suppress(Exception):  # one that gives up has no figure
                    hung.append(self._timed_beside(each, nodes[number % len(nodes)]))
        self._report_beside(figures)

    def _timed_beside(self, entrant: Contestant[G], node: int) -> float:
        pairs, stopped = self._entrants[entrant], self._ground.nodes[node]
        stopped.pause()
        try:
            return timed(pairs, entrant.beside)
        finally:
            stopped.resume()
            time.sleep(CATCHING_UP)
            if isinstance(pairs, Looping):
                pairs.end()
            self._ground.recover()

    def _report_beside(
        self, figures: dict[Contestant[G], tuple[list[float], list[float]]]
    ) -> None:
        columns = ("", "µs healthy", "µs, one hangs", "x its own")
        table = Table(f"{self._title}, one node hangs (all cores)", columns)
        for each, (healthy, hung) in figures.items():
            if not hung:
                table.add(each.key, count(1e6 * median(healthy)), "gave up", "")
                continue
            slower = median(one / other for one, other in zip(hung, healthy, strict=False))
            shown = count(1e6 * median(healthy)), count(1e6 * median(hung))
            table.add(each.key, *shown, times(slower))
            self._answer.figures[f"{self._title}.hung.{each.key}"] = {
                "us": 1e6 * median(healthy),
                "us_hung": 1e6 * median(hung),
                "ratio": slower,
            }
        self._answer.tables.append(table)


def timed(pairs: Pairs, n: int) -> float:
    """Seconds that a pair takes; a program of its own may give up."""
    began = time.perf_counter()
    if isinstance(pairs, Looping):
        pairs.begin(n)
        if not pairs.program.speaks_within(LONGEST_PROGRAM):
            raise TimeoutError
    else:
        pairs(n)
    return (time.perf_counter() - began) / n
