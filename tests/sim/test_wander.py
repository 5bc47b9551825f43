"""Longer runs along numbers that hypothesis draws, and makes smaller when one fails.

The runs are the same each time.  To explore anew, set `INTERLOCK_SEED` to any whole number;
a failure prints the seed, and the choices that lead straight to what went wrong.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from tests.support.sim import (
    LOCK,
    READ,
    WRITE,
    Fault,
    Plan,
    Scenario,
    Violation,
    Want,
    permits,
    wander,
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


def some_numbers(start: int, length: int) -> list[int]:
    """Numbers that decide, see `Numbers`; a failure is made smaller by leaving out the last."""
    source = random.Random(start)
    return [source.randrange(10_000) for _ in range(length)]


NUMBERS = st.builds(some_numbers, st.integers(0, 2**32), st.integers(0, 300))


def seeded(test: Callable[..., Any]) -> Callable[..., Any]:
    return test if SEED is None else seed(int(SEED))(test)


def walk(scenario: Scenario, numbers: list[int]) -> set[str]:
    try:
        return wander(scenario, numbers)
    except Violation as violation:
        violation.add_note(f"INTERLOCK_SEED={SEED or 'not set'}")
        violation.add_note(f"scenario: {scenario}")
        raise


plans = st.builds(
    Plan,
    wait=st.sampled_from([0.5, 4.0, 9.0]),
    lease=st.sampled_from([1.0, 3.0]),
    work=st.sampled_from([0.0, 1.0, 2.5]),
    times=st.integers(1, 3),
    kept=st.booleans(),
    try_once=st.booleans(),
    jitter=st.sampled_from([0.0, 0.5]),
    was_busy=st.booleans(),
    want=st.just(LOCK),
    downgrades=st.just(False),
)

#: What can be wanted together: shares of one name.
SHARES = (
    (READ, WRITE),
    (permits(1),),
    (permits(2), permits(2, 2)),
    (permits(3), permits(3, 2)),
)


def wanting(plan: Plan, want: Want, downgrades: bool) -> Plan:
    return plan._replace(want=want, downgrades=downgrades and want is WRITE)


def sharing(wants: tuple[Want, ...]) -> st.SearchStrategy[tuple[Plan, ...]]:
    plan = st.builds(wanting, plans, st.sampled_from(wants), st.booleans())
    return st.tuples(plan, plan, plan)


def scenarios(three: st.SearchStrategy[tuple[Plan, ...]]) -> st.SearchStrategy[Scenario]:
    return st.builds(
        Scenario,
        plans=three,
        faults=st.integers(0, 8),
        rate=st.sampled_from([0.99, 1.0, 1.01]),
        shared_ear=st.booleans(),
    )


THREE = st.tuples(plans, plans, plans)
THREE_WHO_SHARE = st.sampled_from(SHARES).flatmap(sharing)


def unseen(seen: Counter[str]) -> list[str]:
    """What never went wrong in all these runs: nothing, if they were any good."""
    return [fault.value for fault in Fault if not seen[f"fault: {fault.value}"]]


@pytest.mark.slow
def test_any_three_clients_survive_whatever_happens() -> None:
    seen: Counter[str] = Counter()

    @seeded
    @SETTINGS
    @given(scenarios(THREE), NUMBERS)
    def wandering(scenario: Scenario, numbers: list[int]) -> None:
        seen.update(walk(scenario, numbers))

    wandering()

    assert unseen(seen) == []


@pytest.mark.slow
def test_any_three_who_share_survive_whatever_happens() -> None:
    seen: Counter[str] = Counter()

    @seeded
    @SETTINGS
    @given(scenarios(THREE_WHO_SHARE), NUMBERS)
    def wandering(scenario: Scenario, numbers: list[int]) -> None:
        seen.update(walk(scenario, numbers))

    wandering()

    assert unseen(seen) == []
    assert seen["several were handed a share at the same time"]
    assert seen["a writer read on"]


KEPT = Scenario((Plan(work=4.0, wait=20.0, times=2, kept=True),) * 3, faults=6, shared_ear=True)


@pytest.mark.slow
def test_kept_leases_survive_a_storm() -> None:
    seen: Counter[str] = Counter()

    @seeded
    @SETTINGS
    @given(NUMBERS)
    def storm(numbers: list[int]) -> None:
        seen.update(walk(KEPT, numbers))

    storm()

    assert unseen(seen) == []
    assert seen["a lease was renewed"]
    assert seen["an owed withdrawal was paid"]
    assert seen["a late attempt met a tombstone"]


def test_failure_names_its_seed_and_its_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlock.recipes.lock.POLL_CAP", 60.0)

    with pytest.raises(Violation) as caught:
        walk(Scenario(faults=0), [])

    assert "replay with choices=" in str(caught.value)
    assert caught.value.__notes__[0].startswith("INTERLOCK_SEED=")
