"""Every primitive on Redis, nobody else wants it: what part of its bare scripts is left?

A pair is one acquire and one release; of a latch it is set, count down and wait, and of a
multilock three of each.  Client and server share one core.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import interlock
from interlock import aio
from tests.support.servers import RedisServer

from . import bare_aio, bare_kinds
from .bare_scripts import SCRIPTS
from .kinds import KINDS, LOCK
from .method import Clock, Effort, Runner, compare, cpu_with, interleave, pinned, ratio
from .pair import pairs_of, pairs_on
from .report import Answer, Table, count, progress, times

BARE = "bare "


def ask(effort: Effort) -> Answer:
    """Both worlds, pinned with one server."""
    answer = Answer()
    with RedisServer() as server, pinned(server.pid):
        cpu = cpu_with(server.pid)
        _report(answer, "blocking", _blocking(server.port, effort, cpu))
        _report(answer, "asyncio", _asyncio(server.port, effort, cpu))
    return answer


def _blocking(port: int, effort: Effort, cpu: Clock) -> dict[str, Runner]:
    progress("primitives: blocking")
    with interlock.connect(f"redis://127.0.0.1:{port}") as client:
        runners = []
        for kind, make in KINDS.items():
            lines = bare_kinds.LINES[kind](f"bare:{kind}")
            runners.append(Runner(BARE + kind, pairs_of(bare_kinds.BareTurn(port, lines))))
            runners.append(Runner(kind, pairs_of(make(client, f"ours:{kind}"))))
        return interleave(runners, effort.of(20, 8), cpu)


def _asyncio(port: int, effort: Effort, cpu: Clock) -> dict[str, Runner]:
    progress("primitives: asyncio, one task")
    with asyncio.Runner() as loop:
        client = aio.connect(f"redis://127.0.0.1:{port}")
        try:
            runners = _runners(loop, loop.run(_turns(port)), client)
            return interleave(runners, effort.of(20, 8), cpu)
        finally:
            loop.run(client.close())


async def _turns(port: int) -> dict[str, bare_aio.BareTurn]:
    wire = await bare_aio.open_wire(port, SCRIPTS)
    return {
        kind: await bare_aio.BareTurn(wire, lines(f"abare:{kind}")).rehearse()
        for kind, lines in bare_kinds.LINES.items()
    }


def _runners(
    loop: asyncio.Runner, turns: dict[str, bare_aio.BareTurn], client: aio.Client
) -> Sequence[Runner]:
    bare = [Runner(BARE + kind, pairs_on(loop, turn)) for kind, turn in turns.items()]
    ours = [
        Runner(kind, pairs_on(loop, make(client, f"aours:{kind}"))) for kind, make in KINDS.items()
    ]
    return [*bare, *ours]


def _report(answer: Answer, world: str, runners: dict[str, Runner]) -> None:
    table = Table(
        f"primitives on Redis, {world}: nobody else wants it (one core)",
        ("", "pairs/s", "of its bare scripts", "quartiles", "by CPU", "CPU µs", "x lock()"),
    )
    for kind in KINDS:
        figures = compare(runners[kind], runners[BARE + kind])
        figures["of_lock"] = ratio(runners[kind].rates, runners[LOCK].rates)
        low, high = figures["quartiles"]
        table.add(
            kind,
            count(figures["pairs_per_second"]),
            times(figures["of_limit"]),
            f"{low:.2f}-{high:.2f}",
            times(figures["of_limit_by_cpu"]),
            count(figures["cpu_us"]),
            times(figures["of_lock"]),
        )
        answer.figures[f"primitives.{world}.{kind}"] = figures
    answer.tables.append(table)
