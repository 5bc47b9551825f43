"""Those who lock over five servers: bare programs, ours, and others in Python, Java and Go.

Each is made once and answers a function that does so many pairs.  All take a lease of 30 s; ours
have their restart guard, as they have by default.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import redis

import interlock
from interlock import aio
from tests.support.redlocks import RedlockServers

from . import programs
from .bare import LEASE
from .bare_redlock import BareProtocols, BareSockets
from .contest import ASYNCIO, GO, JAVA, THREADS, Contestant, Ground, Pairs, awaited, looped

#: Pairs of a slice of ours beside a node that hangs.
SLICE = 50

#: Seconds for which a peer waits for one node, where that can be said.
PATIENCE = 0.1

BARE, BARE_ASYNC = "bare sockets", "bare protocols"
MUTEX, LOCK, MAJORITY = "interlock mutex()", "interlock lock()", "interlock majority_of()"
REDISSON, REDSYNC = "RedissonRedLock", "redsync"

NAMES = [f"name{number}" for number in range(10)]


@dataclass
class VotingGround(Ground):
    """Five servers that vote."""

    servers: RedlockServers

    @property
    def url(self) -> str:
        return self.servers.url("")

    def recover(self) -> None:
        self.servers.flush()
        self.servers.let_vote()


# --- the limits ---------------------------------------------------------------------------------


def _bare(ground: VotingGround) -> Pairs:
    bare = BareSockets(ground.ports)
    ground.stack.callback(bare.close)
    return looped(bare.pair, NAMES)


def _bare_async(ground: VotingGround) -> Pairs:
    async def make() -> Callable[[str], Any]:
        bare = await BareProtocols().open(ground.ports)
        ground.stack.callback(bare.close)
        return bare.pair

    return awaited(ground, make, NAMES)


# --- ours ---------------------------------------------------------------------------------------


def _ours(kind: str) -> Callable[[VotingGround], Pairs]:
    def make(ground: VotingGround) -> Pairs:
        factory = getattr(ground.stack.enter_context(interlock.connect(ground.url)), kind)

        def pair(name: str) -> None:
            with factory(name):
                pass

        return looped(pair, NAMES)

    return make


def _majority(ground: VotingGround) -> Pairs:
    clients = [ground.stack.enter_context(interlock.connect(each.url)) for each in ground.servers]

    def pair(name: str) -> None:
        with interlock.majority_of(*(client.mutex(name) for client in clients)):
            pass

    return looped(pair, NAMES)


def _ours_async(kind: str) -> Callable[[VotingGround], Pairs]:
    def make(ground: VotingGround) -> Pairs:
        async def connect() -> Callable[[str], Any]:
            client = aio.connect(ground.url)
            ground.stack.callback(ground.close, client)
            factory = getattr(client, kind)

            async def pair(name: str) -> None:
                async with factory(name):
                    pass

            return pair

        return awaited(ground, connect, NAMES)

    return make


def _majority_async(ground: VotingGround) -> Pairs:
    async def connect() -> Callable[[str], Any]:
        clients = [aio.connect(each.url) for each in ground.servers]
        for client in clients:
            ground.stack.callback(ground.close, client)

        async def pair(name: str) -> None:
            async with aio.majority_of(*(client.mutex(name) for client in clients)):
                pass

        return pair

    return awaited(ground, connect, NAMES)


# --- others in Python ---------------------------------------------------------------------------


def _pottery(ground: VotingGround) -> Pairs:
    pottery: Any = importlib.import_module("pottery")
    masters = {redis.Redis(port=port, socket_timeout=PATIENCE) for port in ground.ports}

    def pair(name: str) -> None:
        with pottery.Redlock(key=name, masters=masters, auto_release_time=30):
            pass

    return looped(pair, NAMES)


def _addresses(ground: VotingGround) -> list[str]:
    return [f"redis://127.0.0.1:{port}/0" for port in ground.ports]


def _redlock_ng(ground: VotingGround) -> Pairs:
    manager = importlib.import_module("redlock").Redlock(_addresses(ground))
    return looped(lambda name: manager.release(manager.acquire(name, int(LEASE))), NAMES)


def _redlock_ng_async(ground: VotingGround) -> Pairs:
    async def make() -> Callable[[str], Any]:
        manager = importlib.import_module("redlock").AsyncRedlock(_addresses(ground))

        async def pair(name: str) -> None:
            await manager.release(await manager.acquire(name, int(LEASE)))

        return pair

    return awaited(ground, make, NAMES)


def _aioredlock(**terms: Any) -> Callable[[VotingGround], Pairs]:
    """With a lease that it leaves to end, or, without one, with a task that renews it."""

    def make(ground: VotingGround) -> Pairs:
        async def making() -> Callable[[str], Any]:
            module: Any = importlib.import_module("aioredlock")
            places = [("127.0.0.1", port) for port in ground.ports]
            manager = module.Aioredlock(places, internal_lock_timeout=30)

            async def pair(name: str) -> None:
                await manager.unlock(await manager.lock(name, **terms))

            return pair

        return awaited(ground, making, NAMES)

    return make


# --- Java and Go --------------------------------------------------------------------------------


def _redisson(ground: VotingGround) -> Pairs:
    programs.compile_redisson(ground.folder)
    places = [f"redis://127.0.0.1:{port}" for port in ground.ports]
    program = ground.stack.enter_context(programs.redisson(ground.folder, *places))
    return programs.Looping(program, "redlock", "name")


def _redsync(ground: VotingGround) -> Pairs:
    programs.compile_redsync(ground.folder)
    places = [f"127.0.0.1:{port}" for port in ground.ports]
    program = ground.stack.enter_context(programs.redsync(ground.folder, *places))
    return programs.Looping(program, "mutex", "name")


ALL: tuple[Contestant[VotingGround], ...] = (
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
