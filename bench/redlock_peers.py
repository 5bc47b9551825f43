"""A lock over five servers, beside others that do the same and beside bare sockets.

All take turns in short slices, healthy and then beside a node that was stopped (SIGSTOP); what
counts is the median of the medians of the slices.  Peers that are not installed do not take part.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import socket
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from statistics import median
from typing import Any

import redis

import interlock
from interlock import aio
from tests.support.redlocks import RedlockServers

from .bare import FREE_STRING, pack
from .method import Effort
from .report import Answer, Table, count, progress, times

#: Pairs in a slice; beside a node that hangs, of those who wait for it.
SLICE, SLOW = 50, 2

#: Milliseconds; and seconds for which a peer waits for one node.
LEASE_MS, PATIENCE = 30_000, 0.1

#: Seconds after which a slice of tasks is given up: some wait for a node that hangs for ever.
LONGEST = 5.0

Pair = Callable[[str], Any]
Making = Callable[[RedlockServers], Pair]


class BareSockets:
    """The limit: sends to all nodes, then reads what all have answered."""

    def __init__(self, servers: RedlockServers) -> None:
        self._sockets = [socket.create_connection(("127.0.0.1", each.port)) for each in servers]
        for each in self._sockets:
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __call__(self, name: str) -> None:
        owner = os.urandom(8).hex()
        self._ask(pack("SET", name, owner, "NX", "PX", str(LEASE_MS)))
        self._ask(pack("EVAL", FREE_STRING, "1", name, owner))

    def _ask(self, message: bytes) -> None:
        for each in self._sockets:
            each.sendall(message)
        for each in self._sockets:
            each.recv(4096)


def _ours(kind: str) -> Making:
    def make(servers: RedlockServers) -> Pair:
        client = interlock.connect(servers.url())

        def pair(name: str) -> None:
            with getattr(client, kind)(name):
                pass

        return pair

    return make


def _majority(servers: RedlockServers) -> Pair:
    clients = [interlock.connect(f"redis://127.0.0.1:{each.port}") for each in servers]

    def pair(name: str) -> None:
        with interlock.majority_of(*(client.mutex(name) for client in clients)):
            pass

    return pair


def _pottery(servers: RedlockServers) -> Pair:
    pottery = importlib.import_module("pottery")
    limits = {"socket_timeout": PATIENCE}
    masters = {redis.Redis(port=each.port, **limits) for each in servers}  # type: ignore[arg-type]

    def pair(name: str) -> None:
        with pottery.Redlock(key=name, masters=masters, auto_release_time=30):
            pass

    return pair


def _redlock_ng(servers: RedlockServers) -> Pair:
    module = importlib.import_module("redlock")
    manager = module.Redlock([f"redis://127.0.0.1:{each.port}/0" for each in servers])

    def pair(name: str) -> None:
        manager.release(manager.acquire(name, LEASE_MS))

    return pair


def _ours_async(kind: str) -> Making:
    def make(servers: RedlockServers) -> Pair:
        client = aio.connect(servers.url())

        async def pair(name: str) -> None:
            async with getattr(client, kind)(name):
                pass

        return pair

    return make


def _majority_async(servers: RedlockServers) -> Pair:
    clients = [aio.connect(f"redis://127.0.0.1:{each.port}") for each in servers]

    async def pair(name: str) -> None:
        async with aio.majority_of(*(client.mutex(name) for client in clients)):
            pass

    return pair


def _redlock_ng_async(servers: RedlockServers) -> Pair:
    module = importlib.import_module("redlock")
    manager = module.AsyncRedlock([f"redis://127.0.0.1:{each.port}/0" for each in servers])

    async def pair(name: str) -> None:
        await manager.release(await manager.acquire(name, LEASE_MS))

    return pair


def _aioredlock(servers: RedlockServers) -> Pair:
    module = importlib.import_module("aioredlock")
    manager = module.Aioredlock([("127.0.0.1", each.port) for each in servers])

    async def pair(name: str) -> None:
        await manager.unlock(await manager.lock(name, lock_timeout=30))

    return pair


BLOCKING: dict[str, Making] = {
    "bare sockets": BareSockets,
    "Interlock mutex()": _ours("mutex"),
    "Interlock lock()": _ours("lock"),
    "Interlock majority_of()": _majority,
    "pottery": _pottery,
    "redlock-ng": _redlock_ng,
}
ASYNCIO: dict[str, Making] = {
    "Interlock mutex()": _ours_async("mutex"),
    "Interlock lock()": _ours_async("lock"),
    "Interlock majority_of()": _majority_async,
    "redlock-ng": _redlock_ng_async,
    "aioredlock": _aioredlock,
}


def ask(effort: Effort) -> Answer:
    """Both worlds, in one run."""
    answer, rounds = Answer(), effort.of(20, 4)
    with RedlockServers() as servers, asyncio.Runner() as runner:
        for world, making in (("blocking", BLOCKING), ("asyncio", ASYNCIO)):
            progress(f"redlock peers, {world}")
            run = runner.run if world == "asyncio" else None
            entrants = _made(making, servers, run, answer)
            figures = _measured(servers, entrants, rounds)
            answer.figures[f"redlock_peers.{world}"] = _told(world, figures, answer)
    return answer


def _made(
    making: dict[str, Making], servers: RedlockServers, run: Any, answer: Answer
) -> dict[str, Callable[[int], float]]:
    """Those that are there, and work: each answers the median of so many pairs."""
    entrants: dict[str, Callable[[int], float]] = {}
    for name, make in making.items():
        try:
            slice_of = _slice(make, servers, run)
            slice_of(3)  # opens connections
        except Exception as failure:
            answer.notes.append(f"{name} does not take part: {type(failure).__name__}: {failure}")
        else:
            entrants[name] = slice_of
    return entrants


def _slice(make: Making, servers: RedlockServers, run: Any) -> Callable[[int], float]:
    if run is None:
        pair = make(servers)
        return lambda pairs: median(_timed(pair, f"name{each % 10}") for each in range(pairs))

    async def making() -> Pair:
        return make(servers)

    apair: Callable[[str], Awaitable[Any]] = run(making())

    async def several(pairs: int) -> float:
        async with asyncio.timeout(LONGEST):
            return median([await _atimed(apair, f"name{each % 10}") for each in range(pairs)])

    return lambda pairs: float(run(several(pairs)))


def _timed(pair: Pair, name: str) -> float:
    began = time.perf_counter()
    pair(name)
    return time.perf_counter() - began


async def _atimed(pair: Callable[[str], Awaitable[Any]], name: str) -> float:
    began = time.perf_counter()
    await pair(name)
    return time.perf_counter() - began


def _measured(
    servers: RedlockServers, entrants: dict[str, Callable[[int], float]], rounds: int
) -> dict[str, tuple[list[float], list[float]]]:
    """Of each the medians of its slices: healthy, and beside a node that hangs."""
    figures: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in entrants}
    for number in range(rounds):
        for name, slice_of in entrants.items():
            figures[name][0].append(slice_of(SLICE))
        servers[number % 5].pause()
        for name, slice_of in entrants.items():
            if name != "bare sockets":  # it would wait for ever
                with suppress(Exception):  # a peer that gives up has no figure
                    figures[name][1].append(slice_of(SLICE if "Interlock" in name else SLOW))
        servers[number % 5].resume()
        time.sleep(0.3)  # it hears what it has missed
        servers.flush()
    return figures


def _told(
    world: str, figures: dict[str, tuple[list[float], list[float]]], answer: Answer
) -> dict[str, float]:
    columns = ("", "pairs/s", "µs", "x of bare", "µs, one hangs", "ratio of p50")
    table = Table(f"a lock over five servers, {world}", columns)
    told: dict[str, float] = {}
    bare = figures.get("bare sockets", ([], []))[0]
    for name, (healthy, hung) in figures.items():
        took, beside = median(healthy), median(hung) if hung else 0.0
        ratio = median([one / other for one, other in zip(bare, healthy, strict=False)] or [0.0])
        slower = beside / took
        table.add(
            name,
            count(1 / took),
            count(1e6 * took),
            times(ratio),
            count(1e6 * beside),
            times(slower),
        )
        told |= {f"{name}.us": 1e6 * took, f"{name}.of_bare": ratio}
        told |= {f"{name}.us_hung": 1e6 * beside, f"{name}.hung_ratio": slower}
    peers = [
        told[f"{name}.us"] for name in figures if "Interlock" not in name and "bare" not in name
    ]
    if peers:
        told["x_best_peer"] = min(peers) / told["Interlock mutex().us"]
    answer.tables.append(table)
    return told
