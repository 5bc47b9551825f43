"""Replicas that confirm grants and renewals, in both worlds: when they are asked, and what a
caller is told when too few of them answer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import redis

from interlock import LockLost, StoreMisconfigured, StoreUnavailable
from interlock.backends.redis.transport import handshakes
from tests.support.faults import FaultProxy
from tests.support.sentinels import SentinelFleet, awaited
from tests.support.servers import RedisServer

from ...support.eventually import eventually
from ...support.worlds import OVERRUN, SILENCE, World
from .watching import litter, raw, tombs

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def followers() -> Iterator[list[RedisServer]]:
    """A primary, and two replicas of it that tests may pause."""
    with RedisServer("--repl-diskless-sync-delay", "0") as primary:
        follow = ("--replicaof", f"127.0.0.1 {primary.port}")
        with RedisServer(*follow) as first, RedisServer(*follow) as second:
            yield [primary, first, second]


@pytest.fixture
def peek(followers: list[RedisServer]) -> Iterator[Any]:
    """A plain client of the primary, whose data is gone and whose replicas keep up."""
    with raw(followers[0].port) as client:
        client.flushall()
        awaited(lambda: client.wait(2, 100) == 2, "the replicas")
        client.config_resetstat()
        yield client


@contextmanager
def paused(*servers: RedisServer) -> Iterator[None]:
    for each in servers:
        each.pause()
    try:
        yield
    finally:
        for each in servers:
            each.resume()


def calls(client: Any, command: str) -> int:
    """How often the server was sent a command since its statistics began."""
    found: int = client.info("commandstats").get(f"cmdstat_{command}", {"calls": 0})["calls"]
    return found


# --- when they are asked -------------------------------------------------------------------------


def test_a_single_server_is_asked_for_nothing_more(
    world: World, followers: list[RedisServer], peek: Any
) -> None:
    world.do(world.do(world.connect(followers[0].url).lock("k").acquire).release)

    assert calls(peek, "wait") == calls(peek, "role") == 0


def test_a_grant_is_confirmed_and_nothing_else_is(
    world: World, followers: list[RedisServer], peek: Any
) -> None:
    client = world.connect(f"{followers[0].url}?replicas=2")
    hold = world.do(client.lock("k").acquire)
    assert calls(peek, "wait") == 1
    other = world.connect(followers[0].url, replicas=2)
    assert world.do(other.lock("k").try_acquire) is None
    world.do(client.lock("k").locked)
    world.do(hold.release)
    assert calls(peek, "wait") == 1
    with raw(followers[2].port) as replica:
        assert replica.exists("interlock:tokens")


def test_renewals_are_confirmed_together(
    world: World, followers: list[RedisServer], peek: Any
) -> None:
    client = world.connect(followers[0].url, replicas=1)
    holds = [world.do(client.lock(f"k{number}", lease=1.2).acquire) for number in range(5)]
    asked = calls(peek, "wait")
    firsts = [hold._lease.until for hold in holds]
    eventually(lambda: all(h._lease.until > f for h, f in zip(holds, firsts, strict=True)))
    assert asked == 5
    assert 1 <= calls(peek, "wait") - asked <= 3
    for hold in holds:
        world.do(hold.release)


def test_tasks_that_are_granted_together_are_confirmed_together(
    followers: list[RedisServer], peek: Any
) -> None:
    import asyncio

    from interlock import aio

    async def scene() -> None:
        async with aio.connect(followers[0].url, replicas=1) as client:
            async with client.lock("first"):
                pass
            holds = await asyncio.gather(*(client.lock(f"k{n}").acquire() for n in range(50)))
            await asyncio.gather(*(hold.release() for hold in holds))

    asyncio.run(scene())
    assert 2 <= calls(peek, "wait") <= 20


def test_all_that_there_are_may_be_asked_for_and_are_counted_again(
    world: World,
    followers: list[RedisServer],
    peek: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(handshakes, "RECOUNT", 0.1)
    primary, _, second = followers
    client = world.connect(f"{primary.url}?replicas=all")
    with paused(second), pytest.raises(StoreUnavailable, match="1 of 2 replicas"):
        world.do(lambda: client.lock("k").acquire(timeout=0))
    with RedisServer("--replicaof", f"127.0.0.1 {primary.port}") as third:
        awaited(lambda: peek.wait(3, 100) == 3, "the third")

        def refused() -> bool:
            with paused(third):
                try:
                    world.do(world.do(lambda: client.lock("k").acquire(timeout=0)).release)
                except StoreUnavailable as error:
                    return "2 of 3 replicas" in str(error)
            return False

        eventually(refused)
    eventually(lambda: peek.info("replication")["connected_slaves"] == 2)
    world.do(world.do(lambda: client.lock("k").acquire(timeout=5)).release)


def test_a_client_of_redis_py_can_be_told_as_well(followers: list[RedisServer], peek: Any) -> None:
    import interlock

    with (
        redis.Redis(port=followers[0].port) as borrowed,
        interlock.connect(borrowed, replicas=1) as client,
        client.lock("k"),
    ):
        assert calls(peek, "wait") == 1


def test_behind_sentinels_one_replica_is_usual_and_none_a_choice(
    world: World, sentinel_fleet: SentinelFleet, sentinel_url: str
) -> None:
    with sentinel_fleet.ask(sentinel_fleet.primary()) as peek:
        for options, waits in (({}, 1), ({"replicas": 0}, 0), ({"replicas": 2}, 1)):
            peek.config_resetstat()
            hold = world.do(world.connect(sentinel_url, **options).lock("k").acquire)
            assert calls(peek, "wait") == waits
            world.do(hold.release)


# --- when too few of them answer -----------------------------------------------------------------


@pytest.mark.parametrize("kind", ["lock", "mutex", "fair_lock", "fenced_lock"])
def test_a_grant_that_too_few_have_is_withdrawn(
    world: World, followers: list[RedisServer], peek: Any, kind: str
) -> None:
    client = world.connect(followers[0].url, replicas=3)
    with pytest.raises(StoreUnavailable) as refused:
        world.do(lambda: getattr(client, kind)("k").acquire(timeout=0))

    assert "2 of 3 replicas" in str(refused.value)
    assert "the grant of lock 'k'" in str(refused.value)
    assert f"{followers[0].url}/0" in str(refused.value)
    eventually(lambda: not peek.exists("k"))
    assert litter(peek) - tombs(peek) <= {"redisson_lock_token:{k}"}


def test_silent_replicas_cost_a_second_and_are_waited_for_again(
    world: World, followers: list[RedisServer], peek: Any
) -> None:
    primary, *replicas = followers
    client = world.connect(primary.url, replicas=1)
    world.do(world.do(client.lock("k").acquire).release)
    with paused(*replicas):
        began = time.monotonic()
        with pytest.raises(StoreUnavailable, match="0 of 1 replicas"):
            world.do(lambda: client.lock("k").acquire(timeout=0.5))
        assert time.monotonic() - began < 2.5
        waiting = world.start(lambda: client.lock("k").acquire(timeout=20))
        time.sleep(0.3)
        assert not waiting.done()

    world.do(waiting.result(20).release)
    assert not peek.exists("k")


def test_a_primary_that_falls_silent_while_replicas_confirm_costs_no_more_than_any_silence(
    world: World, followers: list[RedisServer], peek: Any
) -> None:
    with FaultProxy(followers[0].port) as proxy:
        client = world.connect(f"redis://127.0.0.1:{proxy.port}", replicas=1)
        world.do(world.do(client.lock("before").acquire).release)
        proxy.hold_back(b"WAIT", 30.0)
        began = time.monotonic()
        with pytest.raises(SILENCE):
            world.do(lambda: client.lock("k").acquire(timeout=0.2))
        assert time.monotonic() - began < 0.2 + OVERRUN
        assert proxy.fired == 1


def test_a_lease_that_is_not_confirmed_is_lost_before_it_ends(
    world: World, followers: list[RedisServer], peek: Any
) -> None:
    primary, *replicas = followers
    block = world.hold_block(world.connect(primary.url, replicas=1).lock("k", lease=1.5))
    hold = block.entered.result(5)
    with paused(*replicas):
        eventually(lambda: hold.suspended or hold.lost, within=3)
        eventually(lambda: hold.lost, within=3)
    block.leave()
    with pytest.raises(LockLost):
        block.outcome.result(5)


def test_a_user_that_may_not_wait_is_told_and_leaves_nothing(
    world: World, followers: list[RedisServer], peek: Any
) -> None:
    peek.execute_command("ACL", "SETUSER", "u", "on", ">pw", "~*", "&*", "+@all", "-wait")
    client = world.connect(f"redis://u:pw@127.0.0.1:{followers[0].port}", replicas=1)
    with pytest.raises(StoreMisconfigured, match="denies this user"):
        world.do(client.lock("k").acquire)
    assert not peek.exists("k")


# --- a server that is no primary any more --------------------------------------------------------


def identities(client: Any) -> set[str]:
    own = str(client.client_id())
    return {each["id"] for each in client.client_list() if each["id"] != own}


def test_a_server_that_answered_readonly_is_left_by_every_connection(
    world: World, own_redis: RedisServer
) -> None:
    holder, waiter = world.connect(own_redis.url), world.connect(own_redis.url)
    hold = world.do(holder.lock("k", lease=30).acquire)
    waiting = world.start(lambda: waiter.lock("k").acquire(timeout=20))
    with raw(own_redis.port) as peek:
        eventually(lambda: peek.zcard("interlock:queue:{k}") == 1)
        before = identities(peek)
        peek.execute_command("REPLICAOF", "127.0.0.1", "1")
        with pytest.raises(StoreUnavailable, match="read-only replica"):
            world.do(lambda: holder.lock("other").acquire(timeout=0))
        with pytest.raises(StoreUnavailable, match="read-only replica"):
            world.do(lambda: waiter.lock("other").acquire(timeout=0))
        peek.execute_command("REPLICAOF", "NO", "ONE")
        world.do(hold.release)
        world.do(waiting.result(10).release)
        eventually(lambda: not before & identities(peek))
