"""Every interleaving of a few clients, with every placement of a few faults."""

from __future__ import annotations

import pytest

from interlock.recipes.renewal import BY_CLOCK
from tests.support.sim import LOST_MESSAGES, Fault, Plan, Scenario, explore

from .plans import BRISK, CROWDED, HASTY, KEPT, PATIENT, STEADY

#: What every exploration with all faults must have come across.
ALWAYS = (
    "a grant was obtained after a doubt",
    "a handed-over lock was claimed",
    "a late attempt met a tombstone",
    "a late attempt was granted",
    "a provisional lease ran out",
    "a release found the lease ended",
    "a waiter that did not hear was dropped",
    "a waiter was killed after it was handed the lock",
    "a holder was killed",
    "a withdrawal was owed",
    "an acquisition ended with Cancelled",
    "the lock was handed over",
    *(f"fault: {fault.value}" for fault in Fault),
)


PAIRS = {
    "steady": (STEADY, STEADY),
    "brisk": (BRISK, BRISK),
    "hasty": (STEADY, HASTY),
    "crowded": (CROWDED, CROWDED),
}


@pytest.mark.parametrize("plans", PAIRS.values(), ids=PAIRS)
def test_two_clients_survive_any_fault(plans: tuple[Plan, Plan]) -> None:
    report = explore(Scenario(plans, faults=1))

    assert [fault for fault in Fault if not report.seen[f"fault: {fault.value}"]] == []


@pytest.mark.slow
@pytest.mark.parametrize("plans", PAIRS.values(), ids=PAIRS)
def test_two_clients_survive_any_two_faults(plans: tuple[Plan, Plan]) -> None:
    report = explore(Scenario(plans, faults=2))

    assert [thing for thing in ALWAYS if not report.seen[thing]] == []


@pytest.mark.slow
def test_two_clients_survive_any_two_faults_when_wakes_reach_a_client_as_a_whole() -> None:
    report = explore(Scenario((BRISK, BRISK), faults=2, shared_ear=True))

    assert report.seen["a handed-over lock was passed on by withdrawing"]


@pytest.mark.slow
def test_three_clients_survive_any_fault() -> None:
    steady, brisk = (explore(Scenario((plan,) * 3)) for plan in (STEADY, BRISK))

    assert steady.seen["a waiter was killed after it was handed the lock"]
    assert brisk.seen["a late attempt was put into the queue"]


@pytest.mark.slow
@pytest.mark.parametrize("plan", [BRISK, CROWDED], ids=["brisk", "crowded"])
def test_three_clients_survive_any_two_lost_or_late_messages(plan: Plan) -> None:
    report = explore(Scenario((plan,) * 3, faults=2, kinds=LOST_MESSAGES))

    assert report.seen["a late attempt met a tombstone"]
    assert report.seen["the lock was handed over"]


@pytest.mark.slow
def test_acquisitions_one_after_another_survive_any_fault() -> None:
    report = explore(Scenario((Plan(work=0.0, times=2),) * 2))

    assert report.seen["a late attempt met a tombstone"]


def test_kept_leases_survive_any_fault() -> None:
    report = explore(Scenario((KEPT, PATIENT._replace(wait=8.0))))

    assert report.seen["a lease was renewed"]
    assert report.seen[f"a hold was lost: {BY_CLOCK}"]


def test_silence_is_reported_as_a_loss_before_the_validity_ends() -> None:
    kinds = frozenset({Fault.SLOW, Fault.REFUSED})
    report = explore(Scenario((KEPT, PATIENT), faults=2, kinds=kinds))

    assert report.seen["a loss was reported before the validity ended"]


@pytest.mark.slow
def test_kept_leases_survive_any_two_lost_or_late_messages() -> None:
    report = explore(Scenario((KEPT._replace(work=1.5), PATIENT), faults=2, kinds=LOST_MESSAGES))

    assert report.seen["a withdrawal was owed"]
    assert report.seen["an owed withdrawal was paid"]
    assert not report.seen[f"a hold was lost: {BY_CLOCK}"]


@pytest.mark.parametrize("rate", [0.99, 1.01])
def test_clocks_may_differ_by_one_percent(rate: float) -> None:
    report = explore(Scenario((STEADY, STEADY), rate=rate))

    assert report.seen["a release found the lease ended"]


@pytest.mark.parametrize(
    ("plan", "clients"), [(STEADY, 4), (BRISK, 4), (CROWDED, 4), (KEPT._replace(wait=20.0), 3)]
)
def test_waiters_are_served_in_order_and_at_once_when_nothing_goes_wrong(
    plan: Plan, clients: int
) -> None:
    report = explore(Scenario((plan,) * clients, faults=0))

    assert report.seen["a handed-over lock was claimed"]
    assert not any(thing.startswith("an acquisition ended") for thing in report.seen)


def test_a_waiter_that_gives_up_leaves_its_place_to_the_next() -> None:
    report = explore(Scenario((STEADY, HASTY, STEADY), faults=0))

    assert report.seen["an acquisition ended with AcquireTimeout"]
    assert report.seen["a handed-over lock was claimed"]
