"""The simulation itself: it misses nothing, and what it finds can be found again."""

from __future__ import annotations

import pytest

from tests.support.sim import Fault, Scenario, SimRecords, Violation, explore, replay, wander
from tests.support.sim.choices import Search

from .plans import (
    BRISK,
    BRISK_READER,
    BRISK_WRITER,
    CROWDED,
    HASTY,
    HEAVY,
    LIGHT,
    READER,
    STEADY,
    TURNING,
)


class Tombless(SimRecords):
    def bury(self, owner: str, reason: str) -> None:
        pass


BROKEN = Scenario((BRISK, BRISK), kinds=frozenset({Fault.ARRIVES_LATE}), records=Tombless)


def violation_of(scenario: Scenario) -> Violation:
    with pytest.raises(Violation) as caught:
        explore(scenario)
    return caught.value


def test_search_goes_every_way_once() -> None:
    search, ways = Search(prune=False), []
    while True:
        width = 2 + search.pick(2, 1, None)
        ways.append((width, search.pick(width, 1, None)))
        if not search.next():
            break

    assert ways == [(2, 0), (2, 1), (3, 0), (3, 1), (3, 2)]


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario((BRISK, BRISK)),
        Scenario((STEADY, HASTY)),
        Scenario((CROWDED, CROWDED), shared_ear=True),
        Scenario((BRISK,) * 3, faults=0),
        Scenario((TURNING, READER)),
        Scenario((BRISK_WRITER, BRISK_READER, BRISK_READER), faults=0),
        Scenario((HEAVY, LIGHT)),
    ],
    ids=["brisk", "hasty", "crowded", "three", "turning", "readers", "permits"],
)
def test_following_equal_states_once_sees_the_same_as_following_all(scenario: Scenario) -> None:
    pruned, whole = explore(scenario), explore(scenario, prune=False)

    assert pruned.schedules < whole.schedules
    assert set(pruned.seen) == set(whole.seen)


def test_following_equal_states_once_finds_the_same_violations() -> None:
    with pytest.raises(Violation, match="holds the lock again"):
        explore(BROKEN, prune=False)
    assert "holds the lock again" in violation_of(BROKEN).what


def test_violation_can_be_replayed_and_tells_its_story() -> None:
    violation = violation_of(BROKEN)

    with pytest.raises(Violation) as again:
        replay(BROKEN, violation.choices)

    assert again.value.trace == violation.trace
    assert str(violation).startswith(violation.what)
    assert "its request is delayed" in str(violation)
    assert violation.trace[-1].endswith("(late)")


def test_replay_of_a_good_schedule_tells_what_happened() -> None:
    told = replay(Scenario((BRISK, BRISK), faults=0), [])

    assert told[:2] == [
        "   0.000  client 0  attempt('0:1', 3.0, False) → (1, 1)",
        "   0.000  client 0  release('0:1',) → 1",
    ]


def test_two_explorations_go_through_the_same_schedules() -> None:
    first, second = explore(Scenario((BRISK, BRISK))), explore(Scenario((BRISK, BRISK)))

    assert (first.schedules, first.states, first.seen) == (
        second.schedules,
        second.states,
        second.seen,
    )


def test_small_numbers_lead_to_a_schedule_without_faults() -> None:
    seen = wander(Scenario((STEADY, STEADY), faults=5), [])

    assert not any(thing.startswith("fault") for thing in seen)
