"""Crashes, long holds and lost replies between Redisson's RLock and our lock().

Leases are of 3 s on both sides, in place of the usual 30 s: what is told here of 3 and of
10 seconds holds for 30 and 100.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.backends.redis.watching import messages, sha
from tests.support.eventually import eventually
from tests.support.faults import FaultProxy
from tests.support.worlds import World

from ..harness.foreign import Foreign
from ..harness.matrix import BOTH, TO_THEM, TO_US, meets
from ..harness.peers import Actor, Cast
from .looking import PROMPTLY, SLACK, subscribers, waiters

pytestmark = meets("Redisson", "RLock", "lock()")

#: The lease of both sides, and how long a hold must outlive it.
LEASE, LONG = 3.0, 9.5


@pytest.fixture
def quick_java(cast: Cast) -> Actor:
    """A thread of Java whose watchdog keeps leases of 3 s."""
    return cast.actor(cast.client("quick", watchdog_ms=int(LEASE * 1000)))


@meets(direction=TO_US)
def test_killed_jvm_is_outlived_by_its_lease_and_no_longer(
    world: World, redis_url: str, victim: Foreign, name: str, peek: Any
) -> None:
    victim.ask(kind="lock", verb="lock", name=name)
    waiting = world.start(world.connect(redis_url).lock(name).acquire)
    eventually(lambda: waiters(peek, name) == 1)
    victim.kill()
    killed, left = time.monotonic(), peek.pttl(name) / 1000
    hold = waiting.result(LEASE + SLACK)
    assert left - 0.01 < time.monotonic() - killed < left + SLACK
    world.do(hold.release)


@meets(direction=TO_THEM)
def test_our_killed_process_is_outlived_by_its_lease_and_no_longer(
    our_victim: Foreign, java: Actor, name: str, peek: Any
) -> None:
    our_victim.ask(verb="acquire", kind="lock", name=name, terms={"lease": LEASE}, handle="h")
    waiting = java.start("lock", "lock", name)
    eventually(lambda: subscribers(peek, name) == 1)
    our_victim.kill()
    killed, left = time.monotonic(), peek.pttl(name) / 1000
    waiting.result(LEASE + SLACK)
    assert left - 0.01 < time.monotonic() - killed < left + SLACK


@meets(direction=BOTH)
def test_what_is_kept_is_refused_for_three_leases_and_more(
    world: World, redis_url: str, quick_java: Actor, cast: Cast, name: str
) -> None:
    """At the same time on two names: Java keeps one, we keep the other."""
    client, other = world.connect(redis_url), cast.actor()
    hold = world.do(client.lock(name + "-ours", lease=LEASE).acquire)
    quick_java.ask("lock", "lock", name + "-javas")
    lock = client.lock(name + "-javas")
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        assert other.ask("lock", "tryLock", name + "-ours") is False
        assert world.do(lambda: lock.acquire(blocking=False)) is None
        time.sleep(0.1)
    assert not hold.lost
    assert quick_java.ask("lock", "isHeldByCurrentThread", name + "-javas") is True
    quick_java.ask("lock", "unlock", name + "-javas")
    world.do(hold.release)


@meets(direction=TO_US)
def test_javas_fixed_lease_ends_by_itself(
    world: World, redis_url: str, java: Actor, name: str, peek: Any
) -> None:
    java.ask("lock", "lock", name, lease_ms=1500)
    began, left = time.monotonic(), peek.pttl(name) / 1000
    hold = world.do(world.connect(redis_url).lock(name).acquire)
    assert left - 0.01 < time.monotonic() - began < left + SLACK
    world.do(hold.release)


@meets(direction=TO_THEM)
def test_our_fixed_lease_ends_by_itself(
    world: World, redis_url: str, java: Actor, name: str, peek: Any
) -> None:
    world.do(world.connect(redis_url).lock(name, lease=1.5, renew=False).acquire)
    began, left = time.monotonic(), peek.pttl(name) / 1000
    java.ask("lock", "lock", name)
    assert left - 0.01 < time.monotonic() - began < left + SLACK


@pytest.mark.parametrize("lost", ["attempt", "release"])
@meets(direction=TO_THEM)
def test_lost_reply_locks_java_out_no_longer_than_our_hold(
    lost: str, world: World, proxy: FaultProxy, java: Actor, name: str, peek: Any
) -> None:
    """The reply is lost after the deed: we hold once, free once and say so once."""
    lock = world.connect(f"redis://127.0.0.1:{proxy.port}").lock(name)
    world.do(world.do(lock.acquire).release)  # teaches the server the scripts
    with messages(peek, "redisson_lock__channel:*") as heard:
        proxy.lose_reply(sha(f"lock_{lost}"))
        hold = world.do(lock.acquire)
        assert peek.hgetall(name) == {hold.owner: "1"}
        waiting = java.start("lock", "lock", name)
        eventually(lambda: subscribers(peek, name) == 1)
        world.do(hold.release)
        waiting.result(PROMPTLY)
        assert proxy.fired == 1
        assert [payload for _, payload in heard()] == ["0"]
    assert peek.hgetall(name) == {java.owner: "1"}
