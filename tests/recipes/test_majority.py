"""A majority of several locks by hand: some may fail, enough must stand at the end."""

from __future__ import annotations

import math

import pytest

from interlock.errors import (
    AcquireTimeout,
    InterlockError,
    OutcomeUnknown,
    StoreError,
    StoreMisconfigured,
    StoreUnavailable,
    closed,
)
from interlock.events import Troubled
from interlock.recipes.lock import GRACE, PATIENCE, RESERVE
from interlock.recipes.multilock import PAUSE, SHARE, quorum, standing

from .members import Majority, busy, settle, take, told

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

    assert told(case.hand)[-1] == "give b, give a"


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
    settle(case.hand).reply(False)

    assert told(case.hand)[3:] == ["give c, give a", "pause until 100.1", "take a"]


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

    assert case.hand.request.args == (share, False)


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

    assert case.hand.request.args == (0.0, False)
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

    settle(case.hand)

    error = case.hand.error
    assert isinstance(error, AcquireTimeout)
    assert (error.name, error.waited) == ("a", 5.0)
    assert case.held == []


# --- stores out of reach -----------------------------------------------------------------------


def rounds(case: Majority, *failures: InterlockError) -> None:
    """Let every round fail in the same way until it is over."""
    while not case.hand.done:
        for failure in failures:
            case.hand.fail(failure)
        if not case.hand.done:
            case.clock.now = case.hand.request.until
            case.hand.reply(False)


@pytest.mark.parametrize("timeout", [1.0, 3 * PATIENCE])
def test_majority_out_of_reach_is_borne_until_the_deadline(timeout: float) -> None:
    case, down = Majority(timeout=timeout), StoreUnavailable("out of reach")

    rounds(case, down, down)

    assert case.hand.error is down
    assert case.clock.now == pytest.approx(case.deadline)


def test_majority_out_of_reach_is_borne_for_some_time_by_who_has_no_deadline() -> None:
    case, down = Majority(timeout=math.inf), StoreUnavailable("out of reach")
    case.hand.fail(busy("a")).fail(busy("b"))
    case.clock.now += 3600.0
    case.hand.reply(False)
    case.hand.fail(busy("a")).fail(busy("b")).reply(False)

    rounds(case, down, down)

    assert case.hand.error is down
    assert case.clock.now == pytest.approx(3700.0 + PATIENCE, abs=PAUSE)


def test_majority_of_which_enough_answer_is_waited_for() -> None:
    case, down = Majority(timeout=math.inf), StoreUnavailable("out of reach")
    for _ in range(10):
        case.hand.fail(down).fail(busy("b"))
        case.clock.now += PATIENCE
        case.hand.reply(False)

    assert not case.hand.done
    assert case.events == []


@pytest.mark.parametrize("lasting", [StoreMisconfigured("no rights"), closed("store")])
def test_majority_that_no_patience_can_mend_fails_at_once(lasting: StoreError) -> None:
    case = Majority()

    case.hand.fail(lasting).fail(lasting)

    assert case.hand.error is lasting


def test_first_round_without_a_majority_in_reach_says_for_how_long_it_will_be_borne() -> None:
    case, down = Majority(timeout=5.0), StoreUnavailable("out of reach", "store")

    rounds(case, down, down)

    first, *others = case.events
    assert first == Troubled("a, b, c", "", "out of reach", "store", 5.0, True)
    assert others
    assert not any(event.first for event in others if isinstance(event, Troubled))


def test_no_member_bears_what_the_others_can_make_good() -> None:
    case = Majority()

    assert case.hand.request.args[1] is False


@pytest.mark.parametrize("members", ["abc", "abcdefg"])
def test_silent_member_leaves_the_others_as_much_time_as_it_had(members: str) -> None:
    case, spans = Majority(members, timeout=0.0), []
    while not case.hand.done and case.hand.request.operation == "take":
        spans.append(case.hand.request.until - case.clock())
        case.clock.now = case.hand.request.until
        case.hand.fail(OutcomeUnknown("no answer"))

    assert spans == [pytest.approx((GRACE - RESERVE) / len(members))] * quorum(len(members))


# --- waiting for itself -----------------------------------------------------------------------


def test_wait_without_a_limit_for_too_many_of_ones_own_is_refused_before_anything_is_asked() -> (
    None
):
    case = Majority("abcde", timeout=math.inf, own="bde")

    assert told(case.hand) == []
    assert str(case.hand.error) == "b would wait for itself"


def test_ones_own_are_not_asked_for_where_the_others_are_enough() -> None:
    case = Majority("abc", timeout=math.inf, own="b")

    take(case.hand, 2)

    assert told(case.hand) == ["take a", "take c"]
    assert [hold and hold.member for hold in case.hand.result] == ["a", None, "c"]


def test_one_that_is_not_ones_own_any_more_is_asked_for_in_the_next_round() -> None:
    case = Majority("abc", timeout=math.inf, own="b")
    case.hand.fail(busy("a"))
    case.members[1].itself = False

    case.hand.reply()

    assert told(case.hand) == ["take a", "pause until 100.1", "take a"]
    take(case.hand, 3)
    assert len(case.hand.result) == 3


def test_store_that_leaves_no_majority_beside_ones_own_is_not_borne_for_ever() -> None:
    case = Majority("abc", timeout=math.inf, own="b")

    case.hand.fail(closed("a store"))

    assert case.hand.error is not None and "closed" in str(case.hand.error)


def test_wait_within_a_limit_for_ones_own_is_no_mistake() -> None:
    case = Majority("abc", timeout=60.0, own="abc")

    assert case.hand.request.args[0] == SHARE
    take(case.hand, 3)
    assert len(case.hand.result) == 3


def test_what_was_noted_on_the_last_failure_is_told_when_time_is_up() -> None:
    case = Majority(timeout=0.0)
    failure = busy("b")
    failure.add_note("it is your own")
    case.hand.fail(busy("a")).fail(failure)

    assert getattr(case.hand.error, "__notes__", None) == ["it is your own"]
