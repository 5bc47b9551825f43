"""Restart guard: a server that may have forgotten leases grants nothing until they are over."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import redis
from redis import asyncio as redis_asyncio

from interlock import StoreMisconfigured, StoreUnavailable, UsageError
from interlock.backends.redis.restart_guard import GUARD, MARKER
from tests.support.sentinels import SentinelFleet, awaited
from tests.support.servers import RedisServer

from ...support.eventually import eventually
from ...support.worlds import World
from .metering import SORTS
from .test_acl import documented
from .watching import Monitor, litter, raw

pytestmark = pytest.mark.server

#: Seconds: what the tests wait for.
LONGEST = 1.5

ON = {"restart_guard": True, "longest_lease": LONGEST}

REFUSED = r"has restarted or was replaced.* grants nothing for another \d.* \(restart_guard\)"


def admitted(world: World, server: RedisServer) -> Any:
    """A client of a server whose guard is over."""
    client = world.connect(server.url, **ON)

    def granted() -> bool:
        try:
            world.do(world.do(client.lock("warm", lease=1).try_acquire).release)
        except StoreUnavailable:
            return False
        return True

    eventually(granted, within=LONGEST + 5)
    return client


def refusal(world: World, lock: Any) -> str:
    with pytest.raises(StoreUnavailable, match=REFUSED) as refused:
        world.do(lock.try_acquire)
    return str(refused.value)


@pytest.fixture(scope="module")
def fresh() -> Iterator[RedisServer]:
    """A server that has just started, as long as it is asked with a long lease."""
    with RedisServer() as server:
        yield server


@pytest.mark.parametrize("sort", SORTS)
def test_a_server_that_has_just_started_grants_nothing_of_any_kind(
    world: World, fresh: RedisServer, sort: str
) -> None:
    client = world.connect(f"{fresh.url}?restart_guard=on&longest_lease=1h")
    told = refusal(world, SORTS[sort].make(client, f"fresh:{sort}"))

    assert "\n" not in told
    with raw(fresh.port) as peek:
        assert litter(peek) == {MARKER, GUARD}


def test_a_waiter_gets_it_when_the_longest_lease_is_over(
    world: World, own_redis: RedisServer
) -> None:
    client = world.connect(own_redis.url, **ON)
    hold = world.do(lambda: client.lock("k", lease=1).acquire(timeout=10))
    with raw(own_redis.port) as peek:
        assert peek.info("server")["uptime_in_seconds"] >= LONGEST
    world.do(hold.release)


def test_no_client_gets_a_lock_that_a_restart_has_freed_before_its_lease_is_over(
    world: World, own_redis: RedisServer
) -> None:
    """Without the guard the second client has it at once, and both believe."""
    first = admitted(world, own_redis).lock("k", lease=LONGEST, renew=False)
    hold = world.do(first.acquire)
    own_redis.kill()
    own_redis.start()
    without = world.do(world.connect(own_redis.url).lock("other").try_acquire)
    second = world.connect(own_redis.url, **ON).lock("k", lease=1)
    assert without is not None
    other = world.do(lambda: second.acquire(timeout=10))

    assert hold.lost
    assert other.token > hold.token
    world.do(other.release)
    world.do(without.release)


def test_a_server_that_kept_its_records_keeps_its_holds_and_grants_no_others(
    world: World,
) -> None:
    with RedisServer("--appendonly", "yes", "--appendfsync", "always") as server:
        client = admitted(world, server)
        hold = world.do(client.lock("k", lease=LONGEST).acquire)
        server.kill()
        server.start()
        refusal(world, world.connect(server.url, **ON).lock("other", lease=1))
        until = hold._lease.until
        eventually(lambda: hold._lease.until > until)
        assert not hold.lost
        admitted(world, server)
        world.do(hold.release)


def test_a_longer_lease_is_refused_and_nothing_is_left(
    world: World, own_redis: RedisServer
) -> None:
    client = world.connect(own_redis.url, **ON)
    with pytest.raises(UsageError, match=r"a lease of 30 s is longer than longest_lease, 1.5 s"):
        world.do(client.lock("k").acquire)
    with raw(own_redis.port) as peek:
        assert not peek.exists("k", MARKER)


def test_a_pair_costs_two_commands_as_without(world: World, own_redis: RedisServer) -> None:
    client = admitted(world, own_redis)
    with Monitor(own_redis.port) as monitor:
        for _ in range(10):
            world.do(world.do(client.lock("k", lease=1).acquire).release)
        sent = [seen.verb for seen in monitor.sent()]

    assert [verb for verb in sent if verb in ("EVALSHA", "EVAL")] == ["EVALSHA"] * 20


def test_without_the_option_a_server_knows_nothing_of_it(
    world: World, redis_server: RedisServer, redis_url: str, peek: Any
) -> None:
    with Monitor(redis_server.port) as monitor:
        world.do(world.do(world.connect(redis_url).mutex("k").acquire).release)
        words = [word for seen in monitor.commands() for word in seen.words]

    assert not peek.exists(MARKER, GUARD)
    assert not any("interlock:restart" in word for word in words)


@contextmanager
def borrowed(world: World, port: int) -> Iterator[Any]:
    """A client of redis-py, of this world."""
    kind: Any = redis.Redis if world.name == "threads" else redis_asyncio.Redis
    client = kind(port=port)
    yield client
    world.do(client.close if world.name == "threads" else client.aclose)


def test_a_client_of_redis_py_can_have_it_too(world: World, fresh: RedisServer) -> None:
    with borrowed(world, fresh.port) as client:
        guarded = world.connect(client, restart_guard=True, longest_lease="1h")
        assert re.search(r"for another (59 min|1 h)", refusal(world, guarded.lock("k")))


def test_a_primary_that_was_promoted_grants_nothing_until_the_longest_lease_is_over(
    world: World, own_sentinels: SentinelFleet
) -> None:
    url = f"{own_sentinels.url}?restart_guard=on&longest_lease=4s"
    client = world.connect(url)
    hold = world.do(lambda: client.lock("k", lease=4).acquire(timeout=20))
    world.do(hold.release)
    promoted = own_sentinels.fail_over()
    # Up to now the old primary may still take writes, and is not guarded.
    awaited(lambda: own_sentinels.settled(promoted), "the old primary to follow")
    late = world.connect(url)
    refusal(world, late.lock("k", lease=4))
    world.do(lambda: late.lock("k", lease=4).acquire(timeout=20))


def test_a_user_that_may_not_ask_for_the_run_is_told(world: World, own_redis: RedisServer) -> None:
    with raw(own_redis.port) as admin:
        admin.execute_command("ACL", *documented())
    url = f"redis://interlock:pw@127.0.0.1:{own_redis.port}"
    with pytest.raises(StoreMisconfigured, match="denies this user"):
        world.do(world.connect(url, **ON).lock("orders:1", lease=1).acquire)


WRONG: list[tuple[Callable[[World], Any], type[Exception], str]] = [
    (lambda w: w.connect("redis://h?restart_guard=1"), UsageError, "must be on or off"),
    (lambda w: w.connect("redis://h?longest_lease=1ms"), UsageError, "at least 50 ms"),
    (lambda w: w.connect("redis://h", longest_lease=0), UsageError, "longest_lease must be at"),
    (lambda w: w.connect("redis://h", restart_guard="on"), TypeError, "must be True or False"),
    (lambda w: w.connect("redlock://a,b,c", restart_guard=1), TypeError, "must be True or False"),
    (lambda w: w.connect("redis+cluster://h?restart_guard=on"), UsageError, "no restart guard"),
    (lambda w: w.connect("redis+cluster://h", restart_guard=True), TypeError, "does not take"),
    (lambda w: w.connect("memory://", restart_guard=True), TypeError, "does not take"),
]


@pytest.mark.parametrize(("call", "kind", "words"), WRONG)
def test_what_is_wrong_is_said(
    world: World, call: Callable[[World], Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        call(world)


def test_the_guard_of_redlock_can_be_switched_in_code(world: World) -> None:
    client = world.connect("redlock://a,b,c", restart_guard=False, longest_lease=5)
    settings = client._session.backend._settings

    assert (settings.restart_guard, settings.longest_lease) == (False, 5.0)
