"""Java beside us on the same names: Redisson's owners, waiters and force unlock, by hand."""

from __future__ import annotations

import time
import uuid
from typing import Any

import pytest

from interlock import AcquireTimeout, LockLost
from interlock.backends.redis import RedisBackend, UrlFactory, locks, read_url
from interlock.drive import now, run

from ...support.eventually import eventually
from ...support.worlds import World
from .watching import litter

pytestmark = pytest.mark.server

CHANNEL = "redisson_lock__channel:{k}"

#: Long enough that nobody gets a lock because a lease ran out.
LEASE_MS = 20_000


def java_owner() -> str:
    return f"{uuid.uuid4()}:83"


def java_locks(peek: Any, count: int = 1) -> str:
    """What `lock()`, called `count` times in Java, leaves behind."""
    owner = java_owner()
    peek.hset("k", owner, count)
    peek.pexpire("k", LEASE_MS)
    return owner


def java_unlocks(peek: Any) -> None:
    """What the last `unlock()` and `forceUnlock()` do in Java."""
    peek.delete("k")
    peek.publish(CHANNEL, "0")


def subscribers(peek: Any) -> int:
    return int(dict(peek.pubsub_numsub(CHANNEL))[CHANNEL])


def test_javas_lock_is_refused_to_us_and_untouched(
    world: World, redis_url: str, peek: Any
) -> None:
    owner = java_locks(peek, count=2)
    lock = world.connect(redis_url).lock("k")
    assert world.do(lambda: lock.acquire(blocking=False)) is None
    with pytest.raises(AcquireTimeout, match=owner[:8]):
        world.do(lambda: lock.acquire(timeout=0.1))
    assert peek.hgetall("k") == {owner: "2"}
    assert world.do(lock.locked)


def test_waiter_is_woken_by_javas_message(world: World, redis_url: str, peek: Any) -> None:
    owner = java_locks(peek, count=2)
    waiting = world.start(world.connect(redis_url).lock("k").acquire)
    eventually(lambda: subscribers(peek) == 1)
    eventually(lambda: peek.zcard("interlock:queue:{k}") == 1)
    peek.hset("k", owner, 1)  # the inner unlock says nothing to anybody
    assert not waiting.done()
    unlocked = time.monotonic()
    java_unlocks(peek)

    hold = waiting.result(5)
    assert time.monotonic() - unlocked < 0.5
    eventually(lambda: subscribers(peek) == 0)
    world.do(hold.release)
    assert litter(peek) == set()


def test_lock_without_a_lease_is_held_and_never_acquired(
    world: World, redis_url: str, peek: Any
) -> None:
    java_locks(peek)
    peek.persist("k")
    lock = world.connect(redis_url).lock("k")
    with pytest.raises(AcquireTimeout):
        world.do(lambda: lock.acquire(timeout=0.1))
    waiting = world.start(lock.acquire)
    eventually(lambda: subscribers(peek) == 1)
    java_unlocks(peek)
    world.do(waiting.result(5).release)


def test_javas_lease_that_runs_out_frees_the_lock(world: World, redis_url: str, peek: Any) -> None:
    java_locks(peek)
    peek.pexpire("k", 400)
    began = time.monotonic()
    hold = world.do(world.connect(redis_url).lock("k").acquire)
    assert 0.3 < time.monotonic() - began < 1.0
    world.do(hold.release)


def test_next_waiter_hears_java_though_it_came_behind_one_of_ours(
    world: World, redis_url: str, peek: Any
) -> None:
    """We wait behind our own holder; Java snatches the lock; Java's message still reaches us."""
    ours = world.do(world.connect(redis_url).lock("k").acquire)
    waiting = world.start(world.connect(redis_url).lock("k").acquire)
    eventually(lambda: peek.zcard("interlock:queue:{k}") == 1)
    peek.delete("k")  # an operator's force unlock, without a word
    java_locks(peek)
    eventually(lambda: subscribers(peek) == 1)  # found out within the poll cap
    unlocked = time.monotonic()
    java_unlocks(peek)

    world.do(waiting.result(5).release)
    assert time.monotonic() - unlocked < 0.5
    with pytest.raises(LockLost):
        world.do(ours.release)


def test_release_frees_the_lock_for_all_where_java_waits(redis_url: str, peek: Any) -> None:
    """Java's waiter and ours are both told; whoever asks first gets it."""
    backend = RedisBackend(UrlFactory(read_url(redis_url)))
    link, store, until = backend.link(), backend.locks, now() + 10
    client = "00000000-0000-8000-8000-000000000001"
    holder, waiter = f"{client}:1", f"{client}:2"
    run(store.attempt("k", holder, 20.0, False, until), link)
    run(store.attempt("k", waiter, 20.0, True, until), link)
    with peek.pubsub() as java, peek.pubsub() as mine:
        java.subscribe(CHANNEL)
        mine.subscribe(f"interlock:wake:{client}")
        assert java.get_message(timeout=5) and mine.get_message(timeout=5)
        assert run(store.release("k", holder, until), link)
        assert java.get_message(timeout=5)["data"] == "0"
        assert mine.get_message(timeout=5)["data"] == waiter
    assert not peek.exists("k")
    assert peek.zrange("interlock:queue:{k}", 0, -1) == [waiter]  # it has kept its place

    # For a moment it is kept for Java, which does not come.
    def granted() -> bool:
        return isinstance(run(store.attempt("k", waiter, 20.0, True, until), link), int)

    eventually(granted)
    link.close()


def test_our_waiter_gets_the_lock_beside_a_java_waiter_that_does_not_ask(
    world: World, redis_url: str, peek: Any
) -> None:
    with peek.pubsub() as java:
        java.subscribe(CHANNEL)
        hold = world.do(world.connect(redis_url).lock("k").acquire)
        waiting = world.start(world.connect(redis_url).lock("k").acquire)
        eventually(lambda: peek.zcard("interlock:queue:{k}") == 1)
        released = time.monotonic()
        world.do(hold.release)
        world.do(waiting.result(5).release)
        assert time.monotonic() - released < 0.5


def test_force_unlock_is_reported_to_the_holder(world: World, redis_url: str, peek: Any) -> None:
    block = world.hold_block(world.connect(redis_url).lock("k", lease=0.9))
    hold = block.entered.result(5)
    java_unlocks(peek)
    theirs = java_locks(peek)

    eventually(lambda: hold.lost)
    block.leave()
    with pytest.raises(LockLost):
        block.outcome.result(5)
    assert peek.hgetall("k") == {theirs: "1"}


def test_names_where_java_was_met_are_not_remembered_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Most waiters behind Java give up on some names for ever, and nobody passes there."""
    monkeypatch.setattr(locks, "REMEMBERED", 10)
    turns = locks.ForeignTurns()
    for number in range(1000):
        turns.refused(f"given-up-{number}")
        turns.refused(f"passed-{number}")
        turns.granted(f"passed-{number}")

    assert len(turns._refused) <= 10
    assert len(turns._before) <= 10
