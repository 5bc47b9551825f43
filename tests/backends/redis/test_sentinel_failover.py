"""Failovers, in both worlds: who waits goes on waiting, who holds goes on holding or is told."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from interlock import LockLost, StoreUnavailable
from interlock.drive import now
from interlock.recipes.lock import POLL_CAP
from tests.support.sentinels import SERVICE, SentinelFleet
from tests.support.servers import RedisServer

from ...support.eventually import eventually
from ...support.worlds import WORLDS, World

pytestmark = pytest.mark.server

QUEUE = "interlock:queue:{k}"

#: A lease that outlasts a failover on a busy machine, where elections may fail a few times.
LEASE = 60.0

#: What a busy machine may add to a time that is promised.
SLACK = 2.5

HOW: dict[str, Callable[[RedisServer], None]] = {
    "killed": RedisServer.kill,
    "paused": RedisServer.pause,
}


@pytest.fixture
def slow_sentinels() -> Iterator[SentinelFleet]:
    """Sentinels that leave an old primary writable for about ten seconds."""
    with SentinelFleet(hurry=False) as fleet:
        yield fleet


def begin_waiting(world: World, fleet: SentinelFleet, url: Any) -> Any:
    """Start an acquire and see it stand in the queue."""
    waiting = world.start(world.connect(url).lock("k").acquire)
    with fleet.ask(fleet.primary()) as peek:
        eventually(lambda: peek.zcard(QUEUE) == 1)
    return waiting


def renew_now(world: World, client: Any) -> None:
    """Let the keeper renew at once, as it would in a third of the lease."""
    session = client._session

    def hurry() -> None:
        session.schedule.make_all_due(now())
        session.keeper.wake()

    world.do(hurry)


@pytest.mark.parametrize("how", HOW)
def test_a_failover_costs_neither_holder_nor_waiter_the_lock(
    world: World, own_sentinels: SentinelFleet, how: str
) -> None:
    fleet = own_sentinels
    client = world.connect(fleet.url)
    hold = world.do(client.lock("k", lease=LEASE).acquire)
    waiting = begin_waiting(world, fleet, fleet.url)
    old = fleet.primary()
    HOW[how](old)
    new = fleet.promoted(old)

    first = hold._lease.until
    renew_now(world, client)
    eventually(lambda: hold._lease.until > first, within=10)  # by the new primary
    assert not hold.lost
    assert not waiting.done()
    with fleet.ask(new) as peek:
        eventually(lambda: peek.zcard(QUEUE) == 1, within=POLL_CAP + SLACK)
    released = time.monotonic()
    world.do(hold.release)

    got = waiting.result(POLL_CAP + SLACK)
    assert time.monotonic() - released < POLL_CAP + SLACK
    assert got.token > hold.token
    world.do(got.release)


def test_a_holder_whose_lock_did_not_survive_is_told(
    world: World, own_sentinels: SentinelFleet
) -> None:
    fleet = own_sentinels
    client = world.connect(fleet.url)
    block = world.hold_block(client.lock("k", lease=LEASE))
    hold = block.entered.result(5)
    old = fleet.primary()
    old.kill()
    with fleet.ask(fleet.promoted(old)) as peek:
        peek.delete("k")  # as if it had not been replicated

    renew_now(world, client)
    eventually(lambda: hold.lost, within=10)
    block.leave()
    with pytest.raises(LockLost, match="no longer has it for this holder"):
        block.outcome.result(5)


def test_a_client_that_meets_another_primary_asks_at_once_for_what_it_holds(
    world: World, own_sentinels: SentinelFleet
) -> None:
    fleet = own_sentinels
    client = world.connect(fleet.url)
    hold = world.do(client.lock("k", lease=LEASE).acquire)
    old = fleet.primary()
    old.kill()
    with fleet.ask(fleet.promoted(old)) as peek:
        peek.delete("k")  # as if it had not been replicated

    world.do(lambda: client.lock("other").acquire(timeout=LEASE))
    eventually(lambda: hold.lost, within=SLACK)  # long before a third of its lease


def test_a_lock_is_taken_while_the_sentinels_decide(
    world: World, own_sentinels: SentinelFleet
) -> None:
    """Whatever a call meets in the middle of a failover, a waiter goes on asking."""
    fleet = own_sentinels
    client = world.connect(fleet.url)
    world.do(world.do(client.lock("k").acquire).release)
    old = fleet.primary()
    old.kill()
    asking = world.start(lambda: client.lock("k").acquire(timeout=LEASE))
    new = fleet.promoted(old)
    promoted = time.monotonic()

    hold = asking.result(LEASE)
    assert time.monotonic() - promoted < POLL_CAP + SLACK
    with fleet.ask(new) as peek:
        assert peek.exists("k")
    world.do(hold.release)


# --- an old primary that came back ---------------------------------------------------------------


def test_a_sentinel_that_leads_a_failover_is_not_followed_to_the_old_primary(
    own_sentinels: SentinelFleet,
) -> None:
    """It names the old one until all replicas follow the new one, and under a number that counts
    more than those that the other Sentinels know."""
    fleet = own_sentinels
    leader, old = fleet.sentinels[0], fleet.primary()
    url = f"redis+sentinel://127.0.0.1:{leader.port}/{SERVICE}"
    worlds = {name: kind() for name, kind in WORLDS.items()}
    fleet.begin_failover(leader)
    eventually(lambda: fleet.leads(leader))

    asking = {
        name: world.start(partial(world.connect(url).lock(name).acquire, timeout=LEASE))
        for name, world in worlds.items()
    }
    for name, world in worlds.items():
        asking[name].result(LEASE)
        with fleet.ask(fleet.promoted(old)) as peek:
            assert peek.exists(name)
        world.close()


def deposed(fleet: SentinelFleet) -> tuple[RedisServer, RedisServer]:
    """An old primary that came back, and the new one; the old one still takes writes."""
    old = fleet.primary()
    old.pause()
    new = fleet.promoted(old)
    old.resume()
    assert fleet.role(old)[0] == b"master"
    return old, new


def test_an_old_primary_cannot_grant_though_the_sentinels_are_gone(
    world: World, own_sentinels: SentinelFleet
) -> None:
    fleet = own_sentinels
    client = world.connect(fleet.url)
    world.do(world.do(client.lock("before").acquire).release)
    old = fleet.primary()
    old.pause()
    fleet.promoted(old)
    for each in fleet.sentinels:
        each.pause()  # so that they neither name the new primary nor demote the old one
    old.resume()

    with pytest.raises(StoreUnavailable, match=r"0 of 1 replicas of .* the grant of lock 'k'"):
        world.do(lambda: client.lock("k").acquire(timeout=0))
    with fleet.ask(old) as peek:
        assert peek.execute_command("ROLE")[0] == b"master"
        assert not peek.exists("k")


@pytest.mark.parametrize("replicas", [0, 1])
def test_an_old_primary_is_left_long_before_it_is_demoted(
    world: World, slow_sentinels: SentinelFleet, replicas: int
) -> None:
    fleet = slow_sentinels
    client = world.connect(fleet.url, replicas=replicas)
    world.do(world.do(client.lock("before").acquire).release)
    old, new = deposed(fleet)

    def taken_at_the_new_one() -> bool:
        hold = world.do(lambda: client.lock("k").acquire(timeout=5))
        with fleet.ask(new) as peek:
            found = bool(peek.exists("k"))
        with suppress(LockLost):  # without replicas the old one may grant once, and is forgotten
            world.do(hold.release)
        return found

    eventually(taken_at_the_new_one, within=POLL_CAP + SLACK)
    assert fleet.role(old)[0] == b"master"


def test_a_client_that_leaves_an_old_primary_asks_the_new_one_for_what_it_holds(
    world: World, slow_sentinels: SentinelFleet
) -> None:
    """What the old one has renewed meanwhile counts for nothing."""
    fleet = slow_sentinels
    client = world.connect(fleet.url, replicas=0)
    hold = world.do(client.lock("k", lease=LEASE).acquire)
    old, new = deposed(fleet)
    with fleet.ask(new) as peek:
        peek.delete("k")  # as if it had not been replicated
    renew_now(world, client)  # by the one or the other

    def lost_after_a_call() -> bool:
        with suppress(StoreUnavailable):
            world.do(client.lock("k").locked)
        return bool(hold.lost)

    eventually(lost_after_a_call, within=POLL_CAP + SLACK)
    assert fleet.role(old)[0] == b"master"


def test_a_waiter_at_an_old_primary_hears_of_a_release_at_the_new_one(
    world: World, slow_sentinels: SentinelFleet
) -> None:
    fleet = slow_sentinels
    hold = world.do(world.connect(fleet.url).lock("k", lease=LEASE).acquire)
    waiting = begin_waiting(world, fleet, fleet.url)
    old, new = deposed(fleet)
    with fleet.ask(new) as peek:
        peek.delete("k")  # the holder's own client need not have noticed
    released = time.monotonic()

    got = waiting.result(10)
    assert time.monotonic() - released < POLL_CAP + SLACK
    assert fleet.role(old)[0] == b"master"
    with fleet.ask(new) as peek:
        assert peek.exists("k")
    world.do(got.release)
    assert got.token > hold.token
