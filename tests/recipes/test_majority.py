"""A majority of several locks by hand: some may fail, enough must stand at the end."""

from __future__ import annotations

import pytest

from interlock.errors import (
    AcquireTimeout,
    InterlockError,
    OutcomeUnknown,
    StoreMisconfigured,
    StoreUnavailable,
)
from interlock.recipes.several import PAUSE, SHARE, quorum, standing

from .members import Majority, busy, take, told

#: Whatever can keep one member from being taken without ending the round.
FAILURES: list[InterlockError] = [
    busy("x"),
    StoreUnavailable("out of reach"),
    OutcomeUnknown("no answer"),
    StoreMisconfigured("no rights"),
]


@pytest.mark.parametrize(
    ("members", "enough"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (6, 4), (7, 4)]
)
def test_majority_is_more_than_half(members: int, enough: int) -> None:
    assert quorum(members) == enough
    assert 2 * enough > members >= 2 * (enough - 1)


def test_every_member_is_asked_though_fewer_are_enough() -> None:
    case = Majority()

    things = take(case.hand, 3)

    assert told(case.hand) == ["take a", "take b", "take c"]
    assert case.hand.result == things


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("at", range(3))
def test_one_of_three_may_fail(at: int, failure: InterlockError) -> None:
    case = Majority()
    for place in range(3):
        if place == at:
            case.hand.fail(failure)
        else:
            take(case.hand)

    assert told(case.hand) == ["take a", "take b", "take c"]
    assert [hold is None for hold in case.hand.result] == [place == at for place in range(3)]


def test_two_of_five_may_fail() -> None:
    case = Majority("abcde")
    case.hand.fail(busy("a"))
    take(case.hand)
    case.hand.fail(StoreUnavailable("out of reach"))
    take(case.hand, 2)

    assert [hold and hold.member for hold in case.hand.result] == [None, "b", None, "d", "e"]


def test_half_of_four_are_not_enough() -> None:
    case = Majority("abcd")
    take(case.hand, 2)

    case.hand.fail(busy("c")).fail(busy("d"))

    assert told(case.hand)[-1] == "give b"


def test_nobody_is_asked_once_a_majority_is_out_of_the_question() -> None:
    case = Majority("abcde")
    take(case.hand)

    case.hand.fail(busy("b")).fail(busy("c")).fail(busy("d")).reply()

    assert told(case.hand)[4:] == ["give a", "pause until 100.1"]


# --- what still stands ------------------------------------------------------------------------


def test_hold_that_was_lost_by_the_end_does_not_count() -> None:
    case = Majority()
    take(case.hand)[0].lost = True

    case.hand.fail(busy("b"))
    take(case.hand)
    assert told(case.hand)[3:] == ["give c"]
    case.hand.reply().reply().reply(False)

    assert told(case.hand)[3:] == ["give c", "give a", "pause until 100.1", "take a"]


def test_lost_hold_beside_enough_others_does_no_harm() -> None:
    case = Majority()
    first = take(case.hand)[0]
    first.lost = True

    others = take(case.hand, 2)

    assert case.hand.result == [first, *others]
    assert set(map(id, standing(case.hand.result))) == set(map(id, others))


# --- rounds -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("timeout", "share"), [(60.0, SHARE), (3.0, 1.0), (0.0, 0.0), (float("inf"), SHARE)]
)
def test_no_member_takes_more_than_its_share_of_the_time(timeout: float, share: float) -> None:
    case = Majority(timeout=timeout)

    assert case.hand.request.args == (share,)


def test_member_that_took_its_time_leaves_less_to_the_others_and_never_less_than_a_try() -> None:
    case = Majority(timeout=3.0)
    shares = []
    for seconds in (1.5, 2.0, 0.0):
        shares.append(case.hand.request.args[0])
        case.clock.now += seconds
        take(case.hand)

    assert shares == [1.0, 0.5, 0.0]


@pytest.mark.parametrize(
    ("jitter", "timeout", "instant"), [(0.25, 60.0, PAUSE / 4), (0.9, 0.05, 0.05)]
)
def test_round_that_failed_is_given_back_before_a_pause_and_another_round(
    jitter: float, timeout: float, instant: float
) -> None:
    case = Majority(jitter=jitter, timeout=timeout)
    take(case.hand)
    case.hand.fail(busy("b")).fail(busy("c"))

    assert told(case.hand)[3:] == ["give a"]
    case.hand.reply()
    assert case.hand.request.until == pytest.approx(100.0 + instant)
    assert case.held == []
    case.hand.reply(False)
    again = take(case.hand, 3)

    assert case.hand.result == again


def test_last_round_is_tried_at_the_deadline_and_then_no_other() -> None:
    case = Majority("abc", timeout=0.05, jitter=0.9)
    case.hand.fail(busy("a")).fail(busy("b"))
    case.clock.now = case.hand.request.until
    case.hand.reply(False)

    assert case.hand.request.args == (0.0,)
    case.hand.fail(busy("a")).fail(busy("b"))

    assert told(case.hand)[2:] == ["pause until 100.05", "take a", "take b"]
    assert isinstance(case.hand.error, AcquireTimeout)


def test_timeout_names_a_holder_and_counts_every_round() -> None:
    case = Majority(timeout=10.0)
    case.hand.fail(busy("a")).fail(busy("b"))
    case.clock.now += 10.0

    case.hand.reply(False).fail(busy("a")).fail(busy("b"))

    error = case.hand.error
    assert isinstance(error, AcquireTimeout)
    assert (error.name, error.holder, error.waited) == ("b", "somebody", 10.0)


def test_store_in_trouble_is_told_rather_than_a_lock_that_is_busy() -> None:
    case, down = Majority(timeout=0.0), StoreUnavailable("out of reach")

    case.hand.fail(down).fail(busy("b"))

    assert case.hand.error is down


def test_majority_that_was_got_and_lost_until_the_deadline_is_a_timeout() -> None:
    case = Majority(timeout=5.0)
    for thing in take(case.hand, 2):
        thing.lost = True
    case.clock.now += 5.0
    take(case.hand)

    case.hand.reply().reply().reply()

    error = case.hand.error
    assert isinstance(error, AcquireTimeout)
    assert (error.name, error.waited) == ("a", 5.0)
    assert case.held == []
