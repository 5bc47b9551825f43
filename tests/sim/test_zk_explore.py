"""Clients of ZooKeeper in every interleaving: first few detours and all of them, then many.

The runs are the same each time.  To wander elsewhere, set `INTERLOCK_SEED` to any whole number;
a failure prints the choices that lead straight to what went wrong (see `zk.explore.replay`).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from tests.support.sim import Violation

from .zk.explore import drawn, explore, wander
from .zk.scenario import (
    EVERY_FAULT,
    LOCK,
    MUTEX,
    READ,
    WRITE,
    Fault,
    Plan,
    Scenario,
    Want,
    permits,
)

SEED = os.environ.get("INTERLOCK_SEED")

SETTINGS = settings(
    max_examples=800,
    deadline=None,
    database=None,
    derandomize=SEED is None,
    print_blob=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

#: Who meets whom: what can be wanted of one name.
MEETINGS: dict[str, tuple[Want, ...]] = {
    "locks": (LOCK,),
    "mutexes": (MUTEX,),
    "readers and writers": (READ, WRITE),
    "permits": (permits(2), permits(2, 2)),
    "many permits": (permits(3), permits(3, 2)),
}


def seeded(test: Callable[..., Any]) -> Callable[..., Any]:
    return test if SEED is None else seed(int(SEED))(test)


def walk(scenario: Scenario, numbers: list[int]) -> set[str]:
    try:
        return wander(scenario, numbers)
    except Violation as violation:
        violation.add_note(f"INTERLOCK_SEED={SEED or 'not set'}")
        violation.add_note(f"scenario: {scenario}")
        raise


# --- every way ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("meeting", ["locks", "readers and writers", "permits"])
def test_two_survive_whatever_happens_once(meeting: str) -> None:
    wants = (MEETINGS[meeting] * 2)[:2]
    plans = tuple(Plan(want, downgrades=True) for want in wants)

    schedules, seen = explore(Scenario(plans), detours=1)

    assert schedules > 100
    assert seen["a lock was released"]


def test_two_meet_in_every_order_with_two_detours() -> None:
    schedules, seen = explore(Scenario((Plan(), Plan()), faults=0), detours=2)

    assert schedules > 100
    assert seen["a lock was released"] == schedules


# --- many ways ---------------------------------------------------------------------------------


NUMBERS = st.builds(drawn, st.integers(0, 2**32), st.just(600), st.sampled_from([0, 40, 90]))

#: What goes wrong together: everything, or a few things often.
KINDS = st.just(EVERY_FAULT) | st.frozensets(st.sampled_from(Fault), min_size=1, max_size=3)


def plans(wants: tuple[Want, ...]) -> st.SearchStrategy[Plan]:
    return st.builds(
        Plan,
        want=st.sampled_from(wants),
        wait=st.sampled_from([60.0, 0.0, 5.0]),
        work=st.sampled_from([1.0, 7.0, 0.0]),
        times=st.integers(1, 3),
        lease=st.sampled_from([30.0, 2.0]),
        downgrades=st.booleans(),
        was_busy=st.booleans(),
    )


def meetings(wants: tuple[Want, ...]) -> st.SearchStrategy[Scenario]:
    some = st.lists(plans(wants), min_size=2, max_size=4).map(tuple)
    return st.builds(Scenario, plans=some, faults=st.integers(1, 6), kinds=KINDS)


SCENARIOS = st.sampled_from(list(MEETINGS.values())).flatmap(meetings)


@pytest.mark.slow
def test_any_who_meet_survive_whatever_happens() -> None:
    seen: Counter[str] = Counter()

    @seeded
    @SETTINGS
    @given(SCENARIOS, NUMBERS)
    def wandering(scenario: Scenario, numbers: list[int]) -> None:
        seen.update(walk(scenario, numbers))

    wandering()

    assert [fault.value for fault in Fault if not seen[f"fault: {fault.value}"]] == []
    assert seen["a lock was granted after a doubt"]
    assert seen["a session ended"]
    assert seen["a lock was lost"]
    assert seen["a writer read on"]
    assert seen["several held at the same time"]


@pytest.mark.slow
def test_robbed_ones_do_not_block_the_line_with_leases_that_nobody_has() -> None:
    """A place may be taken away while leases are being made: they must not stay behind."""
    robbery = Scenario((Plan(permits(2, 2)),) * 2, 2, frozenset({Fault.REVOKED}))

    seen = Counter(thing for each in range(150) for thing in walk(robbery, drawn(each)))

    assert seen[f"fault: {Fault.REVOKED.value}"]


def test_failure_tells_its_story(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlock.recipes.lock.POLL_CAP", 60.0)

    with pytest.raises(Violation, match="sleeps longer than the poll cap") as caught:
        walk(Scenario((Plan(), Plan()), faults=0), [])

    assert "replay with choices=" in str(caught.value)
    assert caught.value.__notes__[0].startswith("INTERLOCK_SEED=")
