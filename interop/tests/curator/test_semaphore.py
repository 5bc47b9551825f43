"""Curator's InterProcessSemaphoreV2 and our semaphores: one number of permits for both."""

from __future__ import annotations

from typing import Any

import pytest

from interlock import AcquireTimeout
from tests.support.eventually import eventually

from ...harness.foreign import SOON
from ...harness.matrix import BOTH, TO_THEM, TO_US, meets
from ..looking import PROMPTLY
from .meeting import Meeting, newest

pytestmark = meets("Curator", "InterProcessSemaphoreV2")

#: Our kinds of semaphores, and where each keeps the number of its permits.
KINDS = [
    pytest.param("semaphore", "count", marks=meets(ours="semaphore()")),
    pytest.param("leased", "leased", marks=meets(ours="leased_semaphore()")),
]

each_kind = pytest.mark.parametrize(("kind", "count"), KINDS)


@each_kind
@meets(direction=BOTH)
def test_two_at_a_time_and_in_order(kind: str, count: str, meeting: Meeting) -> None:
    """Three of each side want two permits; whoever gives one back lets the next in."""
    people = [meeting.person(side, kind, max=2) for side in "JPJPJP"]
    inside, waiting = people[:2], people[2:]
    for person in inside:
        person.take()
    for person in waiting:
        meeting.queue_up(person)
    tokens = [person.token for person in inside]
    while waiting:
        inside.pop(0).give()
        person = waiting.pop(0)
        assert person.turn.result(SOON)
        assert not any(late.turn.done() for late in waiting)
        inside.append(person)
        tokens.append(person.token)
    for person in inside:
        person.give()
    assert tokens == sorted(set(tokens))
    eventually(lambda: meeting.nodes() == [])


@newest
@each_kind
@meets(direction=BOTH)
def test_who_gives_up_leaves_neither_lease_nor_place(
    kind: str, count: str, meeting: Meeting
) -> None:
    """The first in line has a lease already, which is one too many; the other only its place."""
    meeting.java(kind, max=1).take()
    first, second = meeting.ours(kind, max=1), meeting.ours(kind, max=1)
    java = meeting.java(kind, max=1)
    standing = meeting.nodes()
    giving_up = [
        meeting.world.start(lambda each=each: each.lock.acquire(timeout=1.0))  # type: ignore[misc]
        for each in (first, second)
    ]
    eventually(lambda: len(meeting.inside("/leases")) == 2 and len(meeting.inside("/locks")) == 2)
    for each in giving_up:
        with pytest.raises(AcquireTimeout):
            each.result(SOON)
    assert meeting.nodes() == standing
    assert java.seek(ms=10).result(SOON) is False
    eventually(lambda: meeting.nodes() == standing)


@newest
@meets(ours="semaphore()", direction=BOTH)
def test_who_takes_two_leaves_java_one_of_three(meeting: Meeting) -> None:
    java, late = meeting.java("semaphore", max=3), meeting.java("semaphore", max=3)
    heavy = meeting.ours("semaphore", max=3, weight=2)
    heavy.take()
    java.take()
    assert not late.tries()
    assert len(meeting.inside("/leases")) == 3
    meeting.queue_up(late)
    heavy.give()
    assert late.turn.result(SOON) is True
    meeting.queue_up(heavy)
    java.give()
    assert heavy.token > late.token


# --- how many there are ------------------------------------------------------------------------


def shared(meeting: Meeting, count: str) -> dict[str, Any]:
    """The terms of a semaphore of Java's whose maximum is our number."""
    return {"count": f"{meeting.path}/{count}", "seed": 9}


@each_kind
@meets(primitive="SharedCount", direction=TO_THEM)
def test_java_admits_as_many_as_we_say(kind: str, count: str, meeting: Meeting) -> None:
    ours, java = meeting.ours(kind, max=1), meeting.cast.actor()
    late = [meeting.java(kind, **shared(meeting, count)) for _ in range(2)]
    ours.take()
    node = f"{meeting.path}/{count}"
    assert java.ask("node", "data", node) == "00000001"
    assert java.ask("count", "get", node) == 1
    for person in late:
        meeting.queue_up(person)
    meeting.world.do(lambda: ours.lock.set_permits(2))
    assert late[0].turn.result(PROMPTLY) is True
    assert not late[1].turn.done()
    meeting.world.do(lambda: ours.lock.set_permits(3))
    assert late[1].turn.result(PROMPTLY) is True
    assert java.ask("node", "data", node) == "00000003"
    eventually(lambda: java.ask("count", "get", node) == 3)


@each_kind
@meets(primitive="SharedCount", direction=TO_US)
def test_we_admit_as_many_as_java_says(kind: str, count: str, meeting: Meeting) -> None:
    java, node = meeting.cast.actor(), f"{meeting.path}/{count}"
    java.ask("count", "set", node, value=1)
    holder, late = meeting.java(kind, **shared(meeting, count)), meeting.ours(kind, max=None)
    holder.take()
    assert meeting.world.do(late.lock.available) == 0
    meeting.queue_up(late)
    assert java.ask("count", "try_set", node, value=2) is True
    assert late.turn.result(PROMPTLY).token > holder.token


@newest
@each_kind
@meets(primitive="SharedCount", direction=BOTH)
def test_fewer_permits_take_nothing_from_who_has_one(
    kind: str, count: str, meeting: Meeting
) -> None:
    """Two have one each when the number falls to one: the next has to wait for both."""
    node, operator = f"{meeting.path}/{count}", meeting.cast.actor()
    people = [meeting.ours(kind, max=2), meeting.java(kind, **shared(meeting, count))]
    for person in people:
        person.take()
    assert operator.ask("count", "try_set", node, value=1) is True
    late = meeting.ours(kind, max=None)
    meeting.queue_up(late)
    late.events.clear()
    people[1].give()
    eventually(lambda: late.parked)  # after it has looked again
    assert not late.turn.done()
    people[0].give()
    assert late.turn.result(SOON)


# --- mutexes -----------------------------------------------------------------------------------


@newest
@meets(primitive="InterProcessSemaphoreMutex", ours="mutex()", direction=BOTH)
def test_mutex_is_not_had_twice_on_either_side(meeting: Meeting) -> None:
    ours, java = meeting.ours("smutex"), meeting.java("smutex")
    ours.take()
    assert meeting.world.do(lambda: ours.lock.acquire(blocking=False)) is None
    assert len(meeting.nodes()) == 1
    ours.give()
    java.take()
    assert not java.tries()
    eventually(lambda: len(meeting.nodes()) == 1)


@newest
@meets(primitive="InterProcessSemaphoreMutex", ours="mutex()", direction=TO_THEM)
def test_mutex_of_ours_is_a_lease_in_javas_eyes(meeting: Meeting) -> None:
    """A semaphore of one is the same thing on its side, so it sees who takes part."""
    ours, java = meeting.ours("smutex"), meeting.cast.actor()
    ours.take()
    eventually(lambda: len(meeting.nodes()) == 1)
    assert java.ask("semaphore", "participants", meeting.path, max=1) == meeting.inside("/leases")
    assert meeting.inside("/leases")[0].endswith("-lease-0000000000")
    assert java.ask("semaphore", "acquire", meeting.path, max=1, ms=0) is False
    ours.give()
    assert java.ask("semaphore", "acquire", meeting.path, max=1, ms=0) is True
