"""A hold that leaves the schedule while it is being renewed holds nobody up."""

from __future__ import annotations

from typing import Any

from interlock.model import Grant, validity
from interlock.recipes.renewal import NEVER, RenewalSchedule
from tests.support.sim import SimHold

from .hand import Paper
from .test_schedule import hold, new_rota


def test_loss_of_a_hold_that_has_left_does_not_press_for_ever() -> None:
    schedule = new_rota()
    leaving = hold(asked=100.0, lease=12.0)
    schedule.add(leaving)
    assert schedule.due(104.0).batches  # it is due, and while it is asked for it is released
    schedule.drop(leaving)
    schedule.settle(leaving)

    late = schedule.due(leaving.until + 1.0)

    assert late.next_loss == NEVER


class Mutex:
    """A mutex that knows whether it is held."""

    held = False

    def __enter__(self) -> None:
        self.held = True

    def __exit__(self, *exit: object) -> None:
        self.held = False


class Gone(SimHold):
    """A hold that is out of reach."""

    def reference(self) -> Any:
        return None


def test_what_was_forgotten_is_told_outside_of_the_mutex() -> None:
    mutex, told, store = Mutex(), list[tuple[str, bool]](), Paper()
    schedule = RenewalSchedule(mutex, lambda owed, words: told.append((owed.owner, mutex.held)))
    grants = [Grant("name", f"a:{n}", 1, 100.0, validity(100.0, 12.0)) for n in (1, 2)]
    holds = [Gone(store, grant, 12.0, True) for grant in grants]
    for each in holds:
        schedule.add(each)
    schedule.forget(holds[1], "words")

    assert [each.owner for each in schedule.due(101.0).owed] == ["a:2"]
    schedule.sweep()

    assert told == [("a:2", False), ("a:1", False)]
