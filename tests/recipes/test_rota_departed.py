"""A hold that leaves the rota while it is being renewed holds nobody up."""

from __future__ import annotations

from interlock.recipes.keep import NEVER

from .test_rota import hold, new_rota


def test_loss_of_a_hold_that_has_left_does_not_press_for_ever() -> None:
    rota = new_rota()
    leaving = hold(asked=100.0, lease=12.0)
    rota.add(leaving)
    assert rota.turn(104.0).batches  # it is due, and while it is asked for it is released
    rota.drop(leaving)
    rota.settle(leaving)

    late = rota.turn(leaving.until + 1.0)

    assert late.next_loss == NEVER
