"""What a loss tells of its reason, and that it is reported whether there is one or not."""

from __future__ import annotations

import pytest

from interlock.errors import OutcomeUnknown
from interlock.recipes.renewal import BY_ANSWER
from interlock.steps import Call, Together

from .rounds import Round


def test_reason_of_a_revocation_reaches_the_loss() -> None:
    keeping = Round(holds=2)
    keeping.wait().reply([False, False])
    whys = [Call("withdrawal_reason", (f"name {n}",), (f"owner:{n}",), 105.0) for n in range(2)]
    assert keeping.hand.request == Together(tuple(whys))

    keeping.hand.reply(["stuck since noon", ""])

    assert [hold.fate for hold in keeping.holds] == [["stuck since noon"], [BY_ANSWER]]


def test_loss_is_reported_in_time_though_nobody_tells_its_reason() -> None:
    """The question why has no more time than the answer that it follows had."""
    keeping = Round()
    asked = keeping.wait().request
    keeping.clock.now += 0.9

    why = keeping.hand.reply([False]).request
    keeping.hand.fail(OutcomeUnknown("no answer"))

    assert why.until == asked.until
    assert keeping.holds[0].fate == [BY_ANSWER]


@pytest.mark.parametrize("interruption", [ZeroDivisionError(), KeyboardInterrupt()])
def test_losses_are_reported_though_the_keeper_stumbles_over_the_first_reason(
    interruption: BaseException,
) -> None:
    keeping = Round(holds=3)

    keeping.wait().reply([False, True, False]).fail(interruption)

    assert keeping.hand.error is interruption
    assert [hold.fate for hold in keeping.holds] == [[BY_ANSWER], [], [BY_ANSWER]]


def test_losses_are_reported_though_the_keeper_is_ended_while_it_asks_why() -> None:
    keeping = Round()
    keeping.wait().reply([False])

    keeping.hand.steps.close()

    assert keeping.holds[0].fate == [BY_ANSWER]
