"""One client, nobody else wants the lock: how many times a second can it be taken and freed?

Client and server share one core.  Everyone is used in a `with` block over one lock object.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from redis import asyncio as redis_asyncio

from interlock import aio
from tests.support.servers import RedisServer

from . import bare_aio
from .method import Clock, Effort, Runner, compare, cpu_with, interleave, pinned, ratio
from .peers import (
    LIMITS,
    LOCK,
    MUTEX,
    OURS,
    RAW_HASH,
    RAW_STRING,
    REDIS_PY,
    AsyncGuard,
    Guard,
    peers,
)
from .report import Answer, Table, count, progress, times

ALONE = "bare protocol, raw hash"
AIO_LOCK, AIO_MUTEX, REDIS_ASYNCIO = "aio lock()", "aio mutex()", "redis.asyncio Lock"


def ask(effort: Effort) -> Answer:
    """Both worlds, each pinned with a server of its own."""
    answer = Answer()
    with RedisServer() as server, pinned(server.pid):
        cpu = cpu_with(server.pid)
        _report(answer, "blocking", _blocking(server.port, effort, cpu), RAW_HASH, REDIS_PY)
        _report(answer, "asyncio", _asyncio(server.port, effort, cpu), ALONE, REDIS_ASYNCIO)
    return answer


def _blocking(port: int, effort: Effort, cpu: Clock) -> dict[str, Runner]:
    progress("pair: blocking")
    # Polling does not matter where nobody waits: one row for redis-py is enough.
    entrants = [each for each in (*LIMITS, *OURS, *peers()) if "polling" not in each.name]
    runners = [
        Runner(each.name, pairs_of(each.make(port, f"pair:{i}")), RAW_HASH)
        for i, each in enumerate(entrants)
    ]
    for runner in runners:
        if runner.name == MUTEX:
            runner.limit = RAW_STRING
    return interleave(runners, effort.of(60, 15), cpu)


def pairs_of(guard: Guard) -> Callable[[int], None]:
    """A loop of pairs over one lock object."""

    def pairs(n: int) -> None:
        for _ in range(n):
            with guard:
                pass

    return pairs


def _asyncio(port: int, effort: Effort, cpu: Clock) -> dict[str, Runner]:
    progress("pair: asyncio, one task")
    with asyncio.Runner() as loop:
        client = aio.connect(f"redis://127.0.0.1:{port}")
        try:
            guards = loop.run(_guards(port, client))
            runners = [
                Runner(name, pairs_on(loop, guard), ALONE) for name, guard in guards.items()
            ]
            return interleave(runners, effort.of(60, 15), cpu)
        finally:
            loop.run(client.close())


async def _guards(port: int, client: aio.Client) -> dict[str, AsyncGuard]:
    wire = await bare_aio.open_wire(port)
    return {
        ALONE: bare_aio.RawHash(wire, "apair:0", alone=True),
        AIO_LOCK: client.lock("apair:1"),
        AIO_MUTEX: client.mutex("apair:2"),
        REDIS_ASYNCIO: redis_asyncio.Redis(port=port).lock("apair:3", timeout=30),
    }


def pairs_on(loop: asyncio.Runner, guard: AsyncGuard) -> Callable[[int], None]:
    """The same loop of pairs, by one task."""

    async def pairs(n: int) -> None:
        for _ in range(n):
            async with guard:
                pass

    return lambda n: loop.run(pairs(n))


def _report(answer: Answer, world: str, runners: dict[str, Runner], limit: str, peer: str) -> None:
    table = Table(
        f"pair, {world}: nobody else wants it (one core)",
        ("", "pairs/s", "of its limit", "quartiles", "by CPU", "CPU µs", f"x {peer}"),
    )
    for runner in sorted(runners.values(), key=lambda each: -each.rate):
        own = runners[runner.limit or limit]
        figures: dict[str, Any] = compare(runner, own)
        figures["of_peer"] = ratio(runner.rates, runners[peer].rates)
        low, high = figures["quartiles"]
        table.add(
            runner.name,
            count(runner.rate),
            times(figures["of_limit"]),
            f"{low:.2f}-{high:.2f}",
            times(figures["of_limit_by_cpu"]),
            count(figures["cpu_us"]),
            times(figures["of_peer"]),
        )
        answer.figures[f"pair.{world}.{runner.name}"] = figures
    answer.tables.append(table)
    answer.figures[f"pair.{world}.best_peer"] = best_peer(runners, limit)


def best_peer(runners: dict[str, Runner], limit: str) -> dict[str, Any]:
    """The fastest contestant that is neither a limit nor ours."""
    ours = (LOCK, MUTEX, AIO_LOCK, AIO_MUTEX)
    others = [
        each
        for each in runners.values()
        if each.name not in ours and not each.name.startswith("bare")
    ]
    best = max(others, key=lambda each: each.rate)
    return {"name": best.name, **compare(best, runners[limit])}
