"""The keeper's round by hand: renew, report what is lost, pay what is owed."""

from __future__ import annotations

import pytest

from interlock.errors import OutcomeUnknown, StoreUnavailable
from interlock.model import validity
from interlock.recipes.keeper_round import keep, retry_pause
from interlock.recipes.renewal import (
    BY_ANSWER,
    BY_CLOCK,
    BY_TERMS,
    NEVER,
)
from interlock.steps import Call

from .hand import Hand
from .rounds import LEASE, Round

DOWN = StoreUnavailable("out of reach")


def test_lease_is_renewed_after_a_third_of_it() -> None:
    keeping = Round()

    request = keeping.wait().request

    assert keeping.hand.story == ["park until 104", "renew"]
    assert request.args == ((("name 0", "owner:0"),), LEASE)


def test_positive_answer_sets_the_lease_from_before_the_question() -> None:
    keeping = Round()
    keeping.wait()
    keeping.clock.now += 3.0  # the answer is slow

    keeping.hand.reply([True])

    assert keeping.holds[0].until == validity(104.0, LEASE)
    assert keeping.hand.story[-1] == "park until 108"


def test_all_holds_are_renewed_in_one_request() -> None:
    keeping = Round(holds=300)

    keeping.wait().reply([True] * 300)

    assert keeping.hand.story == ["park until 104", "renew", "park until 108"]


def test_negative_answer_is_a_loss_at_once_and_moves_nothing() -> None:
    keeping = Round(holds=2)
    until = keeping.holds[0].until

    keeping.wait().reply([False, True])
    assert keeping.schedule.holds() == [keeping.holds[1]]
    keeping.hand.reply("")

    assert keeping.hand.story == ["park until 104", "renew", "withdrawal_reason", "park until 108"]
    assert [hold.fate for hold in keeping.holds] == [[BY_ANSWER], []]
    assert keeping.holds[0].until == until


def test_negative_answer_for_what_was_released_meanwhile_is_nobodys_loss() -> None:
    keeping = Round()
    keeping.wait()
    keeping.schedule.drop(keeping.holds[0])

    keeping.hand.reply([False])

    assert keeping.holds[0].fate == []
    assert "withdrawal_reason" not in keeping.hand.story


def test_silence_moves_nothing_and_is_followed_by_another_question() -> None:
    keeping = Round()
    until = keeping.holds[0].until

    keeping.wait().fail(OutcomeUnknown("no answer"))

    assert keeping.holds[0].until == until
    assert keeping.holds[0].fate == []
    assert keeping.hand.story[-1] == "park until 105"
    assert keeping.wait().story[-1] == "renew"


def test_error_for_one_hold_of_a_batch_leaves_the_others_alone() -> None:
    keeping = Round(holds=3)
    until = keeping.holds[1].until

    keeping.wait().reply([True, DOWN, False]).reply("")

    assert [hold.fate for hold in keeping.holds] == [[], [], [BY_ANSWER]]
    assert keeping.holds[0].until == validity(104.0, LEASE)
    assert keeping.holds[1].until == until


def test_silent_store_means_a_loss_by_the_clock_before_the_validity_ends() -> None:
    keeping = Round()
    hold = keeping.holds[0]
    while not hold.fate:
        keeping.wait()
        if keeping.hand.story[-1] == "renew":
            keeping.hand.fail(DOWN)

    assert hold.fate == [BY_CLOCK]
    assert keeping.clock.now == hold.lost_at < hold.until
    assert keeping.hand.story.count("renew") == 8


def test_no_answer_is_awaited_beyond_the_next_loss() -> None:
    keeping = Round(holds=2)
    early = keeping.holds[0]
    early.lost_at = 104.5

    keeping.schedule.settle(early)

    assert keeping.wait().request.until == 104.5


def test_answer_that_comes_while_another_hold_ran_out_reports_that_one_next() -> None:
    keeping = Round(holds=2)
    fixed = keeping.holds[1]
    fixed.renew_at, fixed.lost_at = NEVER, 106.0
    keeping.schedule.settle(fixed)
    keeping.wait()
    keeping.clock.now = 106.0

    keeping.hand.fail(DOWN)

    assert fixed.fate == [BY_TERMS]


def test_hold_that_is_not_kept_ends_by_its_terms() -> None:
    keeping = Round(kept=False)

    keeping.wait()

    assert keeping.holds[0].fate == [BY_TERMS]
    assert keeping.hand.story[1:] == ["park until 1100"]


@pytest.mark.parametrize(
    ("lease", "pause"), [(0.05, 0.02), (1.2, 0.1), (12.0, 1.0), (3600.0, 1.0)]
)
def test_pause_before_the_next_question_fits_the_lease(lease: float, pause: float) -> None:
    assert retry_pause(lease) == pytest.approx(pause)


# --- what is owed -----------------------------------------------------------------------------


def test_owed_withdrawal_is_paid_as_soon_as_the_keeper_is_woken() -> None:
    keeping = Round(holds=0)
    keeping.owe(expires=130.0)

    request = keeping.hand.reply(True).request

    assert request == Call("withdraw", ("name",), ("owner:9",), 101.0)
    assert keeping.hand.reply(False).story[-1] == "park until 1100"


def test_owed_withdrawal_that_fails_is_tried_again_until_its_lease_has_ended() -> None:
    keeping = Round(holds=0)
    keeping.owe(expires=102.5)

    keeping.hand.reply(True).fail(DOWN)
    assert keeping.hand.story[-1] == "park until 101"
    keeping.wait().fail(DOWN)
    keeping.wait().fail(DOWN)
    keeping.wait()

    assert keeping.hand.story.count("withdraw") == 3
    assert keeping.hand.story[-1] == "park until 1100"


def test_debts_do_not_delay_the_report_of_a_loss() -> None:
    keeping = Round(kept=False)
    keeping.clock.now = keeping.holds[0].lost_at - 0.5
    keeping.owe(expires=200.0)

    request = keeping.hand.reply(True).request

    assert request.operation == "withdraw"
    assert request.until == keeping.holds[0].lost_at


# --- its life -----------------------------------------------------------------------------------


def test_keeper_ends_when_the_rota_is_closed() -> None:
    keeping = Round(holds=0)
    keeping.schedule.closed = True

    assert keeping.hand.reply(True).done


def test_introduction_is_done_at_once_and_again_in_its_time() -> None:
    keeping = Round(holds=0)

    keeping.wait()

    assert keeping.introductions == [100.0, 1100.0]


def test_keeper_that_stumbled_looks_at_every_hold_and_debt_again() -> None:
    keeping = Round()
    keeping.wait()
    keeping.owe(expires=130.0)
    keeping.hand.fail(ZeroDivisionError())
    assert isinstance(keeping.hand.error, ZeroDivisionError)

    again = Hand(keep(keeping.schedule, keeping.wakes, keeping.clock, keeping.introduce))

    assert again.story == ["renew"]
    assert again.reply([True]).story == ["renew", "withdraw"]
    assert again.reply(False).story[-1] == "park until 108"


def test_keeper_that_stumbled_over_a_debt_pays_it_later() -> None:
    keeping = Round(holds=0)
    keeping.owe(expires=130.0)
    keeping.hand.reply(True).fail(ZeroDivisionError())

    again = Hand(keep(keeping.schedule, keeping.wakes, keeping.clock, keeping.introduce))

    assert again.story == ["withdraw"]
