"""Whatever one has and others wait for: both sides stand in one queue, and keep its order."""

from __future__ import annotations

from typing import Any

import pytest

from interlock import AcquireTimeout
from tests.support.eventually import eventually

from ...harness.foreign import SOON
from ...harness.matrix import BOTH, TO_THEM, TO_US, meets
from ..looking import PROMPTLY
from .meeting import EXCLUSIVE, Meeting, newest

pytestmark = [meets("Curator"), pytest.mark.parametrize(("kind", "terms"), EXCLUSIVE)]


@meets(direction=TO_THEM)
def test_java_is_refused_what_we_hold(kind: str, terms: Any, meeting: Meeting) -> None:
    ours, java = meeting.ours(kind, **terms), meeting.java(kind, **terms)
    ours.take()
    standing = meeting.nodes()
    assert not java.tries()
    assert meeting.nodes() == standing
    ours.give()
    assert java.tries()
    assert java.token > ours.token


@meets(direction=TO_US)
def test_we_are_refused_what_java_holds(kind: str, terms: Any, meeting: Meeting) -> None:
    java, ours = meeting.java(kind, **terms), meeting.ours(kind, **terms)
    java.take()
    token, standing = java.token, meeting.nodes()
    assert not ours.tries()
    assert meeting.nodes() == standing
    java.give()
    assert ours.tries()
    assert ours.token > token


@newest
@meets(direction=TO_US)
def test_who_of_ours_gives_up_leaves_nothing_behind(
    kind: str, terms: Any, meeting: Meeting
) -> None:
    java, ours = meeting.java(kind, **terms), meeting.ours(kind, **terms)
    java.take()
    standing = meeting.nodes()
    with pytest.raises(AcquireTimeout):
        meeting.world.do(lambda: ours.lock.acquire(timeout=0.2))
    assert meeting.nodes() == standing


@meets(direction=TO_THEM)
def test_javas_waiter_is_woken_by_our_release(kind: str, terms: Any, meeting: Meeting) -> None:
    """Java never asks by itself: whoever is not woken waits for ever."""
    ours, java = meeting.ours(kind, **terms), meeting.java(kind, **terms)
    ours.take()
    meeting.queue_up(java)
    meeting.world.do(ours.hold.release)
    assert java.turn.result(SOON) is True


@meets(direction=TO_US)
def test_our_waiter_holds_promptly_after_javas_release(
    kind: str, terms: Any, meeting: Meeting
) -> None:
    java, ours = meeting.java(kind, **terms), meeting.ours(kind, **terms)
    java.take()
    meeting.queue_up(ours)
    giving = java.actor.start(java.kind, "release", meeting.path)
    assert ours.turn.result(PROMPTLY).token > 0
    assert giving.result(SOON) is True


@pytest.mark.parametrize("sides", ["JJPJP", "PPJPJ"])
@meets(direction=BOTH)
def test_whoever_came_first_is_first(sides: str, kind: str, terms: Any, meeting: Meeting) -> None:
    """One has it and four wait; each gives it to the next, whichever side that is on."""
    people = [meeting.person(side, kind, **terms) for side in sides]
    first, *others = people
    first.take()
    for person in others:
        meeting.queue_up(person)
    holder, tokens = first, [first.token]
    for number, person in enumerate(others):
        holder.give()
        assert person.turn.result(SOON)
        assert not any(late.turn.done() for late in others[number + 1 :])
        holder = person
        tokens.append(person.token)
    holder.give()
    assert tokens == sorted(set(tokens))
    eventually(lambda: meeting.nodes() == [])
