"""A lock in a cluster of three primaries, beside others that know clusters.

The names lie on the first node, so that the others may hang; no node is taken for dead meanwhile.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count, islice
from typing import Any

import redis
from redis import asyncio as redis_asyncio

import interlock
from interlock import aio
from tests.support.clusters import RedisCluster, slot_of

from . import programs
from .contest import (
    ASYNCIO,
    CORES,
    GO,
    JAVA,
    THREADS,
    Contest,
    Contestant,
    Ground,
    Pairs,
    awaited,
    looped,
)
from .method import Effort
from .report import Answer

TITLE = "cluster pair"
MUTEX, LOCK = "interlock mutex()", "interlock lock()"
REDIS_PY, REDISSON, REDSYNC = "redis-py Lock", "Redisson RLock", "redsync"

#: Names that lie on the first of three primaries.
FIRST_SLOTS = 5461
NAMES = list(islice((f"name{n}" for n in count() if slot_of(f"name{n}") < FIRST_SLOTS), 10))

#: Pairs of a slice beside a node that hangs.
SLICE = 50

LIMITS = {THREADS: f"{THREADS}: {LOCK}", ASYNCIO: f"{ASYNCIO}: {LOCK}"}


@dataclass
class SlotGround(Ground):
    """Three primaries."""

    cluster: RedisCluster

    @property
    def places(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self.ports)


def _ours(kind: str) -> Callable[[SlotGround], Pairs]:
    def make(ground: SlotGround) -> Pairs:
        client = ground.stack.enter_context(interlock.connect(ground.cluster.url))
        factory = getattr(client, kind)

        def pair(name: str) -> None:
            with factory(name):
                pass

        return looped(pair, NAMES)

    return make


def _ours_async(kind: str) -> Callable[[SlotGround], Pairs]:
    def make(ground: SlotGround) -> Pairs:
        async def connect() -> Callable[[str], Any]:
            client = aio.connect(ground.cluster.url)
            ground.stack.callback(ground.close, client)
            factory = getattr(client, kind)

            async def pair(name: str) -> None:
                async with factory(name):
                    pass

            return pair

        return awaited(ground, connect, NAMES)

    return make


def _redis_py(ground: SlotGround) -> Pairs:
    client = ground.stack.enter_context(redis.RedisCluster("127.0.0.1", ground.ports[0]))

    def pair(name: str) -> None:
        with client.lock(f"theirs:{{{name}}}", timeout=30):
            pass

    return looped(pair, NAMES)


def _redis_asyncio(ground: SlotGround) -> Pairs:
    async def connect() -> Callable[[str], Any]:
        client = redis_asyncio.RedisCluster("127.0.0.1", ground.ports[0])
        ground.stack.callback(lambda: ground.loop.run(client.aclose()))

        async def pair(name: str) -> None:
            async with client.lock(f"theirs:{{{name}}}", timeout=30):
                pass

        return pair

    return awaited(ground, connect, NAMES)


def _redisson(ground: SlotGround) -> Pairs:
    programs.compile_redisson(ground.folder)
    url = f"redis+cluster://{ground.places}"
    program = ground.stack.enter_context(programs.redisson(ground.folder, url))
    return programs.Looping(program, "lock", NAMES[0])


def _redsync(ground: SlotGround) -> Pairs:
    programs.compile_redsync(ground.folder)
    place = f"cluster:{ground.places}"
    program = ground.stack.enter_context(programs.redsync(ground.folder, place))
    return programs.Looping(program, "mutex", f"theirs:{{{NAMES[0]}}}")


ALL: tuple[Contestant[SlotGround], ...] = (
    Contestant(MUTEX, THREADS, _ours("mutex"), SLICE),
    Contestant(LOCK, THREADS, _ours("lock"), SLICE),
    Contestant(REDIS_PY, THREADS, _redis_py, SLICE),
    Contestant(MUTEX, ASYNCIO, _ours_async("mutex"), SLICE),
    Contestant(LOCK, ASYNCIO, _ours_async("lock"), SLICE),
    Contestant(REDIS_PY, ASYNCIO, _redis_asyncio, SLICE),
    Contestant(REDISSON, JAVA, _redisson, SLICE),
    Contestant(REDSYNC, GO, _redsync, SLICE),
)


def ask(effort: Effort) -> Answer:
    """On all cores and on one, then beside a node that hangs; all in one run."""
    answer = Answer()
    with (
        tempfile.TemporaryDirectory(prefix="interlock-bench-") as folder,
        RedisCluster("--cluster-node-timeout", "60000", replicas=False) as cluster,
        asyncio.Runner() as loop,
        ExitStack() as stack,
    ):
        ground = SlotGround(cluster.nodes, loop, folder, stack, cluster)
        contest = Contest(TITLE, ground, ALL, LIMITS, answer)
        contest.warm_up(effort)
        for label in CORES:
            found = contest.race(label, effort.of(30, 6))
            for world in (THREADS, ASYNCIO):
                contest.compare(label, found, f"{world}: {LOCK}", f"{world}: {REDIS_PY}")
            contest.compare(label, found, f"{THREADS}: {LOCK}", f"{JAVA}: {REDISSON}")
            contest.compare(label, found, f"{THREADS}: {MUTEX}", f"{GO}: {REDSYNC}")
        contest.beside((1, 2), effort.of(4, 2))
    return answer
