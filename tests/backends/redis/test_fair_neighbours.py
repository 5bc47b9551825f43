"""Java beside us in the queue of one fair lock: Redisson's commands, by hand."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from interlock import LockLost, StoreMisconfigured
from interlock.model import Busy
from tests.support.servers import RedisServer

from ...support.eventually import eventually
from ...support.worlds import World
from .fairness import QUEUE, SCORES, Desk, channel, javas, our
from .watching import Monitor, litter, messages, sha

pytestmark = pytest.mark.server

JAVA, OTHER = javas(1), javas(2)


@pytest.fixture
def desk(redis_url: str, peek: Any) -> Iterator[Desk]:
    desk = Desk(redis_url, peek)
    yield desk
    desk.link.close()


def listeners(peek: Any, owner: str) -> int:
    return int(dict(peek.pubsub_numsub(channel(owner)))[channel(owner)])


def queued(desk: Desk, count: int) -> str:
    """Wait until so many are in the queue, and tell who came last."""
    eventually(lambda: len(desk.queue()) == count)
    return desk.queue()[-1]


def test_our_waiter_behind_java_is_told_by_java(world: World, redis_url: str, desk: Desk) -> None:
    desk.java_locks(JAVA)
    waiting = world.start(world.connect(redis_url).fair_lock("k").acquire)
    owner = queued(desk, 1)
    eventually(lambda: listeners(desk.peek, owner) == 1)
    unlocked = time.monotonic()
    desk.java_unlocks()
    hold = waiting.result(5)
    assert time.monotonic() - unlocked < 0.5
    eventually(lambda: listeners(desk.peek, owner) == 0)
    world.do(hold.release)
    assert litter(desk.peek) == set()


def test_our_waiter_behind_javas_waiter_hears_java_as_well(
    world: World, redis_url: str, desk: Desk
) -> None:
    """The holder is ours, and would tell us; but between us and it stands Java."""
    client = world.connect(redis_url)
    hold = world.do(client.fair_lock("k").acquire)
    desk.java_queues(JAVA)
    waiting = world.start(world.connect(redis_url).fair_lock("k").acquire)
    owner = queued(desk, 2)
    eventually(lambda: listeners(desk.peek, owner) == 1)
    with messages(desk.peek, "redisson*") as published:
        world.do(hold.release)
        assert published() == [(channel(JAVA), "0")]
    assert desk.holder() is None  # Java takes it itself
    desk.java_takes_its_turn(JAVA)
    unlocked = time.monotonic()
    desk.java_unlocks()
    world.do(waiting.result(5).release)
    assert time.monotonic() - unlocked < 0.5
    assert litter(desk.peek) == set()


def test_order_is_kept_across_java_and_python(world: World, redis_url: str, desk: Desk) -> None:
    hold = world.do(world.connect(redis_url).fair_lock("k").acquire)
    first = world.start(world.connect(redis_url).fair_lock("k").acquire)
    queued(desk, 1)
    desk.java_queues(JAVA)
    second = world.start(world.connect(redis_url).fair_lock("k").acquire)
    queued(desk, 3)
    world.do(hold.release)
    world.do(first.result(5).release)
    assert not second.done() and desk.queue()[0] == JAVA
    desk.java_takes_its_turn(JAVA)
    desk.java_unlocks()
    world.do(second.result(5).release)
    assert litter(desk.peek) == set()


def test_a_try_is_refused_where_java_heads_the_queue(
    world: World, redis_url: str, desk: Desk
) -> None:
    desk.java_queues(JAVA)
    lock = world.connect(redis_url).fair_lock("k")
    assert world.do(lambda: lock.acquire(blocking=False)) is None
    assert desk.queue() == [JAVA]


def test_java_is_never_dropped_for_not_hearing(desk: Desk) -> None:
    """It queues before it listens."""
    desk.gets(our(1))
    desk.java_queues(JAVA, left_ms=60_000)
    desk.release(our(1))
    assert desk.refused(our(2)).holder == JAVA
    assert desk.queue() == [JAVA, our(2)]


def test_java_is_dropped_once_its_score_has_passed(desk: Desk) -> None:
    desk.gets(our(1))
    desk.java_queues(JAVA, left_ms=-1)
    desk.java_queues(OTHER, left_ms=60_000)
    desk.java_queues(javas(3), left_ms=-1)
    desk.refused(our(2))
    assert desk.queue() == [OTHER, javas(3), our(2)]  # only heads are looked at
    assert desk.peek.zscore(SCORES, JAVA) is None


def test_our_record_of_who_lives_means_nothing_to_java(desk: Desk) -> None:
    """Nor does Java's score to us: who has just asked is alive, whatever Java took off it."""
    desk.gets(our(1))
    desk.refused(our(2))
    desk.refused(our(3))
    desk.age(1000.0)
    with desk.heard(our(2)):
        desk.release(our(1))
        assert desk.holder() == our(2)
        assert desk.gets(our(2))
    assert desk.queue() == [our(3)]


def test_javas_scores_change_by_redissons_rules_alone(desk: Desk) -> None:
    desk.gets(our(1))
    desk.java_queues(JAVA, left_ms=500_000)
    score = desk.peek.zscore(SCORES, JAVA)
    for _ in range(3):
        desk.refused(our(2), wait=7.0)
    desk.refused(our(3))
    desk.withdraw(our(2), wait=7.0)  # behind Java
    desk.release(our(1))
    assert desk.peek.zscore(SCORES, JAVA) == score


def test_a_sleeping_java_head_makes_nobody_spin(
    world: World, redis_url: str, desk: Desk, redis_server: RedisServer
) -> None:
    """D6: free, but not for us: the answer says how long, and we ask as seldom as ever."""
    desk.java_queues(JAVA, left_ms=60_000)
    busy = desk.refused(our(1), waits=False)
    assert busy.holder == JAVA and busy.left is not None and 50 < busy.left <= 60
    lock = world.connect(redis_url).fair_lock("k")
    waiting = world.start(lock.acquire)
    queued(desk, 2)
    with Monitor(redis_server.port) as monitor:
        watched = 2.5
        time.sleep(watched)
        asked = [seen for seen in monitor.sent() if sha("fair_attempt").decode() in seen.words]
    assert 1 <= len(asked) <= watched + 1
    desk.java_takes_its_turn(JAVA)
    desk.java_unlocks()
    world.do(waiting.result(5).release)


def test_release_of_a_vanished_lock_is_not_held_and_tells_the_next(
    world: World, redis_url: str, desk: Desk
) -> None:
    """D26: a holder whose lease ran out is told so, and the head that it may go."""
    hold = world.do(world.connect(redis_url).fair_lock("k").acquire)
    desk.java_queues(JAVA)
    desk.peek.delete("k")  # an operator's, without a word to anybody
    with messages(desk.peek, "redisson*") as published:
        with pytest.raises(LockLost):
            world.do(hold.release)
        assert (channel(JAVA), "0") in published()
    assert desk.queue() == [JAVA]


def test_release_leaves_what_another_holds_by_now(desk: Desk) -> None:
    desk.gets(our(1))
    desk.peek.delete("k")
    desk.java_locks(JAVA)
    with messages(desk.peek, "*") as published:
        assert not desk.release(our(1))
        assert published() == []
    assert desk.holder() == JAVA


def test_inspecting_counts_java_too(desk: Desk) -> None:
    assert desk.look() is None
    desk.java_locks(JAVA, lease_ms=20_000)
    desk.java_queues(OTHER)
    desk.refused(our(1))
    info = desk.look()
    assert (info.kind, info.waiters, info.holders[0].owner) == ("fair_lock", 2, JAVA)
    assert 18 < info.expires_in <= 20


def test_a_name_that_is_something_else_is_refused(desk: Desk) -> None:
    desk.peek.hset("k", "mode", "read")
    with pytest.raises(StoreMisconfigured, match="rwlock"):
        desk.ask(our(1))
    with pytest.raises(StoreMisconfigured, match="rwlock"):
        desk.look()
    desk.peek.delete("k")
    desk.java_locks(our(1)[:-1] + "1")  # ours, but a plain lock
    for question in (lambda: desk.ask(our(2), waits=False), desk.look):
        with pytest.raises(StoreMisconfigured, match="lock"):
            question()
    desk.peek.delete("k")
    desk.peek.set("k", "permits")
    with pytest.raises(StoreMisconfigured, match="another kind"):
        desk.ask(our(1))
    assert not desk.withdraw(our(1))
    assert not desk.peek.exists(QUEUE, SCORES)


def test_busy_names_java_as_foreign(desk: Desk) -> None:
    desk.gets(our(1))
    desk.java_queues(JAVA)
    busy = desk.ask(our(2))
    assert isinstance(busy, Busy) and busy.foreign and busy.holder == our(1)
    assert not desk.refused(our(2), waits=False).foreign
