"""Readers and writers over five servers of which some hang, are dead, or come back empty."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from random import random
from typing import Any

import pytest

from interlock import AcquireTimeout, StoreMisconfigured
from interlock.backends.redis.keys import hold_key
from interlock.backends.redis.redlock.locks import beside_key
from interlock.backends.redis.redlock.rwlocks import writers_key
from tests.support.redlocks import RedlockServers

from ....support.eventually import eventually
from ....support.worlds import World

pytestmark = pytest.mark.server

#: Takes the lock in a mode, for a second at a time, and tells what happens to it.
PROGRAM = """
import sys, time, interlock
told = lambda event: print(type(event).__name__, flush=True)
il = interlock.connect(sys.argv[1], observer=told)
hold = getattr(il.rwlock("name", lease=1.0), sys.argv[2])().acquire()
time.sleep(60)
"""


#: To start a process takes its time, and it is the same for both worlds.
one_world = pytest.mark.parametrize("world", ["threads"], indirect=True)


@contextmanager
def process(url: str, mode: str, until: str) -> Iterator[subprocess.Popen[str]]:
    """Another process, which has come so far."""
    command = [sys.executable, "-c", PROGRAM, url, mode]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as one:
        assert one.stdout is not None
        while (line := one.stdout.readline().strip()) != until:
            assert line, "it has ended"
        yield one
        one.kill()


def modes(servers: RedlockServers, name: str = "name") -> list[bytes | None]:
    """How each node has the lock."""
    return [client.hget(name, "mode") for client in servers.clients]


def left_behind(servers: RedlockServers, name: str = "name") -> set[bytes]:
    """What the nodes keep of a name, besides its counter and tombstones."""
    keys = {key for client in servers.clients for key in client.keys("*")}
    ours = {key for key in keys if name.encode() in key}
    return {key for key in ours if b"interlock:tomb:" not in key} - {beside_key(name).encode()}


def taken(world: World, side: Any, **how: Any) -> Any:
    """A hold, which is waited for."""
    return world.do(lambda: side.acquire(**{"timeout": 10, **how}))


def refused(world: World, side: Any) -> bool:
    return world.do(side.try_acquire) is None


# --- holding it ----------------------------------------------------------------------------------


def test_readers_share_it_on_all_nodes_and_leave_nothing_behind(
    world: World, redlock_servers: RedlockServers, redlock_url: str
) -> None:
    sides = [world.connect(redlock_url).rwlock("name") for _ in range(3)]

    holds = [taken(world, side.read()) for side in sides]

    assert eventually(lambda: modes(redlock_servers) == [b"read"] * 5)
    assert refused(world, sides[0].write())
    for hold in holds:
        world.do(hold.release)
    assert eventually(lambda: not left_behind(redlock_servers))
    writing = taken(world, sides[1].write())
    assert refused(world, sides[0].read()) and refused(world, sides[2].write())
    assert eventually(lambda: modes(redlock_servers) == [b"write"] * 5)
    world.do(writing.release)
    assert eventually(lambda: not left_behind(redlock_servers))


def test_a_writer_that_gives_up_leaves_nothing_behind(
    world: World, redlock_servers: RedlockServers, redlock_url: str
) -> None:
    reader, writer = (world.connect(redlock_url).rwlock("name") for _ in range(2))
    hold = taken(world, reader.read())
    waiting = world.start(lambda: writer.write().acquire(timeout=0.5))
    assert eventually(lambda: all(each.exists(WRITERS) for each in redlock_servers.clients))
    assert refused(world, world.connect(redlock_url).rwlock("name").read())

    with pytest.raises(AcquireTimeout):
        waiting.result(10)

    assert eventually(lambda: not any(each.exists(WRITERS) for each in redlock_servers.clients))
    world.do(taken(world, world.connect(redlock_url).rwlock("name").read()).release)
    world.do(hold.release)
    assert eventually(lambda: not left_behind(redlock_servers))


WRITERS = writers_key("name")


@pytest.mark.parametrize("mode", ["read", "write"])
def test_tokens_grow_over_modes_clients_and_nodes(
    world: World, own_redlock: RedlockServers, mode: str
) -> None:
    sides = [world.connect(own_redlock.url()).rwlock("name") for _ in range(2)]
    tokens = []
    for number in range(8):
        hung = own_redlock[number % 5]
        hung.pause()
        side = getattr(sides[number % 2], mode if number % 4 < 3 else "write")()
        hold = taken(world, side)
        tokens.append(hold.token)
        world.do(hold.release)
        hung.resume()

    assert tokens == sorted({*tokens})


@pytest.mark.parametrize("hung", [0, 1])
def test_nearly_all_free_locks_cost_one_round_trip_though_a_node_hangs(
    world: World, own_redlock: RedlockServers, hung: int
) -> None:
    client = world.connect(own_redlock.url())
    world.do(taken(world, client.rwlock("first").read()).release)
    for each in own_redlock.servers[:hung]:
        each.pause()
    began = time.monotonic()
    for number in range(60):
        rw = client.rwlock(f"name{number % 7}")
        world.do(taken(world, rw.read() if number % 2 else rw.write()).release)
    took = time.monotonic() - began
    for each in own_redlock.servers[:hung]:
        each.resume()

    stats = [each.info("commandstats") for each in own_redlock.clients]
    calls = [each["cmdstat_evalsha"]["calls"] + each["cmdstat_eval"]["calls"] for each in stats]

    # Two for each lock on each node, a third for one in ten at the most, and six of the keeper.
    assert sorted(calls)[2] <= 2 * 61 + 6 + 6
    assert took < 6  # to wait for the node each time would take 18 s


def test_two_dead_nodes_do_not_matter(world: World, own_redlock: RedlockServers) -> None:
    one, other = (world.connect(own_redlock.url()).rwlock("name", lease=1.0) for _ in range(2))
    own_redlock[1].kill()
    own_redlock[3].kill()

    reading = taken(world, one.read())

    assert refused(world, other.write())
    time.sleep(1.5)
    assert not reading.lost
    world.do(reading.release)
    writing = taken(world, other.write())
    assert refused(world, one.read())
    world.do(writing.downgrade)
    world.do(taken(world, one.read()).release)
    world.do(writing.release)


# --- nodes that come back ------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["read", "write"])
def test_a_renewal_heals_a_node_that_came_back(
    world: World, own_redlock: RedlockServers, mode: str
) -> None:
    hold = taken(
        world, getattr(world.connect(own_redlock.url()).rwlock("name", lease=0.9), mode)()
    )
    own_redlock[2].kill()
    own_redlock[2].start()

    assert eventually(lambda: modes(own_redlock)[2] == mode.encode(), 10)
    world.do(hold.release)
    assert eventually(lambda: not left_behind(own_redlock))


def test_a_writer_that_reads_on_is_healed_as_a_reader_beside_others(
    world: World, own_redlock: RedlockServers
) -> None:
    first, second = (world.connect(own_redlock.url()).rwlock("name", lease=0.9) for _ in range(2))
    own_redlock[4].pause()
    hold = taken(world, first.write())
    world.do(hold.downgrade)
    beside = taken(world, second.read())
    own_redlock[4].resume()
    own_redlock[2].kill()
    own_redlock[2].start()

    fields = {b"mode", hold.owner.encode(), beside.owner.encode()}
    healed = [own_redlock.clients[node] for node in (2, 4)]
    assert eventually(lambda: all({*each.hkeys("name")} == fields for each in healed), 10)
    assert not hold.lost and not beside.lost
    world.do(hold.release)
    world.do(beside.release)
    assert eventually(lambda: not left_behind(own_redlock))


# --- neither mode starves the other --------------------------------------------------------------


def test_a_writer_gets_in_among_readers_that_overlap_for_ever(
    world: World, redlock_servers: RedlockServers, redlock_url: str
) -> None:
    with streaming(world, redlock_url, "read", held=0.2, rest=0.0):
        writer = world.connect(redlock_url).rwlock("name").write()
        began = time.monotonic()
        hold = taken(world, writer)
        took = time.monotonic() - began
        world.do(hold.release)

    assert took < 3
    assert eventually(lambda: not left_behind(redlock_servers))


def test_a_reader_gets_in_among_writers_that_come_again_and_again(
    world: World, redlock_servers: RedlockServers, redlock_url: str
) -> None:
    # One that asks again at once would come before all that wait, each time.
    with streaming(world, redlock_url, "write", held=0.05, rest=0.05):
        for _ in range(3):
            world.do(taken(world, world.connect(redlock_url).rwlock("name").read()).release)

    assert eventually(lambda: not left_behind(redlock_servers))


@contextmanager
def streaming(world: World, url: str, mode: str, held: float, rest: float) -> Iterator[None]:
    """Three clients take the lock again and again, one over another, until the block ends."""
    over: list[bool] = []
    take = _take if world.name == "threads" else _atake
    sides = [getattr(world.connect(url).rwlock("name"), mode)() for _ in range(3)]
    streams = [world.start(partial(take, side, held, rest, over)) for side in sides]
    try:
        yield
    finally:
        over.append(True)
        for stream in streams:
            assert stream.result(30) > 0


def _take(side: Any, held: float, rest: float, over: list[bool]) -> int:
    times = 0
    while not over:
        with side:
            time.sleep(held * (0.5 + random()))
        time.sleep(rest)
        times += 1
    return times


async def _atake(side: Any, held: float, rest: float, over: list[bool]) -> int:
    times = 0
    while not over:
        async with side:
            await asyncio.sleep(held * (0.5 + random()))
        await asyncio.sleep(rest)
        times += 1
    return times


# --- processes that die --------------------------------------------------------------------------


@one_world
def test_a_killed_reader_frees_after_its_lease(world: World, redlock_url: str) -> None:
    beside = taken(world, world.connect(redlock_url).rwlock("name").read())
    writer = world.connect(redlock_url).rwlock("name").write()
    with process(redlock_url, "read", until="Granted") as reader:
        reader.kill()
        reader.wait()
        waiting = world.start(lambda: writer.acquire(timeout=10))
        world.do(beside.release)
        began = time.monotonic()

        hold = waiting.result(10)

        assert time.monotonic() - began < 2.5
        world.do(hold.release)
        assert world.do(lambda: world.client_of(writer).inspect("name")) is None


@one_world
def test_a_writer_that_dies_while_it_waits_keeps_readers_out_for_a_moment(
    world: World, redlock_url: str
) -> None:
    hold = taken(world, world.connect(redlock_url).rwlock("name").read())
    reader = world.connect(redlock_url).rwlock("name").read()
    with process(redlock_url, "write", until="Parked") as writer:
        assert refused(world, reader)
        writer.kill()
        writer.wait()
        began = time.monotonic()

        world.do(taken(world, reader).release)

        assert time.monotonic() - began < 4
        assert not hold.lost


# --- looking, and names --------------------------------------------------------------------------


def test_an_onlooker_sees_readers_and_ends_them(world: World, redlock_url: str) -> None:
    client, onlooker = world.connect(redlock_url), world.connect(redlock_url)
    first = taken(world, client.rwlock("name", lease=10).read())
    second = taken(world, onlooker.rwlock("name", lease=20).read())

    (info,) = world.do(partial(onlooker.locks, "na*"))

    assert (info.kind, {each.mode for each in info.holders}) == ("rwlock", {"read"})
    ends = {each.owner: each.expires_in for each in info.holders}
    assert 0 < ends[first.owner] <= 10 < ends[second.owner] <= 20
    assert info.expires_in == ends[first.owner]
    world.do(partial(onlooker.revoke, "name", reason="maintenance"))
    assert world.do(partial(onlooker.inspect, "name")) is None
    writing = taken(world, client.rwlock("name").write())
    info = world.do(partial(onlooker.inspect, "name"))
    assert [(each.mode, each.token) for each in info.holders] == [("write", writing.token)]


def test_a_vote_without_a_majority_is_no_holder(
    world: World, redlock_servers: RedlockServers, redlock_url: str
) -> None:
    for client in redlock_servers.clients[:2]:
        client.hset("name", mapping={"mode": "read", "another:1": 1})
        client.set(hold_key("name", "another:1"), 1, px=60_000)
    onlooker = world.connect(redlock_url)

    assert world.do(partial(onlooker.inspect, "name")) is None
    assert world.do(onlooker.locks) == []
    world.do(taken(world, onlooker.rwlock("name").write()).release)


def test_a_name_is_one_kind_of_thing(world: World, redlock_url: str) -> None:
    one, other = world.connect(redlock_url), world.connect(redlock_url)
    sides: dict[str, Callable[[Any], Any]] = {
        "lock": lambda client: client.lock("name"),
        "mutex": lambda client: client.mutex("name"),
        "read": lambda client: client.rwlock("name").read(),
        "write": lambda client: client.rwlock("name").write(),
    }
    for mine in sides:
        hold = taken(world, sides[mine](one))
        for yours in sides:
            if {mine, yours} <= {"read", "write"} or mine == yours:
                continue
            with pytest.raises(StoreMisconfigured, match="name"):
                taken(world, sides[yours](other))
        assert not hold.lost
        world.do(hold.release)
