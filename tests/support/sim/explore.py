"""Run a scenario through every schedule, through one again, or along any numbers."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from .actions import Menu
from .choices import Numbers, Pruned, Script, Search
from .scenario import Scenario
from .watch import Violation
from .world import World


@dataclass
class Report:
    """What an exploration went through."""

    schedules: int = 0
    states: int = 0
    steps: int = 0
    seconds: float = 0.0
    #: In how many schedules each noteworthy thing was seen.
    seen: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        return (
            f"{self.schedules} schedules, {self.states} states, {self.steps} steps, "
            f"{self.seconds:.2f} s"
        )


def explore(scenario: Scenario, prune: bool = True) -> Report:
    """Run every schedule of a scenario; raise Violation at the first that breaks a rule."""
    search, report, menu = Search(prune), Report(), Menu(scenario.kinds)
    began = time.perf_counter()
    while True:
        world = World(scenario, search, menu)
        try:
            world.run()
        except Pruned:
            pass
        except Violation:
            raise _told(scenario, search.path) from None
        report.schedules += 1
        report.steps += world.steps
        report.seen.update(world.watch.seen)
        if not search.next():
            break
    report.states = len(search.visited)
    report.seconds = time.perf_counter() - began
    return report


def replay(scenario: Scenario, choices: Sequence[int]) -> list[str]:
    """Run one schedule again and tell what happens in it; raises what it leads to."""
    return _run(scenario, Script(choices)).trace or []


def wander(scenario: Scenario, numbers: Sequence[int]) -> set[str]:
    """Run the schedule that any numbers lead to; answers what was seen."""
    return _run(scenario, Numbers(numbers)).watch.seen


def _run(scenario: Scenario, chooser: Script | Numbers) -> World:
    world = World(scenario, chooser, Menu(scenario.kinds), with_trace=True)
    try:
        world.run()
    except Violation as violation:
        violation.choices, violation.trace = chooser.path, world.trace or []
        raise
    return world


def _told(scenario: Scenario, choices: Sequence[int]) -> Violation:
    try:
        replay(scenario, choices)
    except Violation as violation:
        return violation
    raise AssertionError("a schedule went another way when it was run again")
