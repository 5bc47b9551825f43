"""Several locks given back by hand: all at once and within one limit, whatever goes wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from interlock.errors import InterlockError, LockLost, OutcomeUnknown, StoreUnavailable
from interlock.recipes.lock import GRACE
from interlock.recipes.multilock import give_all, take_all, take_majority
from interlock.steps import Elsewhere, Steps, Together

from .hand import Clock, Hand
from .members import Friend, Thing, friends, take, told

INTERRUPTIONS: list[Callable[[], BaseException]] = [KeyboardInterrupt, asyncio.CancelledError]

#: When everything must have been given back.
LIMIT = 105.0


def held(*names: str) -> tuple[list[Friend], list[Thing]]:
    members, things = friends("".join(names)), [Thing(name) for name in names]
    for member, thing in zip(members, things, strict=True):
        member.stand(thing)
    return members, things


def give(members: list[Friend], things: list[Any], clock: Clock | None = None) -> Hand:
    return Hand(give_all(members, things, LIMIT, clock or Clock()))


def client(_: Steps[Any]) -> None:
    """How another client runs steps."""


def another(_: Steps[Any]) -> None:
    """How yet another client runs steps."""


def test_all_are_given_back_at_once_the_last_one_first() -> None:
    hand = give(*held("a", "b", "c")).reply([None] * 3)

    assert told(hand) == ["give c, give b, give a"]
    assert {each.until for each in hand.requests[0].calls} == {LIMIT}  # type: ignore[union-attr]
    assert hand.result == []


def test_what_was_not_got_is_not_given_back() -> None:
    members, things = held("a", "b", "c")

    hand = give(members, [things[0], None, things[2]]).reply([None] * 2)

    assert told(hand) == ["give c, give a"]


def test_failures_are_told_when_all_have_been_given_back() -> None:
    lost, down = LockLost("c", 1, 2.0, "gone"), StoreUnavailable("out of reach")

    hand = give(*held("a", "b", "c")).reply([lost, None, down])

    assert hand.result == [lost, down]


def test_silence_is_a_failure_of_each() -> None:
    hand = give(*held("a", "b", "c")).fail(OutcomeUnknown("no answer"))

    assert told(hand) == ["give c, give b, give a"]
    assert [str(failure) for failure in hand.result] == ["no answer"] * 3


@pytest.mark.parametrize("interruption", INTERRUPTIONS)
def test_interruption_goes_on_when_all_have_been_given_back(
    interruption: Callable[[], BaseException],
) -> None:
    first = interruption()
    members, things = held("a", "b", "c")
    members[0].abroad = client

    hand = give(members, things).fail(first).fail(KeyboardInterrupt())

    assert told(hand) == ["give c, give b", "elsewhere"]
    assert hand.error is first


# --- of several clients --------------------------------------------------------------------------


def abroad(hand: Hand) -> Hand:
    """What another client is to run, by hand."""
    assert isinstance(hand.request, Elsewhere)
    return Hand(hand.request.steps)


def test_those_of_one_client_are_given_back_together_by_itself() -> None:
    members, things = held("a", "b", "c", "d")
    members[0].abroad = members[2].abroad = client
    hand = give(members, things)
    hand.reply([None, None])
    assert hand.request.run is client

    theirs = abroad(hand).reply([None, None])
    hand.reply(theirs.result)

    assert told(hand) == ["give d, give b", "elsewhere"]
    assert told(theirs) == ["give c, give a"]
    assert hand.result == []


def test_failures_of_other_clients_are_told_as_well() -> None:
    members, things = held("a", "b")
    members[0].abroad = client
    down = StoreUnavailable("out of reach")

    hand = give(members, things).reply().reply([down])

    assert hand.result == [down]


def test_silent_client_leaves_each_of_the_others_a_chance_within_the_same_limit() -> None:
    clock = Clock()
    members, things = held("a", "b", "c")
    members[0].abroad, members[1].abroad = client, another
    hand, ends = give(members, things, clock), []
    for _ in range(3):
        steps = abroad(hand) if isinstance(hand.request, Elsewhere) else hand
        ends.append(steps.request.until)
        assert ends[-1] > clock.now
        clock.now = ends[-1]
        failure = OutcomeUnknown("no answer")
        _ = hand.fail(failure) if steps is hand else hand.reply([failure])

    assert ends == [pytest.approx(104.6), pytest.approx(104.8), LIMIT]
    assert len(hand.result) == 3


def test_client_that_answers_leaves_its_time_to_the_next() -> None:
    members, things = held("a", "b")
    members[0].abroad = client

    hand = give(members, things).reply()

    assert abroad(hand).request.until == LIMIT


def test_limit_that_has_passed_still_gives_everything_back() -> None:
    members, things = held("a", "b")
    members[0].abroad = client

    hand = give(members, things, Clock(LIMIT + 1)).reply().reply([None])

    assert told(hand) == ["give b", "elsewhere"]


# --- however late each answer is ---------------------------------------------------------------


def late(hand: Hand, clock: Clock, taken: int) -> None:
    """Let members be taken at once, and then let nothing be answered in its time."""
    take(hand, taken)
    while not hand.done:
        request = hand.request
        steps = Hand(request.steps) if isinstance(request, Elsewhere) else hand
        asked = steps.request
        calls = asked.calls if isinstance(asked, Together) else (asked,)
        clock.now = max(clock.now, *(each.until for each in calls))
        silence = OutcomeUnknown("no answer")
        _ = hand.fail(silence) if steps is hand else hand.reply([silence] * len(calls))


@pytest.mark.parametrize("timeout", [0.0, 0.2, 5.0])
@pytest.mark.parametrize("taken", [0, 1, 5])
@pytest.mark.parametrize("clients", [1, 2, 3])
@pytest.mark.parametrize("kind", ["all", "majority"])
def test_acquire_of_several_ends_two_seconds_after_its_deadline_at_the_latest(
    kind: str, clients: int, taken: int, timeout: float
) -> None:
    clock, members = Clock(), friends("abcdefghij")
    runs = [None, client, another][:clients]
    for place, member in enumerate(members):
        member.abroad = runs[place % clients]
    deadline = clock() + timeout
    steps = (
        take_all(members, deadline, clock)
        if kind == "all"
        else take_majority(members, deadline, clock, 0.5, lambda event: None)
    )

    hand = Hand(steps)
    late(hand, clock, taken)

    assert isinstance(hand.error, InterlockError)
    assert clock.now <= deadline + GRACE
    assert [member.name for member in members if member.depth] == []


def test_member_is_not_asked_for_when_there_is_no_time_left_for_its_answer() -> None:
    clock, members = Clock(), friends("abc")
    hand = Hand(take_all(members, 100.0, clock))
    take(hand)
    clock.now += 1.5

    take(hand)
    hand.reply([None, None])

    assert told(hand) == ["take a", "take b", "give b, give a"]
    assert isinstance(hand.error, StoreUnavailable)
    assert "2 of 3 locks were taken in 1.5 s" in str(hand.error)
    assert "a try of so many needs quicker answers" in str(hand.error)
