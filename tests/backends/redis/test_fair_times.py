"""A fair lock's waiters and their times: Redisson's arithmetic, without its defects.

The numbers are those of the defects: what Redisson does, and ours must not.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from interlock.backends.redis.fair_locks import WAIT, RedisFairLocks
from interlock.backends.redis.scripts import script
from interlock.model import FOREVER, PROVISIONAL
from interlock.recipes.lock import POLL_CAP

from .fairness import GRACE_MS, QUEUE, SCORES, SEEN, Desk, javas, our
from .watching import litter, tombs

pytestmark = pytest.mark.server

FIRST, SECOND, THIRD, FOURTH = our(1), our(2), our(3), our(4)
LEASE = 30.0

#: Seconds that a busy machine may take between two looks.
SLACK = 1.0


@pytest.fixture
def desk(redis_url: str, peek: Any) -> Iterator[Desk]:
    desk = Desk(redis_url, peek)
    yield desk
    desk.link.close()


def about(seconds: float) -> Any:
    return pytest.approx(seconds, abs=SLACK)


def test_the_scripts_constants_are_pythons() -> None:
    attempt, release = script("fair_attempt").text, script("fair_release").text
    assert f"local wake, grace_ms = 'interlock:wake:', {GRACE_MS} " in attempt
    assert GRACE_MS >= 2 * POLL_CAP * 1000  # who lives asks again in time
    assert f"local wake, provisional_ms = 'interlock:wake:', {PROVISIONAL * 1000:.0f}" in release


def test_wait_is_the_timeout_where_there_is_one() -> None:
    store = RedisFairLocks("here")
    assert store.for_wait(FOREVER).wait == store.for_wait(0.0).wait == WAIT == 300.0
    assert store.for_wait(2.5).wait == 2.5
    assert store.for_wait(2.5).for_wait(FOREVER).wait == WAIT
    assert store.for_wait(2.5).kind_code == store.kind_code == "3"


def test_each_waiters_time_follows_that_of_the_one_before_it(desk: Desk) -> None:
    assert desk.gets(FIRST, lease=LEASE)
    desk.refused(SECOND)
    desk.refused(THIRD, wait=5.0)
    desk.refused(FOURTH, wait=60.0)
    assert desk.queue() == [SECOND, THIRD, FOURTH]
    assert desk.left(SECOND) == about(LEASE + WAIT)
    assert desk.left(THIRD) == about(LEASE + WAIT + 5)
    assert desk.left(FOURTH) == about(LEASE + WAIT + 5 + 60)


def test_who_takes_the_lock_gives_its_time_back(desk: Desk) -> None:
    desk.gets(FIRST, lease=LEASE)
    for owner in (SECOND, THIRD, FOURTH):
        desk.refused(owner)
    with desk.heard(SECOND):
        assert desk.release(FIRST)
        assert desk.gets(SECOND)
    assert desk.queue() == [THIRD, FOURTH]
    assert desk.left(THIRD) == about(LEASE + WAIT)
    assert desk.left(FOURTH) == about(LEASE + 2 * WAIT)


def test_a_repeated_claim_gives_its_time_back_once(desk: Desk) -> None:
    desk.gets(FIRST, lease=LEASE)
    desk.refused(SECOND)
    desk.refused(THIRD)
    with desk.heard(SECOND):
        desk.release(FIRST)
    tokens = [desk.token(SECOND) for _ in range(3)]
    assert tokens == sorted(set(tokens))
    assert desk.left(THIRD) == about(LEASE + WAIT)
    assert desk.peek.hgetall("k") == {SECOND: "1"}


def test_who_gives_up_gives_its_time_back_to_those_behind_it(desk: Desk) -> None:
    """D19: whoever leaves takes everything along, in the way that Redisson does on time."""
    desk.gets(FIRST, lease=LEASE)
    desk.refused(SECOND)
    desk.refused(THIRD, wait=20.0)
    desk.refused(FOURTH)
    assert not desk.withdraw(THIRD, wait=20.0)
    assert desk.queue() == [SECOND, FOURTH]
    assert desk.left(SECOND) == about(LEASE + WAIT)
    assert desk.left(FOURTH) == about(LEASE + 2 * WAIT)
    desk.withdraw(THIRD, wait=20.0)  # nothing is left to give back
    assert desk.left(FOURTH) == about(LEASE + 2 * WAIT)
    for owner in (FOURTH, SECOND):
        desk.withdraw(owner)
    assert desk.withdraw(FIRST)
    assert litter(desk.peek) == tombs(desk.peek)


def test_a_withdrawn_waiter_does_not_come_back_by_a_late_question(desk: Desk) -> None:
    desk.gets(FIRST)
    desk.refused(SECOND)
    desk.withdraw(SECOND)
    with pytest.raises(Exception, match="withdrawn"):
        desk.ask(SECOND)
    assert desk.queue() == []


def test_asking_again_keeps_the_place_and_the_time(desk: Desk) -> None:
    desk.gets(FIRST)
    desk.refused(SECOND)
    desk.refused(THIRD)
    score = desk.peek.zscore(SCORES, SECOND)
    for _ in range(3):
        desk.refused(SECOND)
    assert desk.queue() == [SECOND, THIRD]
    assert desk.peek.zscore(SCORES, SECOND) == score


def test_waiter_behind_a_holder_that_takes_long_keeps_its_place(desk: Desk) -> None:
    """Java would call it dead in the end; it asks, and so its time is made whole."""
    desk.gets(FIRST, lease=LEASE)
    desk.refused(SECOND, wait=100.0)
    desk.refused(THIRD, wait=100.0)
    for _ in range(4):  # three minutes, of which it sleeps none
        desk.age(45.0)
        desk.refused(SECOND, wait=100.0)
        desk.refused(THIRD, wait=100.0)
        assert desk.left(SECOND) > 45.0
    assert desk.queue() == [SECOND, THIRD]
    desk.age(LEASE + 100.0 - 45.0)
    desk.refused(SECOND, wait=100.0)
    assert desk.left(SECOND) == about(LEASE + 100.0)


def test_nobody_who_asks_is_thrown_out_by_anothers_grant(desk: Desk) -> None:
    """The first two gave themselves minutes, and take them off the third's few seconds."""
    owners = [our(client) for client in range(1, 6)]
    desk.gets(owners[0])
    for owner in owners[1:4]:
        desk.refused(owner)
    desk.age(250.0)
    for owner in owners[1:4]:
        desk.refused(owner)
    desk.refused(owners[4], wait=3.0)
    with desk.heard(*owners):
        for before, owner in pairwise(owners):
            assert desk.release(before)
            assert desk.holder() == owner
            assert desk.gets(owner)
    assert desk.release(owners[4])
    assert litter(desk.peek) == set()


def test_tokens_grow_though_the_servers_clock_steps_back(desk: Desk) -> None:
    ahead = (desk.clock() + 3_600_000) * 1000
    desk.peek.set("interlock:tokens", ahead)  # as if the clock had been an hour ahead
    assert [desk.ask(FIRST) for _ in range(3)] == [ahead + 1, ahead + 2, ahead + 3]
    assert desk.peek.get("interlock:tokens") == str(ahead + 3)


def test_no_client_has_a_say_in_what_time_it_is(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D5: a client whose clock is an hour ahead neither throws others out nor lives longer."""
    desk.gets(FIRST)
    desk.refused(SECOND)
    desk.java_queues(javas(7))
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 3600)
    desk.refused(THIRD)
    assert desk.queue() == [SECOND, javas(7), THIRD]
    assert desk.left(THIRD) == about(LEASE + 3 * WAIT)
    with desk.heard(SECOND):
        desk.release(FIRST)
    assert desk.holder() == SECOND


@pytest.mark.parametrize("head", [javas(9), our(9)], ids=["java", "ours"])
def test_a_head_without_a_score_holds_nobody_up(desk: Desk, head: str) -> None:
    """D8: it goes at once, whoever asks or releases."""
    desk.peek.rpush(QUEUE, head)
    assert desk.gets(FIRST)
    assert desk.queue() == []
    desk.peek.rpush(QUEUE, head)
    desk.java_queues(javas(8))
    desk.release(FIRST)
    assert desk.queue() == [javas(8)]


def test_a_waiter_that_lost_its_score_gets_another_and_keeps_its_place(desk: Desk) -> None:
    desk.gets(FIRST)
    desk.refused(SECOND)
    desk.refused(THIRD)
    desk.peek.delete(SCORES)  # evicted, or expired by Java
    desk.refused(SECOND)
    assert desk.queue() == [SECOND, THIRD]
    assert desk.left(SECOND) == about(LEASE + WAIT)


def test_a_waiter_that_lost_its_place_queues_again(desk: Desk) -> None:
    desk.gets(FIRST)
    desk.refused(SECOND)
    desk.peek.delete(QUEUE)
    desk.refused(SECOND)
    assert desk.queue() == [SECOND]


def test_a_lock_that_never_expires_is_waited_for(desk: Desk) -> None:
    desk.java_locks(javas(1))
    desk.peek.persist("k")
    assert desk.refused(SECOND).left is None
    assert desk.left(SECOND) == about(WAIT)


def test_our_record_of_who_lives_goes_by_itself(desk: Desk) -> None:
    desk.gets(FIRST)
    desk.refused(SECOND)
    assert GRACE_MS < desk.peek.pttl(SEEN) <= 2 * GRACE_MS
    assert [desk.peek.pttl(key) for key in (QUEUE, SCORES)] == [-1, -1]  # Java's do not
