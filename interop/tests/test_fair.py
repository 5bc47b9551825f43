"""Redisson's RFairLock and our fair_lock() in one queue."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from interlock import AcquireTimeout
from tests.support.eventually import eventually
from tests.support.worlds import World

from ..harness.foreign import SOON
from ..harness.matrix import BOTH, TO_THEM, TO_US, meets
from ..harness.modes import everywhere
from ..harness.peers import Cast
from .looking import PROMPTLY, SLACK, left_behind, queue, scores
from .people import Meeting, Person

pytestmark = [meets("Redisson", "RFairLock", "fair_lock()"), everywhere]

#: Fixed leases, so that no watchdog moves the end of what a score is counted from.
LEASE = 60


@pytest.fixture
def fair(cast: Cast, world: World, redis_url: str, name: str) -> Meeting:
    return Meeting(cast, world, redis_url, "fair", name)


@pytest.fixture
def join(peek: Any, name: str) -> Callable[[Person], Person]:
    """Let somebody queue up, and know that it stands there before the next one comes."""

    def join(person: Person) -> Person:
        before = len(queue(peek, name))
        person.seek()
        eventually(lambda: len(queue(peek, name)) == before + 1 and person.parked)
        return person

    return join


def gone(peek: Any, name: str) -> bool:
    return not queue(peek, name) and not scores(peek, name) and not left_behind(peek)


@pytest.mark.parametrize("first", ["J", "P"])
@pytest.mark.parametrize("order", ["AAAJ", "AJAP", "JAAA"])
@meets(direction=BOTH)
def test_each_waiter_of_one_client_has_a_turn_of_its_own(
    first: str, order: str, fair: Meeting, join: Callable[[Person], Person], peek: Any, name: str
) -> None:
    """An A is a thread or task of one and the same client of ours."""
    holder = fair.person(first)
    holder.take()
    client = fair.ours().client
    people = [fair.ours(client=client) if side == "A" else fair.person(side) for side in order]
    line = [join(person) for person in people]
    while line:
        holder.give()
        holder = line.pop(0)
        holder.turn.result(SOON)
        assert not any(person.turn.done() for person in line)
    holder.give()
    eventually(lambda: gone(peek, name))


@pytest.mark.parametrize("first", ["J", "P"])
@pytest.mark.parametrize("order", ["JPJP", "PJJP", "PPJJ"])
@meets(direction=BOTH)
def test_turns_are_taken_in_the_order_of_arrival(
    first: str, order: str, fair: Meeting, join: Callable[[Person], Person], peek: Any, name: str
) -> None:
    holder = fair.person(first)
    holder.take()
    line = [join(fair.person(side)) for side in order]
    while line:
        holder.give()
        holder = line.pop(0)
        holder.turn.result(PROMPTLY)
        assert peek.hgetall(name) == {holder.owner: "1"}
        assert not any(other.turn.done() for other in line)
    holder.give()
    eventually(lambda: gone(peek, name))


@pytest.mark.parametrize("side", ["J", "P"])
@meets(direction=BOTH)
def test_a_try_overtakes_nobody_and_leaves_no_trace(
    side: str, fair: Meeting, join: Callable[[Person], Person], peek: Any, name: str
) -> None:
    holder, other = fair.person("P" if side == "J" else "J"), fair.person(side)
    holder.take()
    waiting = join(fair.person(side))
    assert not other.tries()
    assert len(queue(peek, name)) == len(scores(peek, name)) == 1
    holder.give()
    waiting.turn.result(PROMPTLY)
    waiting.give()
    assert other.tries()
    other.give()


@meets(direction=BOTH)
def test_scores_are_redissons_after_each_enqueue_and_acquire(
    fair: Meeting, join: Callable[[Person], Person], peek: Any, name: str
) -> None:
    """The first waits as long as the lease and its own time, each other one its own more;
    whoever gets the lock takes its time off those behind it."""
    holder = fair.java(lease_ms=LEASE * 1000)
    holder.take()
    ours, java = fair.ours(timeout=40), fair.java(wait_ms=50_000)
    line = [join(ours), join(java), join(fair.ours(timeout=70))]
    one, two, three = (scores(peek, name)[owner] for owner in queue(peek, name))
    assert one == pytest.approx(peek.pexpiretime(name) + 40_000, abs=5)
    assert two - one == 50_000
    assert three - two == 70_000
    for lowered, giver in ((40_000, holder), (90_000, ours)):
        giver.give()
        line.pop(0).turn.result(PROMPTLY)
        assert scores(peek, name)[queue(peek, name)[-1]] == three - lowered
    java.give()
    line.pop(0).turn.result(PROMPTLY)
    assert scores(peek, name) == {}


@meets(direction=TO_THEM)
def test_java_behind_our_waiter_loses_nothing_when_we_give_up(
    fair: Meeting, join: Callable[[Person], Person], peek: Any, name: str
) -> None:
    holder = fair.java(lease_ms=LEASE * 1000)
    holder.take()
    ours, java = join(fair.ours(timeout=2)), join(fair.java())
    us, before = queue(peek, name)[0], scores(peek, name)[java.owner]
    with pytest.raises(AcquireTimeout):
        ours.turn.result(SOON)
    assert queue(peek, name) == [java.owner]
    assert us not in scores(peek, name)
    assert scores(peek, name)[java.owner] == before - 2000
    holder.give()
    java.turn.result(PROMPTLY)
    java.give()
    eventually(lambda: gone(peek, name))


@meets(direction=TO_US)
def test_we_behind_javas_waiter_lose_nothing_when_it_gives_up(
    fair: Meeting, join: Callable[[Person], Person], peek: Any, name: str
) -> None:
    holder = fair.ours(lease=LEASE)
    holder.take()
    java, ours = join(fair.java(wait_ms=1500)), join(fair.ours())
    us = queue(peek, name)[1]
    before = scores(peek, name)[us]
    assert java.turn.result(SOON) is False
    assert queue(peek, name) == [us]
    assert scores(peek, name)[us] == before - 1500
    holder.give()
    ours.turn.result(PROMPTLY)
    ours.give()
    eventually(lambda: gone(peek, name))


@pytest.mark.parametrize(("first", "head"), [("J", "P"), ("P", "J")])
@meets(direction=BOTH)
def test_a_lease_that_ends_lets_the_head_of_the_queue_in(
    first: str, head: str, fair: Meeting, join: Callable[[Person], Person], peek: Any, name: str
) -> None:
    """Nobody tells it: the head sleeps until then by itself."""
    terms: dict[str, Any] = {"lease": 1.5, "renew": False}
    holder = fair.java(lease_ms=1500) if first == "J" else fair.ours(**terms)
    holder.take()
    waiting = join(fair.person(head))
    began, left = time.monotonic(), peek.pttl(name) / 1000
    waiting.turn.result(left + SLACK)
    assert time.monotonic() - began > left - 0.01
    waiting.give()
