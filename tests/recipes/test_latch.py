"""Latches: what the ledger makes of them, and how they are counted down by hand."""

from __future__ import annotations

import pytest

from interlock import ledger
from interlock.errors import OutcomeUnknown, StoreError, StoreMisconfigured, StoreUnavailable
from interlock.ledger import BURIED, BUSY, GRANTED, OTHER_KIND
from interlock.recipes.latch import count_down
from interlock.recipes.lock import ANSWER
from interlock.recipes.retry import TRIES
from interlock.steps import Call, Steps, call

from .desk import LEASE, LatchDesk
from .hand import OWNER, Clock, Hand, Paper

LOST = OutcomeUnknown("no answer", "store")
DOWN = StoreUnavailable("out of reach", "store")


@pytest.fixture
def desk() -> LatchDesk:
    return LatchDesk()


# --- counting ---------------------------------------------------------------------------------


def test_latch_counts_down_and_is_gone(desk: LatchDesk) -> None:
    assert desk.set(2) == (GRANTED,)

    assert desk.count_down("a") == (GRANTED, 1)
    assert desk.count == 1
    assert desk.count_down("b") == (GRANTED, 0)
    assert desk.look() is None


def test_each_owner_counts_once_however_often_it_says_so(desk: LatchDesk) -> None:
    desk.set(3)

    answers = [desk.count_down("a") for _ in range(3)]

    assert answers == [(GRANTED, 2)] * 3
    assert desk.count == 2


def test_count_that_is_said_again_after_the_latch_was_set_anew_does_not_count(
    desk: LatchDesk,
) -> None:
    desk.set(1)
    desk.count_down("a")
    desk.set(5)

    assert desk.count_down("a") == (GRANTED, 5)


def test_count_that_nobody_set_is_down_and_stays_down(desk: LatchDesk) -> None:
    assert desk.count_down("a") == (GRANTED, 0)
    assert desk.look() is None


def test_latch_that_counts_is_not_set_again(desk: LatchDesk) -> None:
    desk.set(2)
    desk.count_down("a")

    assert desk.set(9) == (BUSY,)
    assert desk.count == 1


# --- waiting ------------------------------------------------------------------------------------


def test_latch_that_is_down_is_passed_with_a_token_and_nothing_is_held(desk: LatchDesk) -> None:
    first, second = desk.attempt("a"), desk.attempt("b")

    assert first[0] == second[0] == GRANTED and first[1] < second[1]
    assert (desk.holders, desk.look()) == ([], None)


def test_waiters_wait_until_the_count_is_down_and_are_woken_all(desk: LatchDesk) -> None:
    desk.set(2)
    assert [desk.wait(owner) for owner in "xyz"] == [(BUSY, None, None)] * 3

    desk.count_down("a")
    assert (desk.woken, desk.queue) == ([], ["x", "y", "z"])
    desk.count_down("b")

    assert (desk.woken, desk.queue) == (["x", "y", "z"], [])
    assert [desk.attempt(owner, waits=True)[0] for owner in "zyx"] == [GRANTED] * 3


def test_deaf_waiter_keeps_nobody_from_being_woken(desk: LatchDesk) -> None:
    desk.set(1)
    desk.wait("x")
    desk.wait("y")
    desk.vanish("x")

    desk.count_down("a")

    assert (desk.woken, desk.queue) == (["y"], [])
    assert desk.attempt("x")[0] == GRANTED


def test_try_at_a_latch_is_not_remembered(desk: LatchDesk) -> None:
    desk.set(1)

    assert desk.attempt("x") == (BUSY, None, None)
    assert desk.queue == []


def test_waiter_that_asks_again_keeps_its_one_place(desk: LatchDesk) -> None:
    desk.set(1)
    for owner in "xyx":
        desk.wait(owner)

    assert desk.queue == ["x", "y"]
    assert desk.look().waiters == 2


def test_waiter_that_gave_up_leaves_nothing_and_its_late_question_is_refused(
    desk: LatchDesk,
) -> None:
    desk.set(1)
    desk.wait("x")

    desk.withdraw("x")

    assert desk.queue == []
    assert desk.attempt("x", waits=True) == (BURIED,)
    assert desk.queue == []


def test_waiter_that_gave_up_does_not_count(desk: LatchDesk) -> None:
    desk.set(2)
    desk.wait("x")

    desk.withdraw("x")

    assert desk.count == 2


# --- one kind a name ----------------------------------------------------------------------------


def test_latch_is_no_lock_and_no_semaphore(desk: LatchDesk) -> None:
    desk.set(2)

    for kind in ("lock", "rwlock", "semaphore"):
        answer = ledger.attempt(desk.records, "name", kind, "a", LEASE, True, 1, 4)
        assert answer == (OTHER_KIND, "latch")
    assert ledger.set_permits(desk.records, "name", "semaphore", 4) == (OTHER_KIND, "latch")
    assert (desk.count, desk.queue) == (2, [])


def test_lock_is_no_latch(desk: LatchDesk) -> None:
    ledger.attempt(desk.records, "name", "lock", "a", LEASE, False)

    assert desk.set(2) == (OTHER_KIND, "lock")
    assert desk.count_down("b") == (OTHER_KIND, "lock")
    assert desk.attempt("b", waits=True) == (OTHER_KIND, "lock")
    assert (desk.holder, desk.queue, desk.records.declarations) == ("a", [], {})


# --- counting down by hand ----------------------------------------------------------------------


class PaperLatch(Paper):
    """A latch on paper: its answers are whatever the test sends."""

    kind, shared = "latch", True

    def open(self, name: str, until: float) -> Steps[None]:
        yield from call("open", (name,), (), until)

    def set_count(self, name: str, count: int, until: float) -> Steps[bool]:
        return (yield from call("set_count", (name,), (count,), until))

    def count_down(self, name: str, owner: str, until: float) -> Steps[int]:
        return (yield from call("count_down", (name,), (owner,), until))


def counting(clock: Clock | None = None) -> Hand:
    return Hand(count_down(PaperLatch(), "name", OWNER, clock or Clock()))


def test_count_is_one_request_and_tells_what_is_left() -> None:
    hand = counting()
    assert hand.request == Call("count_down", ("name",), (OWNER,), 100.0 + ANSWER)

    hand.reply(2)

    assert (hand.result, hand.story) == (2, ["count_down"])


@pytest.mark.parametrize("failure", [LOST, DOWN])
def test_count_whose_answer_was_lost_is_said_again_by_the_same_owner(failure: StoreError) -> None:
    clock = Clock()
    hand = counting(clock)
    clock.now += 7.0

    hand.fail(failure).reply(1)

    assert [each.args for each in hand.requests if isinstance(each, Call)] == [(OWNER,)] * 2
    assert hand.requests[1].until == 107.0 + ANSWER  # type: ignore[union-attr]
    assert hand.result == 1


def test_count_that_is_never_answered_gives_up_with_the_last_failure() -> None:
    hand = counting()
    for _ in range(TRIES - 1):
        hand.fail(DOWN)

    hand.fail(LOST)

    assert hand.story == ["count_down"] * TRIES
    assert hand.error is LOST


@pytest.mark.parametrize(
    "failure", [StoreMisconfigured("no rights"), StoreUnavailable("closed", final=True)]
)
def test_count_that_can_never_succeed_is_not_said_again(failure: StoreError) -> None:
    hand = counting().fail(failure)

    assert hand.story == ["count_down"]
    assert hand.error is failure


@pytest.mark.parametrize("lost", range(TRIES))
def test_lost_answers_count_once(desk: LatchDesk, lost: int) -> None:
    """The store executes what it was asked; the answers to the first questions get lost."""
    desk.set(5)
    hand = counting()
    for _ in range(lost):
        desk.count_down(*hand.request.args)
        hand.fail(LOST)

    hand.reply(desk.count_down(*hand.request.args)[1])

    assert (hand.result, desk.count) == (4, 4)
