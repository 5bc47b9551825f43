"""All of several locks by hand: in order, within one deadline, all or nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from interlock.errors import AcquireTimeout, LockLost, OutcomeUnknown, StoreUnavailable
from interlock.recipes.multilock import take_all

from .hand import Clock, Hand
from .members import Home, Thing, fly, friends, given, settle, take, told

#: Whatever can end the taking of a member.
ENDS: list[Callable[[], BaseException]] = [
    lambda: AcquireTimeout("c", "somebody", 5.0),
    lambda: StoreUnavailable("out of reach"),
    lambda: OutcomeUnknown("no answer"),
    KeyboardInterrupt,
    asyncio.CancelledError,
]
INTERRUPTIONS: list[Callable[[], BaseException]] = [KeyboardInterrupt, asyncio.CancelledError]


class Case:
    """Some members to be taken all, with a clock to move."""

    def __init__(self, names: str = "abc", timeout: float = 60.0) -> None:
        self.clock, self.members = Clock(), friends(names)
        self.deadline = self.clock() + timeout

    def start(self) -> Hand:
        return Hand(take_all(self.members, self.deadline, self.clock))

    @property
    def held(self) -> list[str]:
        return [member.name for member in self.members if member.depth]


# --- taking --------------------------------------------------------------------------------


def test_members_are_taken_one_after_another_in_their_order() -> None:
    case = Case()
    hand = case.start()

    things = take(hand, 3)

    assert told(hand) == ["take a", "take b", "take c"]
    assert hand.result == things
    assert case.held == ["a", "b", "c"]


def test_one_deadline_is_shared_by_all() -> None:
    case = Case(timeout=10.0)
    hand = case.start()
    timeouts = []
    for seconds in (4.0, 7.0, 0.0):
        timeouts.append(hand.request.args[0])
        case.clock.now += seconds
        take(hand)

    assert timeouts == [10.0, 6.0, 0.0]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("at", range(3))
def test_whatever_ends_the_taking_of_one_everything_taken_is_given_back_and_nothing_more(
    at: int, end: Callable[[], BaseException]
) -> None:
    case, error = Case(), end()
    hand = case.start()
    taken = take(hand, at)

    hand.fail(error)
    if taken:
        settle(hand)

    assert hand.error is error
    assert told(hand)[at + 1 :] == given(*(thing.member for thing in taken))
    assert case.held == []


def test_what_was_held_before_is_left_as_it_was() -> None:
    case, error = Case(), KeyboardInterrupt()
    mine, other = Thing("a"), Thing("b")
    case.members[0].stand(mine)
    case.members[1].stand(other)
    hand = case.start()
    hand.reply(mine)  # entered once more

    hand.fail(error).reply()

    assert told(hand) == ["take a", "take b", "give a"]
    assert [member.depth for member in case.members] == [1, 1, 0]


@pytest.mark.parametrize("interruption", INTERRUPTIONS)
def test_member_that_was_taken_without_our_hearing_of_it_is_given_back_too(
    interruption: Callable[[], BaseException],
) -> None:
    case, struck = Case(), interruption()
    hand = case.start()
    take(hand)
    case.members[1].stand(Thing("b"))

    settle(hand.fail(struck))

    assert told(hand)[2:] == ["give b, give a"]
    assert hand.error is struck


def test_abandoned_steps_ask_for_nothing() -> None:
    case = Case()
    hand = case.start()
    take(hand)

    hand.steps.close()

    assert told(hand) == ["take a", "take b"]


# --- a member lost meanwhile -------------------------------------------------------------------


def test_member_lost_while_waiting_for_the_next_spoils_the_round() -> None:
    case = Case()
    hand = case.start()
    take(hand, 2)[0].lost = True

    take(hand)
    hand.reply([None, None, LockLost("a", 1, 2.0, "another client has it")])
    again = take(hand, 3)

    assert told(hand)[3:] == ["give c, give b, give a", "take a", "take b", "take c"]
    assert hand.result == again
    assert case.held == ["a", "b", "c"]


def test_member_lost_as_the_last_one_is_taken_spoils_the_round_as_well() -> None:
    case = Case("ab")
    hand = case.start()
    take(hand)
    lost = Thing("b")
    lost.lost = True

    hand.reply(lost)

    assert told(hand)[-1] == "give b, give a"


def test_spoiled_round_is_the_last_one_once_the_deadline_has_passed() -> None:
    case = Case("ab", timeout=10.0)
    hand = case.start()
    first = take(hand)[0]
    case.clock.now += 12.0
    first.lost = True
    take(hand)

    settle(hand)

    assert told(hand) == ["take a", "take b", "give b, give a"]
    assert isinstance(hand.error, AcquireTimeout)
    assert (hand.error.name, hand.error.waited) == ("a", 12.0)
    assert case.held == []


# --- trouble in giving back --------------------------------------------------------------------


def test_failure_to_give_one_back_is_noted_and_the_others_are_given_back() -> None:
    case, error = Case(), KeyboardInterrupt()
    hand = case.start()
    take(hand, 2)

    hand.fail(error).reply([StoreUnavailable("out of reach"), None])

    assert told(hand)[3:] == ["give b, give a"]
    assert hand.error is error
    assert error.__notes__ == ["lock 'b' was not given back: out of reach"]


@pytest.mark.parametrize("second", INTERRUPTIONS)
def test_second_interruption_while_giving_back_keeps_the_first_and_gives_back_the_rest(
    second: Callable[[], BaseException],
) -> None:
    case, first = Case(), asyncio.CancelledError()
    case.members[0].client = Home()
    hand = case.start()
    take(hand, 2)

    hand.fail(first)
    fly(hand)
    hand.fail(second()).reply()

    assert told(hand)[3:] == ["begin give b", "begin give a", "arrival", "settle"]
    assert hand.error is first
    assert "the locks 'a', 'b' were not all given back" in first.__notes__[0]


@pytest.mark.parametrize("interruption", INTERRUPTIONS)
def test_interruption_while_a_spoiled_round_is_given_back_gives_back_the_rest(
    interruption: Callable[[], BaseException],
) -> None:
    case, struck = Case(), interruption()
    hand = case.start()
    take(hand)[0].lost = True
    take(hand, 2)

    hand.fail(struck)

    assert told(hand)[3:] == ["give c, give b, give a"]
    assert hand.error is struck
    assert case.held == []


def test_member_that_still_stands_after_an_interrupted_giving_back_is_given_back_again() -> None:
    """The interruption struck before its own client had begun to give it back."""
    case, struck = Case("ab"), KeyboardInterrupt()
    hand = case.start()
    take(hand)[0].lost = True
    (last,) = take(hand)
    case.members[1].stand(last)

    settle(hand.fail(struck))

    assert told(hand)[2:] == ["give b, give a", "give b"]
    assert hand.error is struck
