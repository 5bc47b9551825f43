"""A lock over five servers, beside others that do the same and beside bare programs.

All take turns in short slices: on all cores, which is what asking in parallel is for, and with the
client and all servers on one core, where the scheduler has no say.  Then one node at a time is
stopped (SIGSTOP).  Those that are not installed or built do not take part.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections.abc import Iterable
from contextlib import ExitStack, nullcontext, suppress
from statistics import median
from typing import Any

from tests.support.redlocks import RedlockServers

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
from .redlock_entrants import (
    ALL,
    ASYNCIO,
    BARE,
    BARE_ASYNC,
    GO,
    JAVA,
    LOCK,
    MUTEX,
    REDISSON,
    REDSYNC,
    THREADS,
    Contestant,
    Ground,
)
from .report import Answer, Table, count, progress, times

#: Seconds for which a just-in-time compiler sees its program run before it is measured.
WARM_UP = 8.0

#: Seconds for which a program of its own may take beside a node that hangs.
LONGEST = 15.0

#: Seconds in which a node that hung hears what it has missed.
CATCHING_UP = 0.3

LIMITS = {THREADS: f"{THREADS}: {BARE}", ASYNCIO: f"{ASYNCIO}: {BARE_ASYNC}"}


class Field:
    """Those that take part, over the same servers."""

    def __init__(self, ground: Ground, answer: Answer) -> None:
        self.ground = ground
        self.entrants: dict[Contestant, Any] = {}
        for each in ALL:
            try:
                pairs = each.make(ground)
                pairs(3)  # opens connections
            except Exception as failure:
                answer.notes.append(
                    f"{each.key} takes no part: {type(failure).__name__}: {failure}"
                )
            else:
                self.entrants[each] = pairs

    def runners(self) -> list[Runner]:
        return [
            Runner(each.key, pairs, LIMITS.get(each.world, LIMITS[THREADS]), cpu=self._cpu(pairs))
            for each, pairs in self.entrants.items()
        ]

    def _cpu(self, pairs: Any) -> Clock | None:
        """Of a program of its own, and of the servers."""
        if not isinstance(pairs, Looping):
            return None
        pid, servers = pairs.program.pid, self.servers
        return lambda: cpu_of_all(pid) + sum(map(cpu_of, servers))

    @property
    def servers(self) -> list[int]:
        return [each.pid for each in self.ground.servers]

    @property
    def programs(self) -> list[Looping]:
        return [each for each in self.entrants.values() if isinstance(each, Looping)]

    def warm_up(self, seconds: float) -> None:
        for each in self.programs:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                each(20)


def ask(effort: Effort) -> Answer:
    """Healthy on all cores and on one, then beside a node that hangs; all in one run."""
    answer = Answer()
    with (
        tempfile.TemporaryDirectory(prefix="interlock-bench-") as folder,
        RedlockServers() as servers,
        asyncio.Runner() as loop,
        ExitStack() as stack,
    ):
        servers.let_vote()
        progress("redlock peers: making them, warming them up")
        field = Field(Ground(servers, loop, folder, stack), answer)
        field.warm_up(effort.seconds(WARM_UP, 2.0))
        for label in ("all cores", "one core"):
            progress(f"redlock peers: {label}")
            _report(answer, label, _healthy(field, label, effort))
        progress("redlock peers: one node hangs")
        _report_hung(answer, field, _beside(field, effort.of(3, 1)))
    return answer


def _healthy(field: Field, label: str, effort: Effort) -> dict[str, Runner]:
    threads = [one for each in field.programs for one in threads_of(each.program.pid)]
    with pinned(*field.servers, *threads) if label == "one core" else nullcontext():
        return interleave(field.runners(), effort.of(30, 6), cpu_with(*field.servers))


def _report(answer: Answer, label: str, found: dict[str, Runner]) -> None:
    table = Table(
        f"a pair over five servers ({label})",
        ("", "pairs/s", "of its limit", "quartiles", "by CPU", "CPU µs"),
    )
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
        answer.figures[f"redlock_peers.{label}.{name}"] = figures
    answer.tables.append(table)
    for ours, theirs in _opponents(found):
        answer.figures[f"redlock_peers.{label}.{ours} beside {theirs[0]}"] = _beaten(
            found[ours], found[theirs[1]]
        )


def _opponents(found: dict[str, Runner]) -> Iterable[tuple[str, tuple[str, str]]]:
    """Which of ours is compared with whom, and under which name."""
    for world in (THREADS, ASYNCIO):
        peers = [
            each for each in found.values() if each.name.startswith(world) and _is_peer(each.name)
        ]
        if peers:
            best = max(peers, key=lambda each: each.rate)
            yield f"{world}: {MUTEX}", ("the best peer", best.name)
    for ours, theirs in ((LOCK, f"{JAVA}: {REDISSON}"), (MUTEX, f"{GO}: {REDSYNC}")):
        if theirs in found:
            yield f"{THREADS}: {ours}", (theirs, theirs)


def _is_peer(name: str) -> bool:
    return "interlock" not in name and "bare" not in name


def _beaten(ours: Runner, theirs: Runner) -> dict[str, Any]:
    """How many times as fast ours are."""
    return {
        "name": theirs.name,
        "of_peer": ratio(ours.rates, theirs.rates),
        "of_peer_by_cpu": ratio(theirs.costs, ours.costs),
    }


# --- beside a node that hangs -------------------------------------------------------------------


def _beside(field: Field, rounds: int) -> dict[Contestant, tuple[list[float], list[float]]]:
    """Of each how long a pair takes, healthy and beside a node that hangs."""
    figures: dict[Contestant, tuple[list[float], list[float]]] = {
        each: ([], []) for each in field.entrants if each.beside
    }
    for number in range(rounds):
        for each in random.sample(list(figures), len(figures)):
            figures[each][0].append(_timed(field.entrants[each], each.beside))
            with suppress(Exception):  # one that gives up has no figure
                figures[each][1].append(_timed_beside(field, each, number % 5))
    return figures


def _timed_beside(field: Field, entrant: Contestant, node: int) -> float:
    servers, pairs = field.ground.servers, field.entrants[entrant]
    servers[node].pause()
    try:
        if isinstance(pairs, Looping):
            return _timed_program(pairs, entrant.beside)
        return _timed(pairs, entrant.beside)
    finally:
        servers[node].resume()
        time.sleep(CATCHING_UP)
        if isinstance(pairs, Looping) and pairs.begun:
            pairs.end()
        servers.flush()
        servers.let_vote()


def _timed(pairs: Any, n: int) -> float:
    began = time.perf_counter()
    pairs(n)
    return (time.perf_counter() - began) / n


def _timed_program(pairs: Looping, n: int) -> float:
    began = time.perf_counter()
    pairs.begin(n)
    if not pairs.program.speaks_within(LONGEST):
        raise TimeoutError
    took = (time.perf_counter() - began) / n
    pairs.end()
    return took


def _report_hung(
    answer: Answer,
    field: Field,
    figures: dict[Contestant, tuple[list[float], list[float]]],
) -> None:
    table = Table(
        "a pair over five servers, one of which hangs (all cores)",
        ("", "µs healthy", "µs, one hangs", "x its own"),
    )
    for each, (healthy, hung) in figures.items():
        if not hung:
            table.add(each.key, count(1e6 * median(healthy)), "gave up", "")
            continue
        slower = median(one / other for one, other in zip(hung, healthy, strict=False))
        shown = count(1e6 * median(healthy)), count(1e6 * median(hung))
        table.add(each.key, *shown, times(slower))
        answer.figures[f"redlock_peers.hung.{each.key}"] = {
            "us": 1e6 * median(healthy),
            "us_hung": 1e6 * median(hung),
            "ratio": slower,
        }
    answer.tables.append(table)
