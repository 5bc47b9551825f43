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
    UsageError,
    closed,
)
from interlock.events import Troubled
from interlock.recipes.agreement import majority
from interlock.recipes.lock import GRACE, PATIENCE, RESERVE
from interlock.recipes.majority import PAUSE, SHARE
from interlock.recipes.multilock import standing

from .members import Majority, Thing, busy, settle, take, told, vote

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
    assert majority(members) == enough
    assert 2 * enough > members >= 2 * (enough - 1)


def test_every_member_is_tried_at_once_though_fewer_are_enough() -> None:
    case = Majority()

    things = vote(case.hand)

    assert told(case.hand) == ["take a, take b, take c"]
    assert case.hand.result == things


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("at", "abc")
def test_one_of_three_may_fail(at: str, failure: InterlockError) -> None:
    case = Majority()

    vote(case.hand, **{at: failure})

    assert [hold is None for hold in case.hand.result] == [name == at for name in "abc"]


def test_two_of_five_may_fail() -> None:
    case = Majority("abcde")

    vote(case.hand, a=busy("a"), c=StoreUnavailable("out of reach"))

    assert [hold and hold.member for hold in case.hand.result] == [None, "b", None, "d", "e"]


def test_half_of_four_are_not_enough() -> None:
    case = Majority("abcd")

    vote(case.hand, c=busy("c"), d=busy("d"))

    assert told(case.hand)[-1] == "give b, give a"


def test_mistake_of_the_caller_is_told_and_nothing_is_kept() -> None:
    case = Majority()

    vote(case.hand, b=UsageError("no such thing"))
    assert told(case.hand)[-1] == "give c, give a"
    settle(case.hand)

    assert isinstance(case.hand.error, UsageError)


# --- what still stands ------------------------------------------------------------------------


def test_hold_that_was_lost_by_the_end_does_not_count() -> None:
    case, things = Majority(), of("abc", lost="a")

    case.hand.reply([things[0], busy("b"), things[2]])
    settle(case.hand).reply(False)

    assert told(case.hand)[1:] == ["give c, give a", "pause until 100.1", "take b"]


def of(names: str, lost: str) -> list[Thing]:
    """Holds of members, some of which are lost."""
    things = [Thing(name) for name in names]
    for thing in things:
        thing.lost = thing.member in lost
    return things


def test_lost_hold_beside_enough_others_does_no_harm() -> None:
    case, things = Majority(), of("abc", lost="a")

    case.hand.reply(things)

    assert case.hand.result == things
    assert set(map(id, standing(case.hand.result))) == set(map(id, things[1:]))


# --- rounds -------------------------------------------------------------------------------------


@pytest.mark.parametrize("timeout", [60.0, 0.0, math.inf])
def test_no_member_is_waited_for_when_all_are_tried(timeout: float) -> None:
    case = Majority(timeout=timeout)

    assert {each.args for each in case.hand.request.calls} == {(0.0, False)}


def test_first_member_that_was_busy_is_waited_for_before_the_others_are_tried_again() -> None:
    case = Majority()
    vote(case.hand, b=busy("b"), c=busy("c"))
    settle(case.hand).reply(False)
    assert case.hand.request.args == (SHARE, False)

    taken = take(case.hand)
    others = vote(case.hand)

    assert told(case.hand)[1:] == ["give a", "pause until 100.1", "take b", "take a, take c"]
    assert case.hand.result == [others[0], taken[0], others[1]]


def test_member_that_stays_busy_is_done_without_if_the_others_are_enough() -> None:
    case = Majority()
    vote(case.hand, b=busy("b"), c=busy("c"))
    settle(case.hand).reply(False).fail(busy("b"))

    vote(case.hand)

    assert [hold and hold.member for hold in case.hand.result] == ["a", None, "c"]


@pytest.mark.parametrize(("timeout", "share"), [(60.0, SHARE), (2.0, 0.95), (math.inf, SHARE)])
def test_waiting_for_one_leaves_the_others_their_time(timeout: float, share: float) -> None:
    case = Majority(timeout=timeout)
    vote(case.hand, b=busy("b"), c=busy("c"))
    settle(case.hand)
    case.clock.now = case.hand.request.until

    case.hand.reply(False)

    assert case.hand.request.args == (pytest.approx(share), False)


@pytest.mark.parametrize(
    ("jitter", "timeout", "instant"), [(0.25, 60.0, PAUSE / 4), (0.9, 0.05, 0.05)]
)
def test_round_that_failed_is_given_back_before_a_pause_and_another_round(
    jitter: float, timeout: float, instant: float
) -> None:
    case = Majority(jitter=jitter, timeout=timeout)
    vote(case.hand, b=busy("b"), c=busy("c"))

    assert told(case.hand)[1:] == ["give a"]
    case.hand.reply()
    assert case.hand.request.until == pytest.approx(100.0 + instant)
    assert case.held == []
    case.hand.reply(False)
    take(case.hand)
    vote(case.hand)

    assert [hold.member for hold in case.hand.result] == ["a", "b", "c"]


def test_last_round_is_tried_at_the_deadline_and_then_no_other() -> None:
    case = Majority("abc", timeout=0.05, jitter=0.9)
    vote(case.hand, a=busy("a"), b=busy("b"), c=busy("c"))
    case.clock.now = case.hand.request.until
    case.hand.reply(False)

    assert case.hand.request.args == (0.0, False)
    case.hand.fail(busy("a"))
    vote(case.hand, b=busy("b"), c=busy("c"))

    assert told(case.hand)[1:] == ["pause until 100.05", "take a", "take b, take c"]
    assert isinstance(case.hand.error, AcquireTimeout)


def test_timeout_names_a_holder_and_counts_every_round() -> None:
    case = Majority(timeout=10.0)
    vote(case.hand, a=busy("a"), b=busy("b"), c=busy("c"))
    case.clock.now += 10.0

    case.hand.reply(False).fail(busy("a"))
    vote(case.hand, b=busy("b"), c=busy("c"))

    error = case.hand.error
    assert isinstance(error, AcquireTimeout)
    assert (error.name, error.holder, error.waited) == ("c", "somebody", 10.0)


def test_store_in_trouble_is_told_rather_than_a_lock_that_is_busy() -> None:
    case, down = Majority(timeout=0.0), StoreUnavailable("out of reach")

    vote(case.hand, a=down, b=busy("b"))
    settle(case.hand)

    assert case.hand.error is down


def test_majority_that_was_got_and_lost_until_the_deadline_is_a_timeout() -> None:
    case = Majority(timeout=5.0)
    case.clock.now += 5.0
    case.hand.reply(of("abc", lost="ab"))

    settle(case.hand)

    error = case.hand.error
    assert isinstance(error, AcquireTimeout)
    assert (error.name, error.waited) == ("a", 5.0)
    assert case.held == []


# --- stores out of reach -----------------------------------------------------------------------


def rounds(case: Majority, **failures: InterlockError) -> None:
    """Let every round fail in the same way until it is over."""
    while not case.hand.done:
        vote(case.hand, **failures)
        if not case.hand.done:
            case.clock.now = case.hand.request.until
            case.hand.reply(False)


@pytest.mark.parametrize("timeout", [1.0, 3 * PATIENCE])
def test_majority_out_of_reach_is_borne_until_the_deadline(timeout: float) -> None:
    case, down = Majority(timeout=timeout), StoreUnavailable("out of reach")

    rounds(case, a=down, b=down, c=down)

    assert case.hand.error is down
    assert case.clock.now == pytest.approx(case.deadline)


def test_majority_out_of_reach_is_borne_for_some_time_by_who_has_no_deadline() -> None:
    case, down = Majority(timeout=math.inf), StoreUnavailable("out of reach")
    vote(case.hand, a=busy("a"), b=busy("b"), c=busy("c"))
    case.clock.now += 3600.0
    case.hand.reply(False).fail(busy("a"))
    vote(case.hand, b=busy("b"), c=busy("c"))
    case.hand.reply(False).fail(down)
    vote(case.hand, b=down, c=down)
    case.clock.now = case.hand.request.until
    case.hand.reply(False)

    rounds(case, a=down, b=down, c=down)

    assert case.hand.error is down
    assert case.clock.now == pytest.approx(3700.0 + PATIENCE, abs=PAUSE)


def test_majority_of_which_enough_answer_is_waited_for() -> None:
    case, down = Majority(timeout=math.inf), StoreUnavailable("out of reach")
    for turn in range(10):
        if turn:
            case.hand.fail(busy("b"))
        vote(case.hand, a=down, b=busy("b"), c=busy("c"))
        case.clock.now += PATIENCE
        case.hand.reply(False)

    assert not case.hand.done
    assert case.events == []


@pytest.mark.parametrize("lasting", [StoreMisconfigured("no rights"), closed("store")])
def test_majority_that_no_patience_can_mend_fails_at_once(lasting: StoreError) -> None:
    case = Majority()

    vote(case.hand, a=lasting, b=lasting)
    settle(case.hand)

    assert case.hand.error is lasting


def test_first_round_without_a_majority_in_reach_says_for_how_long_it_will_be_borne() -> None:
    case, down = Majority(timeout=5.0), StoreUnavailable("out of reach", "store")

    rounds(case, a=down, b=down, c=down)

    first, *others = case.events
    assert first == Troubled("a, b, c", "", "out of reach", "store", 5.0, True)
    assert others
    assert not any(event.first for event in others if isinstance(event, Troubled))


@pytest.mark.parametrize("members", ["abc", "abcdefg"])
@pytest.mark.parametrize("timeout", [0.0, 60.0])
def test_silent_store_keeps_a_round_no_longer_than_it_may(members: str, timeout: float) -> None:
    case = Majority(members, timeout=timeout)

    (span,) = {each.until - case.clock() for each in case.hand.request.calls}

    assert span == pytest.approx(GRACE - (RESERVE if timeout == 0 else 0.0))


# --- waiting for itself -----------------------------------------------------------------------


def test_wait_without_a_limit_for_too_many_of_ones_own_is_refused_before_anything_is_asked() -> (
    None
):
    case = Majority("abcde", timeout=math.inf, own="bde")

    assert told(case.hand) == []
    assert str(case.hand.error) == "b would wait for itself"


def test_ones_own_are_not_asked_for_where_the_others_are_enough() -> None:
    case = Majority("abc", timeout=math.inf, own="b")

    vote(case.hand)

    assert told(case.hand) == ["take a, take c"]
    assert [hold and hold.member for hold in case.hand.result] == ["a", None, "c"]


def test_one_that_is_not_ones_own_any_more_is_asked_for_in_the_next_round() -> None:
    case = Majority("abc", timeout=math.inf, own="b")
    vote(case.hand, a=busy("a"), c=busy("c"))
    case.members[1].itself = False

    case.hand.reply()
    take(case.hand)
    vote(case.hand)

    assert told(case.hand) == ["take a, take c", "pause until 100.1", "take a", "take b, take c"]
    assert len(case.hand.result) == 3


def test_one_that_has_become_ones_own_is_not_waited_for() -> None:
    case = Majority("abc", timeout=math.inf)
    vote(case.hand, a=busy("a"), b=busy("b"), c=busy("c"))
    case.members[0].itself = True

    case.hand.reply()

    assert told(case.hand)[2:] == ["take b, take c"]


def test_store_that_leaves_no_majority_beside_ones_own_is_not_borne_for_ever() -> None:
    case = Majority("abc", timeout=math.inf, own="b")

    vote(case.hand, a=closed("a store"))
    settle(case.hand)

    assert case.hand.error is not None and "closed" in str(case.hand.error)


def test_wait_within_a_limit_for_ones_own_is_no_mistake() -> None:
    case = Majority("abc", timeout=60.0, own="abc")

    vote(case.hand)

    assert len(case.hand.result) == 3


def test_what_was_noted_on_the_last_failure_is_told_when_time_is_up() -> None:
    case = Majority(timeout=0.0)
    failure = busy("c")
    failure.add_note("it is your own")
    vote(case.hand, a=busy("a"), b=busy("b"), c=failure)

    assert getattr(case.hand.error, "__notes__", None) == ["it is your own"]
