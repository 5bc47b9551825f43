"""How many replicas confirm where the user has not said: what the server shows counts, and what
its Sentinels see.  An old primary shows none, and its grants count for nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from interlock import StoreUnavailable
from interlock.recipes.lock import POLL_CAP
from tests.support.eventually import eventually
from tests.support.sentinels import SentinelFleet, awaited
from tests.support.servers import RedisServer

from ...support.worlds import World
from .test_replicas import paused
from .test_sentinel_failover import HOW, LEASE, SLACK

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def unaware() -> Iterator[SentinelFleet]:
    """Sentinels that hear only every ten seconds whom the servers follow."""
    with SentinelFleet(hurry=False, down_after=20_000) as fleet:
        yield fleet


@contextmanager
def replaced(fleet: SentinelFleet) -> Iterator[RedisServer]:
    """An old primary, which the Sentinels still name: its replicas have left it for another."""
    old, new, other = fleet.servers
    with fleet.ask(old) as client:
        client.flushall()
    try:
        _follow(fleet, new, "NO", "ONE")
        _follow(fleet, other, "127.0.0.1", new.port)
        assert eventually(lambda: fleet.role(old)[2] == [])
        yield old
    finally:
        for each in (new, other):
            _follow(fleet, each, "127.0.0.1", old.port)
        assert eventually(lambda: fleet.settled(old), 20)


def _follow(fleet: SentinelFleet, server: RedisServer, *primary: Any) -> None:
    with fleet.ask(server) as client:
        client.execute_command("REPLICAOF", *primary)


def test_a_client_that_connects_to_an_old_primary_is_granted_nothing(
    world: World, unaware: SentinelFleet
) -> None:
    with replaced(unaware) as old:
        client = world.connect(unaware.url)
        with pytest.raises(StoreUnavailable) as refused:
            world.do(lambda: client.lock("k").acquire(timeout=0))
        with unaware.ask(old) as peek:
            assert not peek.exists("k")
    assert "0 of 1 replicas" in str(refused.value)
    assert f"127.0.0.1:{old.port}" in str(refused.value)
    assert "say replicas=0" in str(refused.value)


def test_a_waiter_at_an_old_primary_goes_on_and_is_granted_what_replicas_confirm(
    world: World, unaware: SentinelFleet
) -> None:
    with replaced(unaware) as old:
        waiting = world.start(lambda: world.connect(unaware.url).lock("k").acquire(timeout=20))
        with unaware.ask(old) as peek:
            assert eventually(lambda: peek.exists("k"))  # for as long as replicas may confirm it
    world.do(waiting.result(20).release)


def test_none_are_waited_for_if_that_is_said(world: World, unaware: SentinelFleet) -> None:
    with replaced(unaware):
        client = world.connect(unaware.url, replicas=0)
        world.do(world.do(client.lock("k").try_acquire).release)


def test_all_replicas_are_those_that_the_sentinels_see(
    world: World, unaware: SentinelFleet
) -> None:
    client = world.connect(unaware.url, replicas="all")
    world.do(world.do(client.lock("k").acquire).release)
    with paused(unaware.servers[2]):
        with pytest.raises(StoreUnavailable, match="1 of 2 replicas"):
            world.do(lambda: client.lock("k").acquire(timeout=0))
        waiting = world.start(lambda: client.lock("k").acquire(timeout=20))
    world.do(waiting.result(20).release)


# --- a primary with one replica ------------------------------------------------------------------


@pytest.fixture(scope="module")
def two_servers() -> Iterator[SentinelFleet]:
    with SentinelFleet(replicas=1, down_after=1000) as fleet:
        yield fleet


@pytest.fixture
def pair(two_servers: SentinelFleet) -> Iterator[SentinelFleet]:
    """A primary with one replica; whichever of them a test ends is started again."""
    yield two_servers
    for each in two_servers.servers:
        each.resume()
        if not two_servers.role(each):
            each.start()
    awaited(lambda: two_servers.settled(two_servers.primary()), "the two to find each other")


def test_a_replica_that_the_sentinels_see_down_is_waited_for_no_longer(
    world: World, pair: SentinelFleet
) -> None:
    clients = [world.connect(pair.url), world.connect(pair.url)]
    world.do(world.do(clients[0].lock("a").acquire).release)  # it is connected before
    locks = [client.lock(name) for client, name in zip(clients, "ab", strict=True)]
    (replica,) = pair.replicas()
    replica.kill()

    for refused in [world.start(partial(lock.acquire, timeout=0)) for lock in locks]:
        with pytest.raises(StoreUnavailable, match="0 of 1 replicas"):
            refused.result(5)
    for lock in locks:
        world.do(world.do(partial(lock.acquire, timeout=20)).release)


@pytest.mark.parametrize("how", HOW)
def test_what_is_left_of_two_servers_grants(world: World, pair: SentinelFleet, how: str) -> None:
    early = world.connect(pair.url)
    before = world.do(early.lock("k", lease=LEASE).acquire)
    old = pair.primary()
    HOW[how](old)
    pair.promoted(old)
    promoted = time.monotonic()

    world.do(before.release)
    for client in (early, world.connect(pair.url)):
        hold = world.do(partial(client.lock("k").acquire, timeout=20))
        assert hold.token > before.token
        world.do(hold.release)
    assert time.monotonic() - promoted < POLL_CAP + SLACK
