"""Ten thousand locks held at once: what keeps them, what does it cost, is any one missed?

Each store and world has a process of its own.  A lock counts as missed when it was lost, or
was not renewed at all within one and a half rounds of renewal.
"""

from __future__ import annotations

import asyncio
import gc
import resource
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import interlock
from interlock import aio
from interlock.api.hold import BaseHold
from tests.support.servers import RedisServer

from .method import Effort
from .report import Answer, Table, count, progress, times
from .workers import Worker

HELD = 10_000
#: The lease that the bar speaks of.
LEASE = 30.0


def ask(effort: Effort) -> Answer:
    """Side by side: the processor time of each process is its own."""
    lease = effort.seconds(LEASE, 6.0)
    progress(f"keeping: {HELD} locks at a lease of {lease:.0f} s")
    answer = Answer()
    with RedisServer() as server, ExitStack() as stack:
        jobs = {
            "redis, threads": (keep, server.url),
            "redis, asyncio": (keep_asyncio, server.url),
            "memory, threads": (keep, "memory://"),
        }
        crew = {name: stack.enter_context(Worker()) for name in jobs}
        for name, (job, url) in jobs.items():
            crew[name].tell(job, url, lease)
        found = {name: worker.answer(120) for name, worker in crew.items()}
    _report(answer, found, lease)
    return answer


def _report(answer: Answer, found: dict[str, dict[str, Any]], lease: float) -> None:
    table = Table(
        f"{HELD:,} locks held at a lease of {lease:.0f} s",
        ("", "extra threads", "extra tasks", "kB each", "missed", "keeper, % of a core"),
    )
    for name, figures in found.items():
        table.add(
            name,
            figures["threads"],
            figures["tasks"],
            times(figures["kB_each"]),
            figures["missed"],
            times(figures["keeper_percent"]),
        )
        answer.figures[f"keeping.{name}"] = figures | {"lease": lease}
    answer.tables.append(table)
    if lease != LEASE:
        answer.notes.append(
            f"the keeper's share is what was measured at {lease:.0f} s, "
            f"divided by {count(LEASE / lease)} for a lease of {LEASE:.0f} s"
        )


def keep(url: str, lease: float) -> dict[str, Any]:
    """Hold many locks in this process, by one client for threads."""
    with interlock.connect(url) as client:
        with client.lock("first", lease=lease):
            pass  # the connection and the keeper are not what is weighed
        names = [f"kept:{i}" for i in range(HELD)]
        before = _resident()
        holds = [client.lock(name, lease=lease).acquire() for name in names]
        figures = _counts(before) | {"tasks": 0}
        figures |= _watch(holds, lease, time.sleep)
        for hold in holds:
            hold.release()
        return figures


def keep_asyncio(url: str, lease: float) -> dict[str, Any]:
    """Hold many locks in this process, by one client for tasks."""
    return asyncio.run(_keep_asyncio(url, lease))


async def _keep_asyncio(url: str, lease: float) -> dict[str, Any]:
    async with aio.connect(url) as client:
        async with client.lock("first", lease=lease):
            pass
        names = [f"akept:{i}" for i in range(HELD)]
        before = _resident()
        holds = [await client.lock(name, lease=lease).acquire() for name in names]
        figures = _counts(before) | {"tasks": len(asyncio.all_tasks()) - 1}
        began = _begin(holds)
        await asyncio.sleep(lease / 2)
        figures |= _end(holds, lease, began)
        for hold in holds:
            await hold.release()
        return figures


Began = tuple[float, float, list[float]]


def _watch(holds: Sequence[BaseHold], lease: float, pause: Any) -> dict[str, Any]:
    began = _begin(holds)
    pause(lease / 2)
    return _end(holds, lease, began)


def _begin(holds: Sequence[BaseHold]) -> Began:
    return time.monotonic(), time.process_time(), [hold._lease.until for hold in holds]


def _end(holds: Sequence[BaseHold], lease: float, began: Began) -> dict[str, Any]:
    at, spent, first = began
    share = (time.process_time() - spent) / (time.monotonic() - at)
    kept = [hold._lease.until > until for hold, until in zip(holds, first, strict=True)]
    lost = sum(hold.lost for hold in holds)
    return {
        "missed": max(lost, HELD - sum(kept)),
        "lost": lost,
        "keeper_percent": 100 * share * lease / LEASE,
    }


def _counts(before: float) -> dict[str, Any]:
    """What the holds weigh, their names aside, and how many threads there are but ours."""
    return {
        "kB_each": (_resident() - before) / 1024 / HELD,
        "threads": len(list(Path("/proc/self/task").iterdir())) - 1,
    }


def _resident() -> float:
    """Bytes of memory that this process occupies."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return float(pages * resource.getpagesize())
