"""A thousand tasks in one process: on a thousand locks, and all on one.

Every task takes and frees its lock a few times, so nobody gains by letting others starve.
The server counts how many commands a pair costs and how many connections were opened.
Client and server share one core.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from redis import asyncio as redis_asyncio

from interlock import aio
from tests.support.servers import RedisServer

from .bare_aio import Queued, RawHash, open_wire
from .counting import Counter
from .method import Clock, Effort, Runner, compare, cpu_with, interleave, pinned, ratio
from .peers import SET_FIRST, AsyncGuard
from .report import Answer, Table, count, progress, times

TASKS = 1000
#: Seconds after which a slice of a slow peer ends, wherever it is.
PATIENCE = 3.0
#: Pools that are tried for redis.asyncio; the best one of a run is the peer to beat.  Which it
#: is differs from run to run on many locks; on one lock it is the smallest.
POOLS = {"1,000 locks": (20, 5, 100), "1 lock": (1, 5)}

LIMIT, OURS, DEFAULT = "bare", "aio lock()", "redis.asyncio Lock"
POOLED = "redis.asyncio, pool of "


@dataclass
class Team:
    """A contestant: a lock for each of the tasks."""

    name: str
    guards: Sequence[AsyncGuard]
    per_task: int
    commands: tuple[str, ...] = ("evalsha", "eval", "subscribe", "ping")
    close: Callable[[], Awaitable[Any]] | None = None

    def runner(self, loop: asyncio.Runner) -> Runner:
        size = self.per_task * TASKS
        return Runner(self.name, lambda n: loop.run(rush(self.guards, n)), LIMIT, size)


@dataclass
class Arena:
    """A server, and which of the two cases is run on it."""

    port: int
    cpu: Clock
    case: str
    per_task: int
    quick: bool

    @property
    def names(self) -> list[str]:
        return [f"task:{0 if self.case == '1 lock' else i}" for i in range(TASKS)]


async def rush(guards: Sequence[AsyncGuard], pairs: int) -> int:
    """Let every task do its share at once; how many pairs were done in time."""
    done, over = 0, False

    async def work(guard: AsyncGuard) -> None:
        nonlocal done
        for _ in range(pairs // len(guards)):
            if over:
                return
            async with guard:
                done += 1

    tasks = [asyncio.create_task(work(guard)) for guard in guards]
    _, late = await asyncio.wait(tasks, timeout=PATIENCE)
    over, counted = True, done
    for task in late:
        task.cancel()
    if late:
        await asyncio.wait(late, timeout=5)
    for task in tasks:
        # A peer whose connections break has simply not done its pairs.
        if task.done() and not task.cancelled():
            task.exception()
    return counted


def ask(effort: Effort) -> Answer:
    """Two cases, and in each the limit and ours first, then the limit and the peers."""
    answer = Answer()
    for case, per_task in (("1,000 locks", 5), ("1 lock", 2)):
        progress(f"tasks: {TASKS} on {case}")
        with RedisServer("--maxclients", "5000") as server, pinned(server.pid):
            arena = Arena(server.port, cpu_with(server.pid), case, per_task, effort.quick)
            _case(answer, arena, effort)
    return answer


def _case(answer: Answer, arena: Arena, effort: Effort) -> None:
    table = Table(
        f"{TASKS} tasks on {arena.case} (one core)",
        ("", "pairs/s", "of limit", "quartiles", "by CPU", "commands/pair", "connections", "done"),
    )
    with asyncio.Runner() as loop:
        ours = _race(loop, arena, _ours, effort.of(20, 6))
        theirs = _race(loop, arena, _theirs, effort.of(3, 1))
    limit = ours[LIMIT][0]
    for name, (runner, costs) in {**theirs, **ours}.items():
        own = limit if name in ours else theirs[LIMIT][0]
        figures = compare(runner, own) | costs
        _add(table, name, figures)
        answer.figures[f"tasks.{arena.case}.{name}"] = figures
    # With the default pool most of the tasks fail: only pools that let them wait compete.
    pooled = [runner for name, (runner, _) in theirs.items() if name.startswith(POOLED)]
    best = max(pooled, key=lambda runner: runner.rate)
    answer.figures[f"tasks.{arena.case}.{OURS}"] |= _beside(theirs[OURS][0], best)
    answer.tables.append(table)


def _add(table: Table, name: str, figures: dict[str, Any]) -> None:
    low, high = figures["quartiles"]
    table.add(
        name,
        count(figures["pairs_per_second"]),
        times(figures["of_limit"]) if figures["of_limit"] > 0.01 else "< 0.01",
        f"{low:.2f}-{high:.2f}",
        times(figures["of_limit_by_cpu"]),
        times(figures["commands_a_pair"]),
        figures["connections"],
        f"{figures['done']:.0%}",
    )


def _beside(ours: Runner, peer: Runner) -> dict[str, Any]:
    """How many times as fast as a peer that ran in the same rounds."""
    return {
        "best_peer": peer.name,
        "of_peer": ratio(ours.rates, peer.rates),
        "of_peer_by_cpu": ratio(peer.costs, ours.costs),
    }


def _race(
    loop: asyncio.Runner,
    arena: Arena,
    teams: Callable[[Arena], Awaitable[list[Team]]],
    rounds: int,
) -> dict[str, tuple[Runner, dict[str, Any]]]:
    counter = Counter(arena.port)
    made = loop.run(_await(teams(arena)))
    costs = {team.name: _cost(loop, team, counter) for team in made}
    runners = interleave([team.runner(loop) for team in made], rounds, arena.cpu)
    for team in made:
        if team.close is not None:
            loop.run(_await(team.close()))
    counter.clear()
    counter.close()
    return {name: (runner, costs[name]) for name, runner in runners.items()}


async def _await(thing: Awaitable[Any]) -> Any:
    return await thing


def _cost(loop: asyncio.Runner, team: Team, counter: Counter) -> dict[str, Any]:
    """A slice that is not timed but counted, after one that warms up.

    The share of the pairs that were done in time says whether a slow peer did them at all.
    """
    before, asked = counter.connections(), team.per_task * TASKS
    loop.run(rush(team.guards, TASKS))
    counter.reset()
    done = loop.run(rush(team.guards, asked))
    sent = counter.commands(team.commands)
    opened = max(counter.connections() - before, 1)
    return {
        "commands_a_pair": sent / max(done, 1),
        "connections": opened,
        "done": done / asked,
    }


async def _limit(arena: Arena) -> Team:
    wire = await open_wire(arena.port)
    if arena.case == "1 lock":
        shared = Queued(RawHash(wire, "bare:0"))
        return Team(LIMIT, [shared] * TASKS, arena.per_task)
    return Team(LIMIT, [RawHash(wire, f"bare:{i}") for i in range(TASKS)], arena.per_task)


async def _ours(arena: Arena) -> list[Team]:
    client = aio.connect(f"redis://127.0.0.1:{arena.port}")
    locks = [client.lock(name) for name in arena.names]
    return [await _limit(arena), Team(OURS, locks, arena.per_task, close=client.close)]


async def _theirs(arena: Arena) -> list[Team]:
    port, sizes = arena.port, POOLS[arena.case][: 1 if arena.quick else None]
    pools: dict[str, redis_asyncio.ConnectionPool] = {
        f"{POOLED}{size}": redis_asyncio.BlockingConnectionPool(
            port=port, max_connections=size, timeout=None
        )
        for size in sizes
    }
    if not arena.quick:
        pools[DEFAULT] = redis_asyncio.ConnectionPool(port=port)
    peers = [_peer(name, pool, arena) for name, pool in pools.items()]
    return [*await _ours(arena), *peers]


def _peer(name: str, pool: redis_asyncio.ConnectionPool, arena: Arena) -> Team:
    client = redis_asyncio.Redis(connection_pool=pool)
    locks = [client.lock(each, timeout=30) for each in arena.names]
    return Team(name, locks, arena.per_task, SET_FIRST, close=pool.disconnect)
