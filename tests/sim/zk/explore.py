"""Run a scenario through every schedule with few detours, through one again, or along numbers."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from tests.support.sim import Violation
from tests.support.sim.choices import Numbers, Script, Search, State

from . import strikes as strikes
from .scenario import Scenario
from .world import World

#: How many of the choices go to faults.
RATES = (0.01, 0.03, 0.1)


class Detours(Search):
    """Depth first through every way that leaves the straight one a few times only.

    The straight way lets whoever is first go on, and nothing goes wrong on it.
    """

    def __init__(self, most: int) -> None:
        super().__init__(prune=False)
        self._most = most

    def pick(self, width: int, plain: int, state: State) -> int:
        taken = sum(map(bool, self.path[: self._at]))
        return super().pick(width if taken < self._most else 1, plain, state)


def explore(scenario: Scenario, detours: int) -> tuple[int, Counter[str]]:
    """Run every such schedule; answers how many there are, and what was seen in them."""
    search, seen, schedules = Detours(detours), Counter[str](), 0
    while True:
        world = World(scenario, search)
        try:
            world.run()
        except Violation:
            raise _told(scenario, search.path) from None
        schedules += 1
        seen.update(world.watch.seen)
        if not search.next():
            return schedules, seen


def drawn(seed: int, length: int = 600, calm: int = 0) -> list[int]:
    """Numbers that decide (see `Numbers`): with some seeds faults come in a storm, with others
    one by one; the first `calm` choices are free of them."""
    source = random.Random(seed)
    rate = source.choice(RATES)
    struck = [at >= calm and source.random() < rate for at in range(length)]
    return [source.randrange(1000) * 100 + (99 if each else 0) for each in struck]


def wander(scenario: Scenario, numbers: Sequence[int]) -> set[str]:
    """Run the schedule that any numbers lead to; answers what was seen."""
    chooser = Numbers(numbers)
    world = World(scenario, chooser)
    try:
        world.run()
    except Violation:
        raise _told(scenario, chooser.path) from None
    return world.watch.seen


def replay(scenario: Scenario, choices: Sequence[int]) -> list[str]:
    """Run one schedule again and tell what happens in it; raises what it leads to."""
    chooser = Script(choices)
    world = World(scenario, chooser, with_trace=True)
    try:
        world.run()
    except Violation as violation:
        violation.choices, violation.trace = chooser.path, world.trace or []
        raise
    return world.trace or []


def _told(scenario: Scenario, choices: Sequence[int]) -> Violation:
    try:
        replay(scenario, choices)
    except Violation as violation:
        return violation
    raise AssertionError("a schedule went another way when it was run again")
