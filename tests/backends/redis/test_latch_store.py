"""Latches on Redis: everybody waits for zero, each count counts once, and Java counts along."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from interlock import AcquireTimeout
from interlock.backends.redis.latches import RedisLatches
from interlock.drive import now
from interlock.model import Busy
from interlock.recipes.latch import count_down
from interlock.recipes.lock import POLL_CAP
from tests.support.faults import FaultProxy

from ...support.eventually import eventually
from ...support.worlds import World
from .counted import KIND, LATCH_CHANNEL, Person
from .watching import litter, messages, sha, tombs

pytestmark = pytest.mark.server

#: Time for a question that was due anyway, on a busy machine.
SOON = 1.5

Arrive: TypeAlias = Callable[[], Person]


@pytest.fixture
def arrive(world: World, redis_url: str) -> Arrive:
    """Make people; they leave with the world."""
    return lambda: Person(world, redis_url, RedisLatches("test"))


def begin(person: Person, count: int) -> bool:
    begun: bool = person.do(person.store.set_count("k", count, now() + 5))
    return begun


def count(person: Person, owner: str = "") -> int:
    left: int = person.do(count_down(person.store, "k", owner or person.owner(), now))
    return left


def listeners(peek: Any) -> int:
    return int(dict(peek.pubsub_numsub(LATCH_CHANNEL))[LATCH_CHANNEL])


# --- counting ----------------------------------------------------------------------------------


def test_last_count_lets_everybody_go_at_once(arrive: Arrive, peek: Any) -> None:
    people = [arrive() for _ in range(3)]
    assert begin(people[0], 2)
    waiting = [person.wait() for person in people for _ in range(2)]
    eventually(lambda: listeners(peek) == 3)
    assert count(people[0]) == 1
    assert people[0].look().count == 1
    assert not any(each.done() for each in waiting)
    began = time.monotonic()

    assert count(people[1]) == 0

    tokens = [each.result(5).token for each in waiting]
    assert time.monotonic() - began < POLL_CAP / 2
    assert len(set(tokens)) == len(tokens)
    assert people[0].look() is None
    assert litter(peek) == tombs(peek)  # the counts are remembered, for a while
    eventually(lambda: listeners(peek) == 0)


def test_latch_that_nobody_set_is_down(arrive: Arrive, peek: Any) -> None:
    person = arrive()

    assert not isinstance(person.ask(), Busy)
    assert count(person) == 0
    assert litter(peek) == tombs(peek)


def test_nothing_is_left_of_a_latch_that_nobody_waited_for(arrive: Arrive, peek: Any) -> None:
    person = arrive()
    begin(person, 1)

    assert count(person) == 0
    assert litter(peek) == tombs(peek)


def test_latch_that_counts_is_not_set_again(arrive: Arrive, peek: Any) -> None:
    person = arrive()
    assert begin(person, 2)
    assert not begin(person, 9)

    assert (peek.get("k"), peek.get(KIND)) == ("2", "latch")
    count(person)
    count(person)
    assert begin(person, 9)


def test_each_owner_counts_once(arrive: Arrive, peek: Any) -> None:
    """D1: a count whose answer was lost is said again."""
    person = arrive()
    begin(person, 3)
    owner = person.owner()

    assert [count(person, owner) for _ in range(3)] == [2, 2, 2]
    assert count(person) == 1


def test_counts_are_exact_though_answers_are_lost(
    world: World, proxy: FaultProxy, peek: Any
) -> None:
    person = Person(world, f"redis://127.0.0.1:{proxy.port}", RedisLatches("test"))
    begin(person, 102)
    count(person)  # teaches the server the script
    for left in range(100, 0, -1):
        proxy.lose_reply(sha("latch_count"))
        assert count(person) == left
    assert proxy.fired == 100
    assert count(person) == 0
    assert not peek.exists("k")


def test_wait_that_ends_early_leaves_nothing_behind(arrive: Arrive, peek: Any) -> None:
    person = arrive()
    begin(person, 1)

    with pytest.raises(AcquireTimeout):
        person.wait(timeout=0.2).result(5)

    assert litter(peek) == {"k", KIND}
    eventually(lambda: listeners(peek) == 0)


def test_look_tells_how_many_clients_wait(arrive: Arrive, peek: Any) -> None:
    people = [arrive() for _ in range(2)]
    begin(people[0], 1)
    waiting = [person.wait() for person in people]
    eventually(lambda: listeners(peek) == 2)

    info = people[0].look()

    assert (info.kind, info.holders, info.count, info.waiters) == ("latch", (), 1, 2)
    count(people[0])
    assert all(each.result(5) for each in waiting)


def test_nothing_is_held_so_nothing_can_be_lost(arrive: Arrive) -> None:
    person = arrive()
    grant = person.take()

    assert person.do(person.store.renew([("k", grant.owner)], 9.0, now() + 5)) == [True]
    assert person.do(person.store.withdrawal_reason("k", grant.owner, now() + 5)) == ""
    assert person.give(grant)


# --- Java beside us ----------------------------------------------------------------------------


def java_counts_down(peek: Any, says: bool = True) -> None:
    left = peek.decr("k")
    if left <= 0:
        peek.delete("k")
    if left == 0 and says:
        peek.publish(LATCH_CHANNEL, "0")


def test_java_and_we_count_together(arrive: Arrive, peek: Any) -> None:
    person = arrive()
    peek.set("k", 3)  # trySetCount(3), in Java
    waiting = person.wait()
    eventually(lambda: listeners(peek) == 1)
    java_counts_down(peek)
    assert count(person) == 1
    began = time.monotonic()

    java_counts_down(peek)

    waiting.result(5)
    assert time.monotonic() - began < POLL_CAP / 2


def test_latch_that_java_set_to_zero_is_down(arrive: Arrive, peek: Any) -> None:
    peek.set("k", 0)

    assert not isinstance(arrive().ask(), Busy)


def test_java_is_told_by_our_last_count(arrive: Arrive, peek: Any) -> None:
    person = arrive()
    with messages(peek, "redisson*") as published:
        begin(person, 2)
        count(person)
        count(person)
        assert published() == [(LATCH_CHANNEL, "1"), (LATCH_CHANNEL, "0")]


def test_wait_survives_that_the_message_is_lost(arrive: Arrive, peek: Any) -> None:
    """D22: Redisson's own waiters would sleep for ever."""
    person = arrive()
    begin(person, 1)
    waiting = person.wait()
    eventually(lambda: listeners(peek) == 1)

    java_counts_down(peek, says=False)

    waiting.result(POLL_CAP + SOON)


def test_wait_survives_that_its_wake_connection_is_cut_off(arrive: Arrive, peek: Any) -> None:
    """D22, and nobody hears the message that is sent meanwhile."""
    person = arrive()
    begin(person, 1)
    waiting = person.wait()
    eventually(lambda: listeners(peek) == 1)

    peek.client_kill_filter(_type="pubsub")
    java_counts_down(peek)

    waiting.result(POLL_CAP + SOON)


def test_marker_that_java_leaves_behind_is_swept_away(arrive: Arrive, peek: Any) -> None:
    person = arrive()
    begin(person, 1)
    java_counts_down(peek)
    assert litter(peek) == {KIND}

    person.ask()

    assert litter(peek) == set()
