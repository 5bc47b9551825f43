"""Those who lock over five servers: bare programs, ours, and others in Python, Java and Go.

Each is made once and answers a function that does so many pairs.  All take a lease of 30 s; ours
have their restart guard, as they have by default.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import redis

import interlock
from interlock import aio
from tests.support.redlocks import RedlockServers

from . import programs
from .bare import LEASE
from .bare_redlock import BareProtocols, BareSockets

#: Pairs of a slice of ours beside a node that hangs.
SLICE = 50

#: Seconds for which a peer waits for one node, where that can be said.
PATIENCE = 0.1

#: Seconds after which tasks that wait for a node that hangs are given up.
LONGEST = 5.0

THREADS, ASYNCIO, JAVA, GO = "threads", "asyncio", "Java", "Go"
BARE, BARE_ASYNC = "bare sockets", "bare protocols"
MUTEX, LOCK, MAJORITY = "interlock mutex()", "interlock lock()", "interlock majority_of()"
REDISSON, REDSYNC = "RedissonRedLock", "redsync"

Pairs = Callable[[int], None]


@dataclass
class Ground:
    """Where contestants are made, and what ends with them."""

    servers: RedlockServers
    loop: asyncio.Runner
    folder: str
    stack: ExitStack

    @property
    def ports(self) -> list[int]:
        return [each.port for each in self.servers]

    @property
    def url(self) -> str:
        return self.servers.url("")


@dataclass(frozen=True)
class Contestant:
    """One that takes part, if it is installed or built."""

    name: str
    world: str
    make: Callable[[Ground], Pairs]
    #: How many pairs make a slice beside a node that hangs; none where it would wait for ever.
    beside: int = 2

    @property
    def key(self) -> str:
        """What tells it from its twin in the other world."""
        return f"{self.world}: {self.name}"


def _name(number: int) -> str:
    return f"name{number % 10}"


def _looped(pair: Callable[[str], object]) -> Pairs:
    def pairs(n: int) -> None:
        for number in range(n):
            pair(_name(number))

    return pairs


def _awaited(ground: Ground, make: Callable[[], Awaitable[Callable[[str], Any]]]) -> Pairs:
    """The same by one task; what is made lives on the loop that runs it."""

    async def making() -> Callable[[str], Any]:
        return await make()

    pair = ground.loop.run(making())

    async def several(n: int) -> None:
        async with asyncio.timeout(LONGEST):
            for number in range(n):
                await pair(_name(number))

    return lambda n: ground.loop.run(several(n))


# --- the limits ---------------------------------------------------------------------------------


def _bare(ground: Ground) -> Pairs:
    bare = BareSockets(ground.ports)
    ground.stack.callback(bare.close)
    return _looped(bare.pair)


def _bare_async(ground: Ground) -> Pairs:
    async def make() -> Callable[[str], Any]:
        bare = await BareProtocols().open(ground.ports)
        ground.stack.callback(bare.close)
        return bare.pair

    return _awaited(ground, make)


# --- ours ---------------------------------------------------------------------------------------


def _ours(kind: str) -> Callable[[Ground], Pairs]:
    def make(ground: Ground) -> Pairs:
        factory = getattr(ground.stack.enter_context(interlock.connect(ground.url)), kind)

        def pair(name: str) -> None:
            with factory(name):
                pass

        return _looped(pair)

    return make


def _majority(ground: Ground) -> Pairs:
    clients = [ground.stack.enter_context(interlock.connect(each.url)) for each in ground.servers]

    def pair(name: str) -> None:
        with interlock.majority_of(*(client.mutex(name) for client in clients)):
            pass

    return _looped(pair)


def _ours_async(kind: str) -> Callable[[Ground], Pairs]:
    def make(ground: Ground) -> Pairs:
        async def connect() -> Callable[[str], Any]:
            client = aio.connect(ground.url)
            ground.stack.callback(_close, ground, client)
            factory = getattr(client, kind)

            async def pair(name: str) -> None:
                async with factory(name):
                    pass

            return pair

        return _awaited(ground, connect)

    return make


def _close(ground: Ground, client: aio.Client) -> None:
    ground.loop.run(client.close())


def _majority_async(ground: Ground) -> Pairs:
    async def connect() -> Callable[[str], Any]:
        clients = [aio.connect(each.url) for each in ground.servers]
        for client in clients:
            ground.stack.callback(_close, ground, client)

        async def pair(name: str) -> None:
            async with aio.majority_of(*(client.mutex(name) for client in clients)):
                pass

        return pair

    return _awaited(ground, connect)


# --- others in Python ---------------------------------------------------------------------------


def _pottery(ground: Ground) -> Pairs:
    pottery: Any = importlib.import_module("pottery")
    masters = {redis.Redis(port=port, socket_timeout=PATIENCE) for port in ground.ports}

    def pair(name: str) -> None:
        with pottery.Redlock(key=name, masters=masters, auto_release_time=30):
            pass

    return _looped(pair)


def _addresses(ground: Ground) -> list[str]:
    return [f"redis://127.0.0.1:{port}/0" for port in ground.ports]


def _redlock_ng(ground: Ground) -> Pairs:
    manager = importlib.import_module("redlock").Redlock(_addresses(ground))
    return _looped(lambda name: manager.release(manager.acquire(name, int(LEASE))))


def _redlock_ng_async(ground: Ground) -> Pairs:
    async def make() -> Callable[[str], Any]:
        manager = importlib.import_module("redlock").AsyncRedlock(_addresses(ground))

        async def pair(name: str) -> None:
            await manager.release(await manager.acquire(name, int(LEASE)))

        return pair

    return _awaited(ground, make)


def _aioredlock(**terms: Any) -> Callable[[Ground], Pairs]:
    """With a lease that it leaves to end, or, without one, with a task that renews it."""

    def make(ground: Ground) -> Pairs:
        async def making() -> Callable[[str], Any]:
            module: Any = importlib.import_module("aioredlock")
            places = [("127.0.0.1", port) for port in ground.ports]
            manager = module.Aioredlock(places, internal_lock_timeout=30)

            async def pair(name: str) -> None:
                await manager.unlock(await manager.lock(name, **terms))

            return pair

        return _awaited(ground, making)

    return make


# --- Java and Go --------------------------------------------------------------------------------


def _redisson(ground: Ground) -> Pairs:
    programs.compile_redisson(ground.folder)
    places = [f"redis://127.0.0.1:{port}" for port in ground.ports]
    program = ground.stack.enter_context(programs.redisson(ground.folder, *places))
    return programs.Looping(program, "redlock", "name")


def _redsync(ground: Ground) -> Pairs:
    programs.compile_redsync(ground.folder)
    places = [f"127.0.0.1:{port}" for port in ground.ports]
    program = ground.stack.enter_context(programs.redsync(ground.folder, *places))
    return programs.Looping(program, "mutex", "name")


ALL = (
    Contestant(BARE, THREADS, _bare, beside=0),
    Contestant(MUTEX, THREADS, _ours("mutex"), beside=SLICE),
    Contestant(LOCK, THREADS, _ours("lock"), beside=SLICE),
    Contestant(MAJORITY, THREADS, _majority, beside=SLICE),
    Contestant("pottery", THREADS, _pottery),
    Contestant("redlock-ng", THREADS, _redlock_ng),
    Contestant(BARE_ASYNC, ASYNCIO, _bare_async, beside=0),
    Contestant(MUTEX, ASYNCIO, _ours_async("mutex"), beside=SLICE),
    Contestant(LOCK, ASYNCIO, _ours_async("lock"), beside=SLICE),
    Contestant(MAJORITY, ASYNCIO, _majority_async, beside=SLICE),
    Contestant("redlock-ng", ASYNCIO, _redlock_ng_async),
    Contestant("aioredlock", ASYNCIO, _aioredlock(lock_timeout=30)),
    Contestant("aioredlock, renewed", ASYNCIO, _aioredlock()),
    Contestant(REDISSON, JAVA, _redisson, beside=1),
    Contestant(REDSYNC, GO, _redsync, beside=1),
)
