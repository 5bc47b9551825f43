"""A server that restarts, stops or throws its clients out, in both worlds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from interlock import InterlockError, LockLost, OutcomeUnknown, StoreUnavailable
from interlock.backends.redis.transport.connection import FRESH
from interlock.recipes.lock import POLL_CAP
from tests.support.servers import RedisServer

from ...support.eventually import eventually
from ...support.worlds import World
from .watching import raw

pytestmark = pytest.mark.server

QUEUE = "interlock:queue:{k}"


@pytest.fixture
def peek(own_redis: RedisServer) -> Iterator[Any]:
    """A plain client of the server that this test may hurt."""
    with raw(own_redis.port) as client:
        yield client


def begin_waiting(world: World, peek: Any, lock: Any) -> Any:
    """Start an acquire and see it stand in the queue."""
    waiting = world.start(lock.acquire)
    eventually(lambda: peek.zcard(QUEUE) == 1)
    return waiting


def test_restart_that_lost_the_data_is_reported_to_the_holder(
    world: World, own_redis: RedisServer, kind: str
) -> None:
    client = world.connect(own_redis.url)
    block = world.hold_block(getattr(client, kind)("k", lease=0.6))
    hold = block.entered.result(5)
    own_redis.kill()
    own_redis.start()

    eventually(lambda: hold.lost, within=3)
    block.leave()
    with pytest.raises(LockLost):
        block.outcome.result(5)


def test_restart_that_kept_the_data_is_survived_by_the_holder(world: World) -> None:
    with RedisServer("--appendonly", "yes", "--appendfsync", "always") as server:
        lock = world.connect(server.url).lock("k", lease=2.0)
        hold = world.do(lock.acquire)
        server.kill()
        server.start()

        first = hold._lease.until
        eventually(lambda: hold._lease.until > first)
        assert not hold.lost
        world.do(hold.release)
        with raw(server.port) as peek:
            assert not peek.exists("k")


def test_waiter_outlives_a_restart(world: World, own_redis: RedisServer, peek: Any) -> None:
    hold = world.do(world.connect(own_redis.url).lock("k", lease=30).acquire)
    waiting = begin_waiting(world, peek, world.connect(own_redis.url).lock("k"))
    own_redis.kill()
    own_redis.start()
    up = time.monotonic()

    got = waiting.result(10)  # the data went with the server, so the lock is free
    assert time.monotonic() - up < POLL_CAP + 1.5
    assert got.token > hold.token
    world.do(got.release)


def test_waiter_outlives_an_outage(world: World, own_redis: RedisServer, peek: Any) -> None:
    world.do(world.connect(own_redis.url).lock("k", lease=30).acquire)
    waiting = begin_waiting(world, peek, world.connect(own_redis.url).lock("k"))
    own_redis.kill()
    time.sleep(0.6)
    assert not waiting.done()
    own_redis.start()
    up = time.monotonic()

    world.do(waiting.result(10).release)
    assert time.monotonic() - up < POLL_CAP + 1.5


def test_stopped_server_is_an_error_in_bounded_time(world: World) -> None:
    """Also where a new connection would have to wait for an answer to AUTH."""
    with RedisServer("--requirepass", "pw") as server:
        client = world.connect(f"redis://:pw@127.0.0.1:{server.port}")
        world.do(world.do(client.lock("known").acquire).release)
        server.pause()
        began = time.monotonic()
        with pytest.raises((StoreUnavailable, OutcomeUnknown)):
            world.do(lambda: client.lock("k").acquire(timeout=0.5))
        assert time.monotonic() - began < 3.0
        server.resume()


def test_server_that_stops_under_a_waiter_is_an_error_in_bounded_time(world: World) -> None:
    with RedisServer("--requirepass", "pw") as server:
        url = f"redis://:pw@127.0.0.1:{server.port}"
        world.do(world.connect(url).lock("k").acquire)
        began = time.monotonic()
        waiting = world.start(lambda: world.connect(url).lock("k").acquire(timeout=0.5))
        with raw(server.port, password="pw") as peek:
            eventually(lambda: peek.zcard(QUEUE) == 1)
        server.pause()
        with pytest.raises((StoreUnavailable, OutcomeUnknown)):
            waiting.result(10)
        assert time.monotonic() - began < 3.5
        server.resume()


EVERY = ("normal", "pubsub")


@pytest.mark.parametrize(
    ("protocol", "types"), [(2, EVERY), (3, EVERY), (3, ("normal",)), (3, ("pubsub",))]
)
def test_killed_connections_cost_neither_holder_nor_waiter_the_lock(
    world: World, own_redis: RedisServer, peek: Any, types: tuple[str, ...], protocol: int
) -> None:
    url = f"{own_redis.url}?protocol={protocol}"
    hold = world.do(world.connect(url).lock("k", lease=0.6).acquire)
    waiting = begin_waiting(world, peek, world.connect(url).lock("k"))
    for each in types:
        peek.execute_command("CLIENT", "KILL", "TYPE", each, "SKIPME", "yes")
    first = hold._lease.until
    eventually(lambda: hold._lease.until > first)
    assert not waiting.done()
    released = time.monotonic()
    world.do(hold.release)

    world.do(waiting.result(10).release)
    assert time.monotonic() - released < POLL_CAP + 0.5
    assert not hold.lost


def test_killing_connections_again_and_again_is_survived(
    world: World, own_redis: RedisServer, peek: Any
) -> None:
    client = world.connect(own_redis.url)
    for _ in range(30):
        hold = world.do(client.lock("k").acquire)
        for each in ("normal", "pubsub"):
            peek.execute_command("CLIENT", "KILL", "TYPE", each, "SKIPME", "yes")
        world.do(hold.release)
        assert not peek.exists("k")


def test_try_after_a_restart_is_not_held_up_by_old_connections(
    world: World, own_redis: RedisServer
) -> None:
    client = world.connect(own_redis.url)
    # MultiLock connections lie idle afterwards.
    holds = [each.result(5) for each in [world.start(client.lock(n).acquire) for n in "abcdef"]]
    for hold in holds:
        world.do(hold.release)
    own_redis.kill()
    own_redis.start()
    time.sleep(FRESH)

    hold = world.do(lambda: client.lock("k").acquire(blocking=False))
    assert hold is not None
    world.do(hold.release)


@pytest.mark.parametrize("name", ["k", "other"], ids=["busy before", "never busy"])
@pytest.mark.parametrize("restarted", [False, True], ids=["gone", "restarted"])
def test_connections_that_a_dead_server_has_ended_are_closed_at_the_next_call(
    world: World, own_redis: RedisServer, restarted: bool, name: str
) -> None:
    """A name that was busy before is listened to before it is asked for."""
    holder, client = world.connect(own_redis.url), world.connect(own_redis.url)
    hold = world.do(holder.lock("k").acquire)
    with raw(own_redis.port) as peek:
        waiting = begin_waiting(world, peek, client.lock("k"))
    world.do(hold.release)
    world.do(waiting.result(10).release)
    world.close_client(holder)

    own_redis.kill()
    if restarted:
        own_redis.start()
    time.sleep(FRESH)
    with suppress(InterlockError):
        world.do(lambda: client.lock(name).acquire(timeout=1))
    assert eventually(lambda: ended_connections(own_redis.port) == 0)


def ended_connections(port: int) -> int:
    """How many connections a server has ended at a port, and this side has not: CLOSE-WAIT."""
    facts = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    places = [remote for _, _, remote, state, *_ in facts if int(state, 16) == 8]
    return sum(int(place.partition(":")[2], 16) == port for place in places)
