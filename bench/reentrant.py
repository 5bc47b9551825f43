"""Taking a lock that one holds already: what does it cost, and what does the server hear?

There is no I/O in it, so it is measured in processor time; the median of the rounds counts.
"""

from __future__ import annotations

import asyncio
import time
from statistics import median

import interlock
from interlock import aio
from tests.support.servers import RedisServer

from .counting import Counter
from .method import Effort, Runner, interleave, pinned
from .pair import pairs_of
from .peers import WAITING
from .report import Answer, Table, progress, times

#: Seconds after which a new client has told the server who it is.
INTRODUCTION = 0.3


def ask(effort: Effort) -> Answer:
    """Both worlds; the lock is held throughout."""
    progress("reentrant")
    answer = Answer()
    table = Table("re-entering a lock that is held", ("", "µs, in and out", "commands"))
    with RedisServer() as server, pinned(server.pid):
        counter, rounds = Counter(server.port), effort.of(40, 15)
        for world, measure in (("blocking", _blocking), ("asyncio", _asyncio)):
            cost, sent = measure(server.url, counter, rounds)
            table.add(world, times(cost), sent)
            answer.figures[f"reentrant.{world}"] = {"us": cost, "commands": sent}
        counter.close()
    answer.tables.append(table)
    return answer


def _blocking(url: str, counter: Counter, rounds: int) -> tuple[float, int]:
    with interlock.connect(url) as client:
        lock = client.lock("reentrant")
        with lock:
            time.sleep(INTRODUCTION)
            counter.reset()
            runner = interleave([Runner("again", pairs_of(lock))], rounds)["again"]
            return 1e6 * median(runner.costs), counter.commands(WAITING)


def _asyncio(url: str, counter: Counter, rounds: int) -> tuple[float, int]:
    async def main() -> tuple[float, int]:
        async with aio.connect(url) as client, client.lock("reentrant"):
            await asyncio.sleep(INTRODUCTION)
            counter.reset()
            cost = median([await _again(client.lock("reentrant")) for _ in range(rounds)])
            return cost * 1e6, counter.commands(WAITING)

    return asyncio.run(main())


async def _again(lock: aio.Lock, pairs: int = 2000) -> float:
    began = time.process_time()
    for _ in range(pairs):
        async with lock:
            pass
    return (time.process_time() - began) / pairs
