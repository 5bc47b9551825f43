"""The queue of a fair lock: who comes first gets it, whoever is gone is skipped."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest

from interlock import AcquireTimeout, aio
from interlock.backends.redis.fair_locks import WAIT
from interlock.model import PROVISIONAL
from tests.support.servers import RedisServer

from ...support.eventually import eventually
from ...support.worlds import World
from .fairness import GRACE_MS, QUEUE, SCORES, SEEN, Desk, javas, our
from .watching import Monitor, litter, sha, tombs

pytestmark = pytest.mark.server

GHOST = our(99)


@pytest.fixture
def desk(redis_url: str, peek: Any) -> Iterator[Desk]:
    desk = Desk(redis_url, peek)
    yield desk
    desk.link.close()


def line_up(world: World, desk: Desk, locks: list[Any]) -> list[Any]:
    """Let several clients wait, one behind the other."""
    waiting, before = [], len(desk.queue())
    for lock in locks:
        waiting.append(world.start(lock.acquire))
        eventually(lambda: len(desk.queue()) == before + len(waiting))
    return waiting


def fair_locks(world: World, url: str, count: int) -> list[Any]:
    return [world.connect(url).fair_lock("k") for _ in range(count)]


def haunt(desk: Desk, owner: str = GHOST, grace_ms: int = GRACE_MS) -> None:
    """Somebody of ours queues, and is never heard of again."""
    desk.java_queues(owner)
    desk.peek.zadd(SEEN, {owner: desk.clock() + grace_ms})


def test_eight_clients_are_served_in_order_of_arrival(
    world: World, redis_url: str, desk: Desk
) -> None:
    hold = world.do(world.connect(redis_url).fair_lock("k").acquire)
    waiting = line_up(world, desk, fair_locks(world, redis_url, 8))
    tokens = [hold.token]
    for turn in waiting:
        world.do(hold.release)
        hold = turn.result(5)
        tokens.append(hold.token)
        assert sum(each.done() for each in waiting) == len(tokens) - 1
    world.do(hold.release)
    assert tokens == sorted(set(tokens))
    assert litter(desk.peek) == set()


def test_release_wakes_one_and_only_one(
    world: World, redis_url: str, desk: Desk, redis_server: RedisServer
) -> None:
    hold = world.do(world.connect(redis_url).fair_lock("k").acquire)
    waiting = line_up(world, desk, fair_locks(world, redis_url, 4))
    with Monitor(redis_server.port) as monitor:
        world.do(hold.release)
        first = waiting[0].result(5)
        published = [seen for seen in monitor.commands() if seen.verb == "PUBLISH"]
        sent = [seen for seen in monitor.sent() if sha("fair_attempt").decode() in seen.words]
    assert [seen.words[2] for seen in published] == [first.owner]
    assert len([seen for seen in sent if first.owner in seen.words]) == 1
    for turn in waiting:
        world.do(turn.result(5).release)


def test_waiting_needs_no_subscription_of_its_own_among_our_clients(
    world: World, redis_url: str, desk: Desk, redis_server: RedisServer
) -> None:
    first, second = fair_locks(world, redis_url, 2)
    for lock in (first, second, first):  # each has waited before
        hold = world.do(lock.acquire)
        waiting = line_up(world, desk, [second if lock is first else first])
        world.do(hold.release)
        world.do(waiting[0].result(5).release)
    hold = world.do(first.acquire)
    with Monitor(redis_server.port) as monitor:
        waiting = line_up(world, desk, [second])
        world.do(hold.release)
        world.do(waiting[0].result(5).release)
        sent = [seen.verb for seen in monitor.sent()]
    assert sent.count("EVALSHA") == 4  # queue, release, take, release
    assert not {"SUBSCRIBE", "UNSUBSCRIBE"} & set(sent)


def test_dead_waiters_are_skipped_because_nobody_hears_for_them(
    world: World, redis_url: str, desk: Desk
) -> None:
    hold = world.do(world.connect(redis_url).fair_lock("k").acquire)
    haunt(desk)
    haunt(desk, our(98))
    waiting = line_up(world, desk, fair_locks(world, redis_url, 1))
    released = time.monotonic()
    world.do(hold.release)
    got = waiting[0].result(5)
    assert time.monotonic() - released < 0.5
    world.do(got.release)
    assert litter(desk.peek) == set()


def test_dead_waiters_are_skipped_where_nobody_released(desk: Desk) -> None:
    """The holder died, and the head of the queue as well; whoever asks next finds out."""
    haunt(desk)
    assert desk.gets(our(1), waits=False)
    assert desk.queue() == []
    assert desk.peek.zcard(SCORES) == 0


def test_paused_head_costs_one_grace(world: World, redis_url: str, desk: Desk) -> None:
    """Somebody hears for it, but it neither takes the lock nor asks."""
    with desk.heard(GHOST):
        hold = world.do(world.connect(redis_url).fair_lock("k").acquire)
        haunt(desk, grace_ms=2500)
        waiting = line_up(world, desk, fair_locks(world, redis_url, 1))
        began = time.monotonic()
        world.do(hold.release)
        assert desk.holder() == GHOST  # for a provisional lease
        got = waiting[0].result(10)
        assert PROVISIONAL < time.monotonic() - began < 4.5
        world.do(got.release)


def test_paused_java_head_costs_its_score(world: World, redis_url: str, desk: Desk) -> None:
    hold = world.do(world.connect(redis_url).fair_lock("k").acquire)
    desk.java_queues(javas(1), left_ms=1500)
    waiting = line_up(world, desk, fair_locks(world, redis_url, 1))
    began = time.monotonic()
    world.do(hold.release)
    got = waiting[0].result(10)
    assert 0.8 < time.monotonic() - began < 3.5
    world.do(got.release)
    assert litter(desk.peek) == set()


def test_expired_holder_is_followed_by_the_first_waiter(
    world: World, redis_url: str, desk: Desk
) -> None:
    desk.java_locks(GHOST, lease_ms=400)
    for turn in line_up(world, desk, fair_locks(world, redis_url, 3)):
        world.do(turn.result(4).release)
    assert litter(desk.peek) == set()


def test_try_never_overtakes_and_is_never_remembered(desk: Desk) -> None:
    desk.gets(our(1))
    desk.refused(our(2))
    desk.peek.delete("k")  # as if the holder's lease had run out
    with desk.heard(our(2)) as subscriber:
        busy = desk.refused(our(3), waits=False)
        assert busy.holder == our(2) and busy.left is not None and 0 < busy.left <= 5
        assert subscriber.get_message(timeout=5)["data"] == our(2)
    assert desk.queue() == [our(2)]
    assert desk.gets(our(2))


def test_waiter_that_gives_up_leaves_nothing_behind(
    world: World, redis_url: str, desk: Desk
) -> None:
    """D19: no ghost stays in the queue."""
    hold = world.do(world.connect(redis_url).fair_lock("k").acquire)
    lock = world.connect(redis_url).fair_lock("k")
    with pytest.raises(AcquireTimeout):
        world.do(lambda: lock.acquire(timeout=0.2))
    assert not desk.peek.exists(QUEUE, SCORES, SEEN)
    world.do(hold.release)
    assert litter(desk.peek) == tombs(desk.peek)


def test_waiter_tells_java_how_long_it_means_to_wait(
    world: World, redis_url: str, desk: Desk
) -> None:
    hold = world.do(world.connect(redis_url).fair_lock("k", lease=20).acquire)
    locks = [world.connect(redis_url).fair_lock("k", timeout=limit) for limit in (None, 40)]
    waiting = line_up(world, desk, locks)
    first, second = desk.queue()
    assert desk.left(first) == pytest.approx(20 + WAIT, abs=1)
    assert desk.left(second) == pytest.approx(20 + WAIT + 40, abs=1)
    for turn in waiting:
        world.do(hold.release)
        hold = turn.result(5)
    world.do(hold.release)


def test_cancelled_waiter_leaves_nothing_behind(redis_url: str, desk: Desk) -> None:
    """D19: nor does a waiter that is interrupted."""

    async def interrupt_a_waiter(lock: aio.Lock) -> None:
        waiter = asyncio.create_task(lock.acquire())
        await asyncio.to_thread(eventually, desk.queue)
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter
        assert not desk.peek.exists(QUEUE, SCORES, SEEN)

    async def scene() -> None:
        async with aio.connect(redis_url) as one, aio.connect(redis_url) as other:
            hold = await one.fair_lock("k").acquire()
            await interrupt_a_waiter(other.fair_lock("k"))
            await hold.release()

    asyncio.run(scene())
    assert litter(desk.peek) == tombs(desk.peek)


def test_head_that_gives_up_after_it_was_handed_the_lock_passes_it_on(desk: Desk) -> None:
    desk.gets(our(1))
    desk.refused(our(2))
    desk.refused(our(3))
    with desk.heard(our(2), our(3)):
        desk.release(our(1))
        assert desk.holder() == our(2)
        assert desk.withdraw(our(2))
        assert desk.holder() == our(3)
        assert desk.gets(our(3))
    assert desk.queue() == []
