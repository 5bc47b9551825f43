"""The acquire loop by hand: what is asked for, in which order, until when."""

from __future__ import annotations

import pytest

from interlock.errors import AcquireTimeout, StoreError, StoreMisconfigured
from interlock.events import Abandoned, Parked, StillWaiting, Woken
from interlock.model import Busy, Grant, Holder, LockInfo
from interlock.recipes.lock import POLL_CAP, SILENT_CAP, acquire, wake_by
from interlock.steps import Call, Listen, Park

from .hand import OTHER, OWNER, Case, Hand, Place


def test_free_lock_takes_one_request() -> None:
    case = Case()
    hand = Hand(acquire(case.seeking))
    assert hand.request == Call("attempt", ("name",), (OWNER, 30.0, False), 160.0)

    hand.reply(7)

    assert hand.story == ["attempt"]
    assert isinstance(hand.result, Grant)
    assert (hand.result.owner, hand.result.token, hand.result.unanswered) == (OWNER, 7, False)


def test_lease_counts_from_before_the_question_less_a_margin() -> None:
    case = Case(lease=30.0)
    hand = Hand(acquire(case.seeking))
    case.clock.now += 4.0

    hand.reply(7)

    assert hand.result.asked == 100.0
    assert hand.result.until == pytest.approx(100.0 + 30.0 * 0.99 - 0.002)


def test_busy_lock_is_listened_to_before_it_is_asked_again() -> None:
    case, place = Case(), Place()
    hand = Hand(acquire(case.seeking)).reply(case.busy())
    assert hand.request == Listen(("name", OWNER), case.seeking.deadline)

    hand.reply(place).reply(case.busy())

    assert hand.story == ["attempt", "listen", "attempt, waiting", "park until 102"]
    assert isinstance(hand.request, Park) and hand.request.wakes is place
    assert not place.left


def test_crowded_lock_is_listened_to_before_the_first_question() -> None:
    case = Case(was_busy=True)
    hand = Hand(acquire(case.seeking)).reply(Place()).reply(7)

    assert hand.story == ["listen", "attempt, waiting"]
    assert hand.result.token == 7


@pytest.mark.parametrize("woken", [True, False])
def test_waiter_asks_again_whether_it_was_woken_or_not(woken: bool) -> None:
    case, place = Case(), Place()
    hand = Hand(acquire(case.seeking)).reply(case.busy()).reply(place).reply(case.busy())

    hand.reply(woken).reply(7)

    assert hand.story[-2:] == ["park until 102", "attempt, waiting"]
    assert hand.result.token == 7
    assert place.left
    assert (Woken("name", OWNER) in case.told) is woken
    assert Parked("name", OWNER, OTHER, 0.0) in case.told


@pytest.mark.parametrize(
    ("busy", "jitter", "deadline", "instant"),
    [
        (Busy(OTHER, 30.0), 0.0, 60.0, 100.0 + POLL_CAP),
        (Busy(OTHER, 30.0), 0.5, 60.0, 100.0 + POLL_CAP * 0.75),
        (Busy(OTHER, 1.0), 0.0, 60.0, 101.001),
        (Busy(OTHER, None), 0.0, 60.0, 100.0 + POLL_CAP),
        (Busy(OTHER, 30.0), 0.0, 0.5, 100.5),
        (Busy(OTHER, 30.0, silent=True), 0.0, 60.0, 100.0 + SILENT_CAP),
    ],
    ids=["cap", "jitter", "lease end", "no lease", "deadline", "silent"],
)
def test_waiter_sleeps_no_longer_than_the_nearest_instant(
    busy: Busy, jitter: float, deadline: float, instant: float
) -> None:
    case = Case(timeout=deadline, jitter=jitter)

    assert wake_by(busy, case.seeking) == pytest.approx(instant)


def test_waiter_listens_anew_when_other_topics_are_the_right_ones() -> None:
    case, first, second = Case(), Place(), Place()
    case.store.topics = lambda name, owner, busy: (busy.holder,)  # type: ignore[method-assign]
    hand = Hand(acquire(case.seeking)).reply(Busy("java", 30.0)).reply(first)

    hand.reply(Busy("ours", 30.0)).reply(second).reply(7)

    assert hand.story == ["attempt", "listen", "attempt, waiting", "listen", "attempt, waiting"]
    assert [each.topics for each in hand.requests if isinstance(each, Listen)] == [
        ("java",),
        ("ours",),
    ]
    assert first.left and second.left


# --- giving up ----------------------------------------------------------------------------


def test_try_that_was_refused_withdraws_nothing() -> None:
    case = Case(timeout=0.0, try_once=True)

    hand = Hand(acquire(case.seeking)).reply(case.busy())

    assert hand.story == ["attempt"]
    assert isinstance(hand.error, AcquireTimeout)


def test_timeout_asks_who_holds_the_lock() -> None:
    case = Case(timeout=0.0)
    info = LockInfo("name", "lock", (Holder(OTHER, "host", 42, "app"),), 5.0)

    hand = Hand(acquire(case.seeking)).reply(case.busy()).reply(info)

    assert hand.story == ["attempt", "look"]
    assert isinstance(hand.error, AcquireTimeout)
    assert hand.error.holder == "host:42 (app)"


@pytest.mark.parametrize("failure", [StoreError("down"), None])
def test_timeout_names_the_owner_when_nobody_knows_more(failure: StoreError | None) -> None:
    case = Case(timeout=0.0)
    hand = Hand(acquire(case.seeking)).reply(case.busy())

    hand = hand.reply(None) if failure is None else hand.fail(failure)

    assert isinstance(hand.error, AcquireTimeout)
    assert hand.error.holder == "owner client-2…"


def test_waiter_that_timed_out_asks_once_more_and_withdraws() -> None:
    case, place = Case(timeout=1.0, try_once=True), Place()
    hand = Hand(acquire(case.seeking)).reply(case.busy()).reply(place).reply(case.busy())
    case.clock.now += 1.0

    hand.reply(False).reply(case.busy()).reply(False)

    assert hand.story[3:] == ["park until 101", "attempt, waiting", "withdraw"]
    assert isinstance(hand.error, AcquireTimeout) and hand.error.waited == 1.0
    assert place.left


def test_waiter_is_granted_what_it_finds_at_its_last_question() -> None:
    case = Case(timeout=1.0)
    hand = Hand(acquire(case.seeking)).reply(case.busy()).reply(Place()).reply(case.busy())
    case.clock.now += 1.0

    hand.reply(False).reply(7)

    assert hand.result.token == 7


def test_waiter_reports_every_ten_seconds_that_it_still_waits() -> None:
    case = Case(timeout=60.0)
    hand = Hand(acquire(case.seeking)).reply(case.busy()).reply(Place()).reply(case.busy())
    for _ in range(2):
        case.clock.now += 10.0
        hand.reply(False).reply(case.busy()).reply(None)

    assert hand.story.count("look") == 2
    reports = [event for event in case.told if isinstance(event, StillWaiting)]
    assert [report.waited for report in reports] == [10.0, 20.0]


# --- what cannot be waited out --------------------------------------------------------------


def test_misconfigured_store_is_not_withdrawn_from() -> None:
    case, refusal = Case(), StoreMisconfigured("another kind of key")

    hand = Hand(acquire(case.seeking)).fail(refusal)

    assert hand.story == ["attempt"]
    assert hand.error is refusal


def test_waiter_that_meets_a_misconfigured_store_takes_its_place_back() -> None:
    case, refusal = Case(), StoreMisconfigured("another kind of key")
    hand = Hand(acquire(case.seeking)).reply(case.busy()).reply(Place()).reply(case.busy())

    hand.reply(True).fail(refusal).reply(False)

    assert hand.story[-2:] == ["attempt, waiting", "withdraw"]
    assert hand.error is refusal


def test_abandoned_steps_say_so_and_ask_for_nothing() -> None:
    case, place = Case(), Place()
    hand = Hand(acquire(case.seeking)).reply(case.busy()).reply(place).reply(case.busy())

    hand.steps.close()

    assert Abandoned("name", OWNER) in case.told
    assert place.left
