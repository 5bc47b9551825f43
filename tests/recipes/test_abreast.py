"""Algorithms of several clients by hand: none waits for another, and whoever is slow is let go."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from interlock.abreast import GIVE_WAY, abreast
from interlock.errors import OutcomeUnknown, StoreUnavailable
from interlock.recipes.majority import MOMENT, UNHEARD
from interlock.steps import Arrival, Begin, Call, Park, Settle, Steps, Via, call, park

from .hand import Clock, Hand
from .members import Home, Majority, PaperFlight, busy, fly, told

INTERRUPTIONS: list[Callable[[], BaseException]] = [KeyboardInterrupt, asyncio.CancelledError]


def asks(*questions: str) -> Steps[list[Any]]:
    """Ask one thing after another; answers the replies."""
    replies = []
    for question in questions:
        reply: Any = yield from call(question, (question,), (), 109.0)
        replies.append(reply)
    return replies


class Careful:
    """Asks something, and takes it back whatever interrupts; remembers what did."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seen: list[BaseException] = []

    def steps(self) -> Steps[str]:
        try:
            yield from call(self.name, (self.name,), (), 109.0)
        except BaseException as interruption:
            self.seen.append(interruption)
            if not isinstance(interruption, GeneratorExit):
                yield from call(f"undo {self.name}", (self.name,), (), 109.0)
            raise
        return self.name


def for_ever(outcomes: Sequence[Any]) -> float:
    return math.inf


class Enough:
    """Waits until so many have ended, and then for some seconds more."""

    def __init__(self, count: int, clock: Clock, more: float = 0.0) -> None:
        self.count, self.clock, self.more = count, clock, more
        self.limit = math.inf

    def __call__(self, outcomes: Sequence[Any]) -> float:
        if sum(outcome is not None for outcome in outcomes) >= self.count:
            self.limit = min(self.limit, self.clock() + self.more)
        return self.limit


def start(*several: Steps[Any], patience: Any = for_ever, clock: Clock | None = None) -> Hand:
    clients = [Home() for _ in several]
    return Hand(abreast(clients, *several, clock=clock or Clock(), patience=patience))


def answered(flight: PaperFlight, *replies: Any) -> None:
    flight.replies = list(replies)


# --- asking --------------------------------------------------------------------------------------


def test_all_are_asked_before_any_answer_is_awaited() -> None:
    hand = start(asks("a"), asks("b"), asks("c"))

    flights = fly(hand)

    assert [flight.names for flight in flights] == [["a"], ["b"], ["c"]]
    assert isinstance(hand.request, Arrival)
    assert hand.request.flights == tuple(flights)


def test_each_goes_on_as_soon_as_it_is_answered() -> None:
    hand = start(asks("a", "b"), asks("c"))
    slow, quick = fly(hand)
    answered(quick, 3)
    hand.reply()
    answered(slow, 1)
    hand.reply()
    (last,) = fly(hand)
    answered(last, 2)
    hand.reply()

    assert hand.result == [[1, 2], [3]]


def test_failure_of_one_is_its_own() -> None:
    hand, down = start(asks("a"), asks("b")), StoreUnavailable("out of reach")
    first, second = fly(hand)
    first.replies = down
    answered(second, 2)
    hand.reply()

    assert hand.result == [down, [2]]


def test_link_that_refuses_to_send_fails_for_its_own_algorithm_alone() -> None:
    hand, down = start(asks("a"), asks("b")), StoreUnavailable("closed")
    hand.fail(down)
    (other,) = fly(hand)
    answered(other, 2)
    hand.reply()

    assert hand.result == [down, [2]]


def test_what_cannot_be_sent_is_performed_when_all_else_has_had_a_moment() -> None:
    clock = Clock()
    hand = start(asks("a"), park(None, 105.0), asks("b"), clock=clock)
    hand.reply(None)  # the first link has to wait for its answer
    flight = PaperFlight(hand.request)
    hand.reply(flight)
    assert isinstance(hand.request, Arrival) and hand.request.until == clock() + GIVE_WAY
    clock.now += GIVE_WAY
    hand.reply()
    assert isinstance(hand.request, Via) and isinstance(hand.request.request, Call)
    hand.reply(1)
    assert isinstance(hand.request.request, Park)
    answered(flight, 2)
    hand.reply(False)

    assert hand.result == [[1], False, [2]]


def test_nothing_at_all_asks_for_nothing() -> None:
    hand = start()

    assert (hand.requests, hand.result) == ([], [])


# --- letting go ----------------------------------------------------------------------------------


def test_who_has_not_answered_when_it_is_decided_is_let_go() -> None:
    clock, silent = Clock(), Careful("c")
    hand = start(asks("a"), asks("b"), silent.steps(), patience=Enough(2, clock), clock=clock)
    *others, left = fly(hand)
    for flight in others:
        answered(flight, 1)
    hand.reply()

    assert left.left
    assert hand.result[:2] == [[1], [1]]
    assert [type(each) for each in silent.seen] == [OutcomeUnknown]
    assert told(hand)[-1] == "arrival"  # what it wants to take back is for its keeper


def test_those_that_are_worth_a_moment_get_it_and_no_more() -> None:
    clock = Clock()
    hand = start(asks("a"), asks("b"), patience=Enough(1, clock, more=0.5), clock=clock)
    first, second = fly(hand)
    answered(first, 1)
    hand.reply()
    assert hand.request == Arrival((second,), 100.5)
    clock.now = 100.5

    hand.reply()

    assert second.left and isinstance(hand.result[1], OutcomeUnknown)


def test_answer_by_waiting_is_not_worth_more_than_the_moment() -> None:
    clock = Clock()
    hand = start(asks("a", "b"), asks("c"), patience=Enough(1, clock, more=0.5), clock=clock)
    hand.reply(None)
    (other,) = fly(hand)
    answered(other, 3)

    hand.reply()

    assert hand.request.request.until == 100.5


# --- interruptions -------------------------------------------------------------------------------


@pytest.mark.parametrize("interruption", INTERRUPTIONS)
def test_interruption_is_raised_in_each_when_what_is_under_way_is_settled(
    interruption: Callable[[], BaseException],
) -> None:
    first, several = interruption(), [Careful("a"), Careful("b")]
    hand = start(*(each.steps() for each in several))
    fly(hand)

    hand.fail(first)
    assert isinstance(hand.request, Settle) and len(hand.request.flights) == 2
    hand.reply()
    assert [each.seen for each in several] == [[first], [first]]
    for flight in fly(hand):
        answered(flight, None)
    hand.reply()

    assert told(hand)[-3:] == ["begin undo a a", "begin undo b b", "arrival"]
    assert hand.error is first


@pytest.mark.parametrize("at", range(3))
def test_interruption_while_they_are_sent_leaves_none_out(at: int) -> None:
    first, several = KeyboardInterrupt(), [Careful(name) for name in "abc"]
    hand = start(*(each.steps() for each in several))
    for _ in range(at):
        hand.reply(PaperFlight(hand.request))

    hand.fail(first).reply()
    for flight in fly(hand):
        answered(flight, None)
    hand.reply()

    assert [each.seen for each in several] == [[first]] * 3
    assert hand.error is first


def test_second_interruption_is_heard_and_the_first_goes_on() -> None:
    first, second, careful = KeyboardInterrupt(), KeyboardInterrupt(), Careful("a")
    hand = start(careful.steps(), asks("b"))
    fly(hand)
    hand.fail(first).reply()
    fly(hand)

    hand.fail(second).reply()

    assert careful.seen == [first]
    assert hand.error is first


def test_who_is_interrupted_is_not_let_go() -> None:
    clock, careful = Clock(), Careful("a")
    hand = start(careful.steps(), asks("b"), patience=Enough(0, clock, more=5.0), clock=clock)
    fly(hand)
    clock.now += 10.0

    hand.fail(KeyboardInterrupt()).reply()

    assert isinstance(hand.request, Begin)


# --- a majority of several clients ---------------------------------------------------------------


def test_majority_that_is_decided_gives_the_others_a_moment() -> None:
    case = Majority(apart=True)
    *others, silent = fly(case.hand)
    for flight in others:
        flight.land()
    case.hand.reply()
    assert case.hand.request == Arrival((silent,), 100.0 + MOMENT)
    silent.land()
    case.hand.reply()

    assert [hold.member for hold in case.hand.result] == ["a", "b", "c"]
    assert case.members[2].client.silence.unheard_until < case.clock.now


def test_member_that_did_not_use_its_moment_gets_no_other_for_a_while() -> None:
    case = Majority(apart=True)
    *others, silent = fly(case.hand)
    for flight in others:
        flight.land()
    case.clock.now = case.hand.reply().request.until
    case.hand.reply()

    assert silent.left
    assert [hold and hold.member for hold in case.hand.result] == ["a", "b", None]
    assert case.members[2].client.silence.unheard_until == case.clock.now + UNHEARD


def test_member_that_is_known_to_be_silent_is_not_waited_for() -> None:
    case = Majority(apart=True)
    case.members[2].client.silence.unheard_until = case.clock.now + UNHEARD
    *others, silent = fly(case.hand)
    for flight in others:
        flight.land()
    case.hand.reply()

    assert silent.left and case.hand.done


def test_member_that_was_silent_for_a_moment_is_heard_again() -> None:
    case = Majority(apart=True)
    case.members[2].client.silence.unheard_until = case.clock.now + UNHEARD
    for flight in fly(case.hand):
        flight.land()
    case.hand.reply()

    assert [hold.member for hold in case.hand.result] == ["a", "b", "c"]


def test_members_without_a_majority_are_waited_for_as_long_as_they_may_take() -> None:
    case = Majority(apart=True)
    first, *_ = fly(case.hand)
    first.land()
    case.hand.reply()

    assert case.hand.request.until == math.inf


def test_majority_that_is_out_of_the_question_is_given_back_after_a_moment() -> None:
    case = Majority(apart=True)
    first, second, _ = fly(case.hand)
    first.land(a=busy("a"))
    second.land(b=busy("b"))
    case.clock.now = case.hand.reply().request.until
    case.hand.reply()

    assert told(case.hand)[-1].startswith("pause until")
