"""A store that cannot be asked, or answers late: how long it is borne, and what is said of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

from interlock.errors import (
    AcquireTimeout,
    OutcomeUnknown,
    StoreError,
    StoreMisconfigured,
    StoreUnavailable,
    closed,
)
from interlock.events import Troubled
from interlock.recipes.lock import PATIENCE, acquire, give_up
from interlock.steps import Call, Listen, Park

from .hand import Case, Hand, Place

LOST = OutcomeUnknown("no answer", "store")
DOWN = StoreUnavailable("out of reach", "store")


def bear(case: Case, hand: Hand, failure: StoreError = DOWN) -> list[float]:
    """Let every question fail at once; answers how long each pause was."""
    pauses = []
    while not hand.done:
        hand.fail(failure)
        if not hand.done and isinstance(pause := hand.request, Park):
            pauses.append(pause.until - case.clock())
            case.clock.now = pause.until
            hand.reply(False)
    return pauses


# --- how long it is borne -----------------------------------------------------------------------


@pytest.mark.parametrize("timeout", [0.3, 5.0, 3 * PATIENCE])
@pytest.mark.parametrize("failure", [DOWN, LOST])
def test_waiter_with_a_timeout_bears_it_in_full_from_its_first_question_on(
    timeout: float, failure: StoreError
) -> None:
    case = Case(timeout=timeout)
    hand = Hand(acquire(case.seeking))

    pauses = bear(case, hand, failure)

    assert case.clock.now == case.seeking.deadline
    assert hand.error is failure
    assert pauses[:-1] == sorted(pauses[:-1]) and max(pauses) <= 1.0
    assert ("withdraw" in hand.story) is (failure is LOST)


def test_waiter_without_a_timeout_bears_it_for_its_patience() -> None:
    case = Case(timeout=math.inf)
    hand = Hand(acquire(case.seeking))

    pauses = bear(case, hand)

    assert case.clock.now == pytest.approx(100.0 + PATIENCE, abs=1.0)
    assert pauses == sorted(pauses) and pauses[0] == pytest.approx(0.2) and pauses[-1] == 1.0
    assert hand.error is DOWN


def test_patience_begins_anew_with_every_answer() -> None:
    case = Case(timeout=math.inf)
    hand = Hand(acquire(case.seeking)).reply(case.busy()).reply(Place())
    case.clock.now += 5.0
    hand.reply(case.busy())
    case.clock.now += 2.0
    hand.reply(True)

    bear(case, hand)

    assert case.clock.now == pytest.approx(107.0 + PATIENCE, abs=1.0)
    assert hand.error is DOWN
    assert hand.story[-1] == "withdraw"


def test_waiter_that_stood_behind_one_who_was_not_answered_has_been_patient_as_well() -> None:
    """Else a crowd would find out one after another what its first has found out for all."""
    case, sibling = Case(timeout=math.inf), Case(timeout=math.inf)
    sibling.silence, sibling.clock = case.silence, case.clock
    sibling.seeking.clock, sibling.seeking.began = case.clock, 101.0
    bear(case, Hand(acquire(case.seeking)))

    hand = Hand(acquire(sibling.seeking))
    bear(sibling, hand)

    assert hand.error is DOWN
    assert case.clock.now == pytest.approx(101.0 + PATIENCE, abs=1.0)


def test_waiter_that_comes_after_a_silence_has_its_own_patience() -> None:
    case, later = Case(timeout=math.inf), Case(timeout=math.inf)
    later.silence, later.seeking.clock = case.silence, case.clock
    bear(case, Hand(acquire(case.seeking)))
    later.seeking.began = case.clock.now
    began = case.clock.now
    later.clock = case.clock

    bear(later, Hand(acquire(later.seeking)))

    assert case.clock.now == pytest.approx(began + PATIENCE, abs=1.0)


def test_old_silence_is_not_taken_for_the_beginning_of_another() -> None:
    """In between nobody asked; who stood in line all the time begins to be patient now."""
    case = Case(timeout=math.inf)
    case.silence.noted(100.0, 100.0)
    case.clock.now = 500.0

    bear(case, Hand(acquire(case.seeking)))

    assert case.clock.now == pytest.approx(500.0 + PATIENCE, abs=1.0)


def test_answers_that_come_after_all_are_taken() -> None:
    case = Case(timeout=60.0)
    hand = Hand(acquire(case.seeking))
    for _ in range(8):
        hand.fail(DOWN)
        if isinstance(hand.request, Park):
            case.clock.now = hand.request.until
            hand.reply(False)

    hand.reply(7)

    assert hand.result.token == 7
    assert case.silence.since == math.inf


def test_mere_try_fails_at_once() -> None:
    case = Case(timeout=0.0)

    hand = Hand(acquire(case.seeking)).fail(DOWN)

    assert hand.story == ["attempt"]
    assert hand.error is DOWN


@pytest.mark.parametrize("failure", [StoreMisconfigured("no rights"), closed("store")])
def test_what_no_patience_can_mend_fails_at_once(failure: StoreError) -> None:
    hand = Hand(acquire(Case(timeout=60.0).seeking)).fail(failure)

    assert hand.story == ["attempt"]
    assert hand.error is failure


# --- what is said of it -------------------------------------------------------------------------


@pytest.mark.parametrize(("timeout", "patience"), [(5.0, 5.0), (math.inf, PATIENCE)])
def test_first_failure_says_for_how_long_it_will_be_borne(timeout: float, patience: float) -> None:
    case = Case(timeout=timeout)
    hand = Hand(acquire(case.seeking)).fail(DOWN)

    (event,) = case.told
    assert isinstance(event, Troubled)
    assert (event.error, event.store, event.patience) == ("out of reach", "store", patience)
    assert event.first
    bear(case, hand)

    others = [each for each in case.told[1:] if isinstance(each, Troubled)]
    assert len(others) > 3 and not any(each.first for each in others)


def test_who_bears_nothing_says_so() -> None:
    case = Case(persists=False)

    hand = Hand(acquire(case.seeking)).fail(DOWN)

    (event,) = case.told
    assert isinstance(event, Troubled) and event.patience == 0.0
    assert not hand.done


# --- however late each answer is ----------------------------------------------------------------


def outcomes(case: Case, request: Any) -> list[tuple[bool, Any]]:
    """What may come of a request, and whether it comes at once or as late as it may."""
    if isinstance(request, Park):
        return [(False, False)]
    if isinstance(request, Listen):
        return [(True, Place()), (False, Place())]
    assert isinstance(request, Call)
    replies: dict[str, list[Any]] = {
        "attempt": [case.busy(), LOST, DOWN, 7],
        "look": [None, LOST],
        "withdraw": [True, LOST],
    }
    return [(soon, reply) for reply in replies[request.operation] for soon in (True, False)]


def courses(**wishes: Any) -> Iterator[tuple[Case, Hand]]:
    """Every course that an acquisition can take when each answer comes at once, or never sooner
    than it has to."""
    begun: list[list[int]] = [[]]
    while begun:
        course = begun.pop()
        case = Case(**wishes)
        hand, step = Hand(acquire(case.seeking)), 0
        while not hand.done:
            ways = outcomes(case, hand.request)
            if step == len(course):
                begun += [[*course, other] for other in range(1, len(ways))]
                course.append(0)
            (soon, way), step = ways[course[step]], step + 1
            if not soon:
                case.clock.now = max(case.clock.now, hand.request.until)
            _ = hand.fail(way) if isinstance(way, StoreError) else hand.reply(way)
        yield case, hand


@pytest.mark.parametrize(
    "wishes",
    [
        {"timeout": 0.0},
        {"timeout": 0.0, "try_once": True},
        {"timeout": 0.2},
        {"timeout": 0.2, "was_busy": True},
        {"timeout": 0.2, "lease": 0.4},
        {"timeout": 0.7, "try_once": True, "jitter": 0.5},
    ],
    ids=str,
)
def test_acquisition_ends_two_seconds_after_its_deadline_at_the_latest(
    wishes: dict[str, Any],
) -> None:
    ends, latest = set(), 0.0
    for case, hand in courses(**wishes):
        latest = max(latest, case.clock.now - case.seeking.deadline)
        ends.add(type(hand.error))
        assert case.clock.now < case.seeking.deadline + 2.0, hand.story

    assert latest > 1.0  # or it was not really late
    assert ends >= {AcquireTimeout, StoreUnavailable, OutcomeUnknown}


@pytest.mark.parametrize("timeout", [0.0, 0.2])
def test_acquisition_ends_by_a_limit_that_it_shares_with_others(timeout: float) -> None:
    limit = 100.0 + timeout + 1.2
    for case, hand in courses(timeout=timeout, limit=limit):
        assert case.clock.now <= limit, hand.story


def test_waiter_that_could_not_listen_in_time_does_not_ask_again() -> None:
    case, place = Case(timeout=0.2, try_once=True), Place()
    hand = Hand(acquire(case.seeking)).reply(case.busy())
    assert hand.request.until == 100.2
    case.clock.now = 100.2

    hand.reply(place)

    assert hand.story == ["attempt", "listen"]
    assert isinstance(hand.error, AcquireTimeout)
    assert place.left


def test_waiter_that_has_not_asked_yet_asks_though_it_could_not_listen_in_time() -> None:
    case = Case(timeout=0.2, was_busy=True)
    hand = Hand(acquire(case.seeking))
    case.clock.now = 100.2

    hand.reply(Place()).reply(7)

    assert hand.story == ["listen", "attempt, waiting"]
    assert hand.result.token == 7


def test_report_of_a_waiter_does_not_outlast_its_deadline() -> None:
    case = Case(timeout=10.5)
    hand = Hand(acquire(case.seeking)).reply(case.busy()).reply(Place()).reply(case.busy())
    case.clock.now += 10.0

    hand.reply(False).reply(case.busy())

    assert hand.story[-1] == "look"
    assert hand.request.until == case.seeking.deadline


def test_name_of_the_holder_is_not_awaited_beyond_the_limit_of_one_that_stood_in_line() -> None:
    case = Case(timeout=0.0)
    case.clock.now += 1.0

    hand = Hand(give_up(case.seeking, None))

    assert hand.story == ["look"]
    assert hand.request.until < case.seeking.deadline + 2.0


@pytest.mark.parametrize("paused", [0.0, 60.0])
def test_withdrawal_has_a_chance_however_late_it_is(paused: float) -> None:
    """The machine may have slept."""
    case = Case(timeout=1.0, try_once=True)
    hand = Hand(acquire(case.seeking)).reply(case.busy()).reply(Place())
    case.clock.now += 1.0 + paused

    hand.reply(case.busy())

    assert hand.story[-1] == "withdraw"
    assert hand.request.until > case.clock.now
