"""What follows a question whose answer was not seen: ask again, or withdraw."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from interlock.errors import OutcomeUnknown, StoreError, StoreUnavailable
from interlock.events import Troubled, Withdrawn
from interlock.recipes.lock import LATE_GRANTS, WITHDRAWAL, acquire
from interlock.steps import Call

from .hand import OWNER, Case, Hand, Place

LOST = OutcomeUnknown("no answer", "store")
DOWN = StoreUnavailable("out of reach", "store")
INTERRUPTIONS: list[Callable[[], BaseException]] = [KeyboardInterrupt, asyncio.CancelledError]


# --- asking again ---------------------------------------------------------------------------


@pytest.mark.parametrize("failure", [LOST, DOWN])
def test_first_failure_is_followed_by_the_same_question_of_the_same_owner(
    failure: StoreError,
) -> None:
    case = Case()
    hand = Hand(acquire(case.seeking)).fail(failure)

    assert hand.requests[0] == hand.requests[1]
    assert any(isinstance(event, Troubled) for event in case.told)


def test_grant_after_a_doubt_is_marked_and_its_lease_counts_from_the_last_question() -> None:
    case = Case()
    hand = Hand(acquire(case.seeking))
    case.clock.now += 5.0

    hand.fail(LOST).reply(8)

    assert hand.result.unanswered
    assert hand.result.asked == 105.0


def test_grant_after_a_refused_connection_is_not_doubted() -> None:
    hand = Hand(acquire(Case().seeking)).fail(DOWN).reply(8)

    assert not hand.result.unanswered


def test_busy_after_a_doubt_is_withdrawn_at_the_end() -> None:
    """The lost question may have been executed, or may still be."""
    case = Case(timeout=0.5, try_once=True)
    hand = Hand(acquire(case.seeking)).fail(LOST)
    case.clock.now += 1.0

    hand.reply(case.busy()).reply(False)

    assert hand.story == ["attempt", "attempt", "withdraw"]


def test_one_that_bears_nothing_gives_a_store_a_second_chance_and_no_third() -> None:
    """As a member of a majority does: there are others to be asked."""
    hand = Hand(acquire(Case(persists=False).seeking)).fail(DOWN).fail(DOWN)

    assert hand.story == ["attempt", "attempt"]
    assert hand.error is DOWN


def test_answer_resets_the_count_of_failures() -> None:
    case = Case(timeout=1000.0)
    hand = Hand(acquire(case.seeking)).fail(DOWN).reply(case.busy()).reply(Place())

    hand.fail(DOWN)

    assert hand.story == ["attempt", "attempt", "listen", "attempt, waiting", "attempt, waiting"]


# --- withdrawing ------------------------------------------------------------------------------


def test_unknown_outcome_that_was_withdrawn_is_known_after_all() -> None:
    case = Case(persists=False)

    hand = Hand(acquire(case.seeking)).fail(LOST).fail(LOST).reply(False)

    assert hand.story == ["attempt", "attempt", "withdraw"]
    assert type(hand.error) is StoreUnavailable
    assert hand.error.__cause__ is LOST
    assert Withdrawn("name", OWNER, confirmed=True) in case.told


def test_failed_withdrawal_is_noted_and_owed() -> None:
    case, doubt = Case(persists=False), OutcomeUnknown("no answer")

    hand = Hand(acquire(case.seeking)).fail(LOST).fail(doubt).fail(DOWN)

    assert hand.error is doubt
    assert "client-1… is withdrawn from lock 'name' (out of reach)" in doubt.__notes__[0]
    assert case.owed == [(case.store, "name", OWNER, 30.0)]
    assert Withdrawn("name", OWNER, confirmed=False) in case.told


@pytest.mark.parametrize("interruption", INTERRUPTIONS)
def test_interruption_in_a_question_is_followed_by_a_withdrawal(
    interruption: Callable[[], BaseException],
) -> None:
    case, struck = Case(), interruption()

    hand = Hand(acquire(case.seeking)).fail(struck)
    assert hand.request == Call("withdraw", ("name",), (OWNER,), 100.0 + WITHDRAWAL)
    hand.reply(True)

    assert hand.error is struck
    assert case.owed == []


@pytest.mark.parametrize("interruption", INTERRUPTIONS)
def test_interrupted_waiter_withdraws_and_leaves_its_place(
    interruption: Callable[[], BaseException],
) -> None:
    case, place, struck = Case(), Place(), interruption()
    hand = Hand(acquire(case.seeking)).reply(case.busy()).reply(place).reply(case.busy())

    hand.fail(struck).reply(False)

    assert hand.story[-2:] == ["park until 102", "withdraw"]
    assert place.left
    assert hand.error is struck


def test_interruption_while_the_store_knows_nothing_of_us_asks_for_nothing() -> None:
    case, struck = Case(), KeyboardInterrupt()

    hand = Hand(acquire(case.seeking)).reply(case.busy()).fail(struck)

    assert hand.story == ["attempt", "listen"]
    assert hand.error is struck


@pytest.mark.parametrize("second", INTERRUPTIONS)
def test_second_interruption_during_the_withdrawal_keeps_the_first(
    second: Callable[[], BaseException],
) -> None:
    case, first = Case(), asyncio.CancelledError()

    hand = Hand(acquire(case.seeking)).fail(first).fail(second())

    assert hand.error is first
    assert "did not confirm" in first.__notes__[0]
    assert case.owed == [(case.store, "name", OWNER, 30.0)]


# --- late grants --------------------------------------------------------------------------------


def test_grant_that_comes_after_its_own_validity_is_not_trusted() -> None:
    case = Case(lease=1.0)
    hand = Hand(acquire(case.seeking))
    case.clock.now += 1.0

    hand.reply(7).reply(8)

    assert hand.story == ["attempt", "attempt"]
    assert (hand.result.token, hand.result.asked) == (8, 101.0)


def test_grants_that_are_always_late_are_withdrawn() -> None:
    case = Case(lease=1.0)
    hand = Hand(acquire(case.seeking))
    for token in range(LATE_GRANTS):
        case.clock.now += 1.0
        hand.reply(token)

    hand.reply(True)

    assert hand.story == ["attempt"] * LATE_GRANTS + ["withdraw"]
    assert isinstance(hand.error, StoreUnavailable)
    assert "ask for a longer lease" in str(hand.error)
