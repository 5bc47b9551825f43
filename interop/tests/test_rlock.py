"""Redisson's RLock and our lock() on the same names."""

from __future__ import annotations

import time
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

import pytest

from interlock import AcquireTimeout, LockLost, NotHeld, connect
from tests.support.eventually import eventually
from tests.support.worlds import Threads, World

from ..harness.foreign import SOON, ForeignError
from ..harness.matrix import BOTH, TO_THEM, TO_US, meets
from ..harness.modes import everywhere
from ..harness.peers import Actor, Cast
from .looking import PROMPTLY, channel, subscribers, waiters

pytestmark = [meets("Redisson", "RLock", "lock()"), everywhere]


@meets(direction=TO_THEM)
def test_java_is_refused_what_we_hold(
    world: World, redis_url: str, java: Actor, name: str
) -> None:
    hold = world.do(world.connect(redis_url).lock(name).acquire)
    assert java.ask("lock", "tryLock", name) is False
    assert java.ask("lock", "isLocked", name) is True
    assert 29_000 < java.ask("lock", "remainTimeToLive", name) <= 30_000
    world.do(hold.release)
    assert java.ask("lock", "tryLock", name) is True


@meets(direction=TO_US)
def test_we_are_refused_what_java_holds(
    world: World, redis_url: str, java: Actor, name: str, peek: Any
) -> None:
    java.ask("lock", "lock", name)
    java.ask("lock", "lock", name)
    lock = world.connect(redis_url).lock(name)
    assert world.do(lambda: lock.acquire(blocking=False)) is None
    with pytest.raises(AcquireTimeout, match=java.owner[:8]):
        world.do(lambda: lock.acquire(timeout=0.1))
    assert peek.hgetall(name) == {java.owner: "2"}
    assert 20_000 < peek.pttl(name) <= 30_000
    assert world.do(lock.locked)


@meets(direction=TO_THEM)
def test_javas_waiter_holds_promptly_after_our_release(
    world: World, redis_url: str, java: Actor, name: str, peek: Any
) -> None:
    hold = world.do(world.connect(redis_url).lock(name).acquire)
    waiting = java.start("lock", "lock", name)
    eventually(lambda: java.parked)
    assert subscribers(peek, name) == 1
    assert not waiting.done()
    world.do(hold.release)
    waiting.result(PROMPTLY)
    assert peek.hgetall(name) == {java.owner: "1"}
    eventually(lambda: subscribers(peek, name) == 0)


@meets(direction=TO_US)
def test_our_waiter_holds_promptly_after_javas_unlock(
    world: World, redis_url: str, java: Actor, name: str, peek: Any
) -> None:
    java.ask("lock", "lock", name)
    waiting = world.start(world.connect(redis_url).lock(name).acquire)
    eventually(lambda: waiters(peek, name) == 1 == subscribers(peek, name))
    unlocking = java.start("lock", "unlock", name)
    world.do(waiting.result(PROMPTLY).release)
    assert unlocking.result(PROMPTLY)
    eventually(lambda: subscribers(peek, name) == 0)


@meets(direction=TO_US)
def test_javas_inner_unlocks_wake_nobody(
    world: World, redis_url: str, java: Actor, name: str, peek: Any
) -> None:
    for _ in range(3):
        java.ask("lock", "lock", name)
    waiting = world.start(world.connect(redis_url).lock(name).acquire)
    eventually(lambda: waiters(peek, name) == 1 == subscribers(peek, name))
    for left in (2, 1):
        java.ask("lock", "unlock", name)
        assert java.ask("lock", "getHoldCount", name) == left
        assert not waiting.done()
    java.ask("lock", "unlock", name)
    world.do(waiting.result(PROMPTLY).release)


@meets(direction=TO_THEM)
def test_our_inner_releases_free_nothing(
    redis_url: str, java: Actor, name: str, peek: Any
) -> None:
    """Re-entering is counted here: the store sees one hold, until the last release."""
    with connect(redis_url) as client:
        lock = client.lock(name)
        with lock:
            with lock, lock:
                assert peek.hvals(name) == ["1"]
            assert peek.hvals(name) == ["1"]
            assert java.ask("lock", "tryLock", name) is False
        assert java.ask("lock", "tryLock", name) is True


@meets(direction=TO_THEM)
def test_java_cannot_unlock_what_we_hold(
    world: World, redis_url: str, java: Actor, name: str, peek: Any
) -> None:
    hold = world.do(world.connect(redis_url).lock(name).acquire)
    before = peek.hgetall(name), peek.pttl(name)
    with pytest.raises(ForeignError, match="IllegalMonitorStateException"):
        java.ask("lock", "unlock", name)
    assert peek.hgetall(name) == before[0]
    assert 0 < peek.pttl(name) <= before[1]
    assert not hold.lost
    world.do(hold.release)


@meets(direction=TO_US)
def test_we_cannot_release_what_java_holds(
    world: World, redis_url: str, java: Actor, name: str, peek: Any
) -> None:
    java.ask("lock", "lock", name)
    before = peek.hgetall(name)
    with pytest.raises(NotHeld):
        world.do(world.connect(redis_url).lock(name).release)
    assert peek.hgetall(name) == before == {java.owner: "1"}


@meets(direction=BOTH)
def test_forced_unlock_is_reported_and_javas_later_hold_stays(
    world: World, redis_url: str, java: Actor, name: str, peek: Any
) -> None:
    """With a lease of 3 s in place of 30 s, so that the loss is noticed ten times sooner."""
    hold = world.do(world.connect(redis_url).lock(name, lease=3).acquire)
    assert java.ask("lock", "forceUnlock", name) is True
    java.ask("lock", "lock", name)
    began = time.monotonic()
    eventually(lambda: hold.lost)
    assert time.monotonic() - began < 2.5  # not because the lease ran out
    with pytest.raises(LockLost):
        world.do(hold.release)
    assert peek.hgetall(name) == {java.owner: "1"}
    assert peek.pttl(name) > 3_000


@meets(direction=BOTH)
def test_waiters_of_both_sides_all_get_their_turn(
    world: World, redis_url: str, cast: Cast, name: str, peek: Any
) -> None:
    """Four of each wait; whoever gets it releases: everybody had it, one at a time."""
    first = world.do(world.connect(redis_url).lock(name).acquire)
    lock, turns = world.connect(redis_url).lock(name), Turns()
    for _ in range(4):
        actor = cast.actor()
        turns.expect(actor.start("lock", "lock", name), actor)
        turns.expect(world.start(lock.acquire), None)
    eventually(lambda: waiters(peek, name) == 1 == subscribers(peek, name))
    world.do(first.release)
    while turns.left:
        turn, actor_in_turn = turns.next()
        if actor_in_turn is None:
            world.do(turn.result().release)
        else:
            actor_in_turn.ask("lock", "unlock", name)
    assert not peek.exists(name)


class Turns:
    """Who still waits, and who has it."""

    def __init__(self) -> None:
        self.left: dict[Future[Any], Actor | None] = {}

    def expect(self, turn: Future[Any], actor: Actor | None) -> None:
        self.left[turn] = actor

    def next(self) -> tuple[Future[Any], Actor | None]:
        """The one that has it now: never two."""
        done, _ = wait(self.left, SOON, FIRST_COMPLETED)
        (turn,) = done
        return turn, self.left.pop(turn)


@pytest.mark.parametrize("given", ["k", "{k}", "a{b}c", "ключ", "a b", "n" * 1024])
@meets(direction=BOTH)
def test_keys_and_channels_are_the_same_bytes(
    given: str, redis_url: str, cast: Cast, peek: Any
) -> None:
    """Whoever holds and whoever waits: the same key, and the same channel is listened to."""
    # A JVM may still listen to what earlier tests waited for.
    first, second, threads = cast.actor(), cast.actor(), Threads()
    before = heard(peek)
    first.ask("lock", "lock", given)
    second_waits = second.start("lock", "lock", given)
    eventually(lambda: heard(peek) - before)
    keys, channels = peek.keys("*"), heard(peek) - before
    first.ask("lock", "unlock", given)
    second_waits.result(PROMPTLY)
    assert (keys, channels) == ([given], {channel(given)})
    with connect(redis_url) as client:
        waiting = threads.start(client.lock(given).acquire)
        eventually(lambda: waiters(peek, given) == 1 == subscribers(peek, given))
        assert heard(peek) - before == channels
        second.ask("lock", "unlock", given)
        hold = waiting.result(PROMPTLY)
        assert peek.hgetall(given) == {hold.owner: "1"}
        first_waits = first.start("lock", "lock", given)
        eventually(lambda: heard(peek) - before == channels)
        hold.release()
        first_waits.result(PROMPTLY)
    first.ask("lock", "unlock", given)


def heard(peek: Any) -> set[str]:
    """The channels that clients of Redisson's layout listen to."""
    return {*peek.pubsub_channels("redisson*")}
