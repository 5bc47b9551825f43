"""A lock over five servers: what does one that hangs cost, and how often is one round enough?

Pairs of healthy nodes and pairs beside a node that was stopped (SIGSTOP) take turns in short
slices, and what counts is the median of the ratios of their medians.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import interlock
from interlock import aio
from tests.support.redlocks import RedlockServers

from .counting import Counter
from .method import Effort
from .report import Answer, Table, progress, times

#: Pairs in a slice.
SLICE = 100

#: How a question reaches a node.
ASKING = ("eval", "evalsha")


def ask(effort: Effort) -> Answer:
    """Both worlds; the node that hangs is another one in each round."""
    progress("redlock")
    answer, rounds = Answer(), effort.of(20, 5)
    columns = (
        "",
        "µs healthy",
        "µs, one hangs",
        "ratio of p50",
        "% in one round",
        "% with one hung",
    )
    table = Table("a lock over five servers", columns)
    for world, measure in (("blocking", _blocking), ("asyncio", _asyncio)):
        with RedlockServers() as servers:
            figures = measure(servers, rounds)
        table.add(world, *(times(value) for value in figures.values()))
        answer.figures[f"redlock.{world}"] = figures
    answer.tables.append(table)
    return answer


def _blocking(servers: RedlockServers, rounds: int) -> dict[str, float]:
    with interlock.connect(servers.url()) as client:

        def pairs() -> list[float]:
            return [_pair(client.lock(f"name{number % 10}")) for number in range(SLICE)]

        return _measured(servers, rounds, pairs)


def _pair(lock: Any) -> float:
    began = time.perf_counter()
    with lock:
        pass
    return time.perf_counter() - began


def _asyncio(servers: RedlockServers, rounds: int) -> dict[str, float]:
    with asyncio.Runner() as runner:
        client = aio.connect(servers.url())

        async def pairs() -> list[float]:
            return [await _apair(client.lock(f"name{number % 10}")) for number in range(SLICE)]

        figures = _measured(servers, rounds, lambda: runner.run(pairs()))
        runner.run(client.close())
    return figures


async def _apair(lock: Any) -> float:
    began = time.perf_counter()
    async with lock:
        pass
    return time.perf_counter() - began


def _measured(
    servers: RedlockServers, rounds: int, pairs: Callable[[], list[float]]
) -> dict[str, float]:
    pairs()  # opens connections
    healthy, hung, rounds_healthy, rounds_hung = [], [], [], []
    for number in range(rounds):
        took, asked = _slice(servers, pairs, None)
        healthy.append(took)
        rounds_healthy.append(asked)
        took, asked = _slice(servers, pairs, number % 5)
        hung.append(took)
        rounds_hung.append(asked)
    ratios = [one / other for one, other in zip(hung, healthy, strict=True)]
    return {
        "us": 1e6 * median(healthy),
        "us_hung": 1e6 * median(hung),
        "ratio": median(ratios),
        "one_round": _in_one_round(rounds_healthy),
        "one_round_hung": _in_one_round(rounds_hung),
    }


def _slice(
    servers: RedlockServers, pairs: Callable[[], list[float]], stopped: int | None
) -> tuple[float, int]:
    """The median of a slice, and how often its busiest node was asked."""
    counters = [
        Counter(server.port) for place, server in enumerate(servers.servers) if place != stopped
    ]
    for counter in counters:
        counter.reset()
    if stopped is not None:
        servers[stopped].pause()
    took = median(pairs())
    further = sum(max(0, counter.commands(ASKING) - 2 * SLICE) for counter in counters)
    if stopped is not None:
        servers[stopped].resume()
        time.sleep(0.05)  # it hears what it has missed
    for counter in counters:
        counter.close()
    return took, further


def _in_one_round(further: list[int]) -> float:
    """Each further question counts as a second round, though one round may ask several nodes."""
    return 100 * (1 - sum(further) / (SLICE * len(further)))
