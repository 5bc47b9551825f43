"""Permits: every interleaving of a few who want them, with a fault anywhere."""

from __future__ import annotations

import pytest

from interlock.recipes.renewal import BY_CLOCK
from tests.support.sim import LOST_MESSAGES, Fault, Plan, Scenario, explore, permits

from .plans import (
    BRISK,
    BRISK_HEAVY,
    BRISK_LIGHT,
    HASTY_HEAVY,
    HEAVY,
    KEPT,
    LIGHT,
    PATIENT,
    STEADY,
)

ONE, BRISK_ONE = STEADY._replace(want=permits(1)), BRISK._replace(want=permits(1))
#: One of three permits, and two of them.
OF_THREE, TWO_OF_THREE = (STEADY._replace(want=permits(3, weight)) for weight in (1, 2))


@pytest.mark.parametrize("plan", [ONE, BRISK_ONE], ids=["steady", "brisk"])
def test_one_permit_is_as_good_as_a_lock_through_any_fault(plan: Plan) -> None:
    report = explore(Scenario((plan, plan)))

    assert [fault for fault in Fault if not report.seen[f"fault: {fault.value}"]] == []
    assert not report.seen["several held at the same time"]


def test_one_permit_survives_any_two_lost_or_late_messages() -> None:
    report = explore(Scenario((BRISK_ONE, BRISK_ONE), faults=2, kinds=LOST_MESSAGES))

    assert report.seen["a late attempt met a tombstone"]
    assert not report.seen["several held at the same time"]


TRIPLES = {
    "steady": (LIGHT,) * 3,
    "brisk": (BRISK_LIGHT,) * 3,
    "heavy": (HEAVY, LIGHT, LIGHT),
    "three permits": (OF_THREE, TWO_OF_THREE, TWO_OF_THREE),
}


@pytest.mark.parametrize("plans", TRIPLES.values(), ids=TRIPLES)
def test_three_who_share_permits_survive_any_fault(plans: tuple[Plan, ...]) -> None:
    report = explore(Scenario(plans))

    assert [fault for fault in Fault if not report.seen[f"fault: {fault.value}"]] == []
    assert report.seen["several held at the same time"]
    assert report.seen["a waiter was killed after it was handed the lock"]


@pytest.mark.slow
@pytest.mark.parametrize("shared_ear", [False, True])
def test_brisk_ones_with_different_weights_survive_any_fault(shared_ear: bool) -> None:
    plans = (BRISK_HEAVY, BRISK_LIGHT, BRISK_LIGHT)
    report = explore(Scenario(plans, shared_ear=shared_ear))

    assert report.seen["several were handed a share at the same time"]
    assert report.seen["a late attempt was put into the queue"]


@pytest.mark.slow
def test_heavy_one_that_gives_up_survives_any_fault() -> None:
    report = explore(Scenario((HEAVY, LIGHT, HASTY_HEAVY)))

    assert report.seen["an acquisition ended with AcquireTimeout"]
    assert report.seen["a handed-over lock was passed on by withdrawing"]


def test_two_permits_taken_again_and_again_survive_any_two_lost_or_late_messages() -> None:
    again = BRISK_LIGHT._replace(times=2)
    report = explore(Scenario((again, again), faults=2, kinds=LOST_MESSAGES))

    assert report.seen["a late attempt met a tombstone"]
    assert report.seen["several held at the same time"]


@pytest.mark.slow
def test_kept_permits_survive_any_lost_or_slow_message() -> None:
    light = PATIENT._replace(want=permits(2))
    plans = (KEPT._replace(want=permits(2, 2)), light, light)
    report = explore(Scenario(plans, kinds=LOST_MESSAGES | {Fault.SLOW, Fault.REFUSED}))

    assert report.seen["a lease was renewed"]
    assert report.seen["several held at the same time"]
    assert not report.seen[f"a hold was lost: {BY_CLOCK}"]


@pytest.mark.parametrize("rate", [0.99, 1.01])
def test_clocks_may_differ_by_one_percent(rate: float) -> None:
    report = explore(Scenario((HEAVY, LIGHT), rate=rate))

    assert report.seen["a release found the lease ended"]


# --- when nothing goes wrong --------------------------------------------------------------------

CALM = {
    "steady": (LIGHT, LIGHT, HEAVY, LIGHT),
    "brisk": (BRISK_LIGHT, BRISK_LIGHT, BRISK_HEAVY, BRISK_LIGHT),
}


@pytest.mark.parametrize("plans", CALM.values(), ids=CALM)
def test_permits_are_given_in_order_and_at_once_when_nothing_goes_wrong(
    plans: tuple[Plan, ...],
) -> None:
    report = explore(Scenario(plans, faults=0))

    assert report.seen["several held at the same time"]
    assert report.seen["several were handed a share at the same time"]
    assert not any(thing.startswith("an acquisition ended") for thing in report.seen)


def test_heavy_one_is_not_starved_by_light_ones_that_come_again_and_again() -> None:
    """It has time for the light ones before it, and not for any that come after it."""
    again = LIGHT._replace(times=3, wait=20.0)
    report = explore(Scenario((again, again, HEAVY._replace(wait=1.5)), faults=0))

    assert report.seen["several held at the same time"]
    assert not any(thing.startswith("an acquisition ended") for thing in report.seen)
