"""The bars: what each figure has to reach, and whether it did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from .report import Figures, Table, count

Read = Callable[[Figures], float]


@dataclass(frozen=True)
class Bar:
    """One claim about speed: at least, or at most, the floor; better still, the goal."""

    number: str
    claim: str
    read: Read
    sense: Literal[">=", "<="]
    floor: float
    goal: float | None = None
    #: The same by processor time, which neighbours on the machine do not disturb.
    by_cpu: Read | None = None


@dataclass(frozen=True)
class Verdict:
    """A bar and what was measured; None where it was not."""

    number: str
    claim: str
    sense: str
    floor: float
    goal: float | None
    measured: float | None
    by_cpu: float | None = None

    @property
    def word(self) -> str:
        if self.measured is None:
            return "not measured"
        if self.goal is not None and self._reaches(self.goal):
            return "goal met"
        return "met" if self._reaches(self.floor) else "NOT met"

    def _reaches(self, line: float) -> bool:
        """By the time that passed and, where it is known, by processor time as well."""
        figures = [each for each in (self.measured, self.by_cpu) if each is not None]
        if self.sense == ">=":
            return min(figures) >= line
        return max(figures) <= line

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "word": self.word}


def at(*path: str) -> Read:
    """Read a figure; a KeyError means that it was not measured."""

    def read(figures: Figures) -> float:
        found: Any = figures
        for part in path:
            found = found[part]
        return float(found)

    return read


def over(one: Read, other: Read) -> Read:
    return lambda figures: one(figures) / other(figures)


def judge(figures: Figures) -> list[Verdict]:
    """Hold every bar against what was measured."""
    from . import cluster_bars, kernel_bars, primitive_bars, redlock_bars, zookeeper_bars

    kinds = (*kernel_bars.BARS, *primitive_bars.BARS)
    every = (*kinds, *zookeeper_bars.BARS, *redlock_bars.BARS, *cluster_bars.BARS)
    return [_judge(bar, figures) for bar in every]


def _judge(bar: Bar, figures: Figures) -> Verdict:
    measured, by_cpu = _read(bar.read, figures), _read(bar.by_cpu, figures)
    return Verdict(bar.number, bar.claim, bar.sense, bar.floor, bar.goal, measured, by_cpu)


def _read(read: Read | None, figures: Figures) -> float | None:
    try:
        return None if read is None else read(figures)
    except KeyError:
        return None


def table(verdicts: list[Verdict]) -> Table:
    """The verdicts for people; bars that were not measured are left out."""
    drawn = Table("the bars", ("", "bar", "measured", "by CPU", "floor", "goal", "verdict"))
    for each in verdicts:
        if each.measured is not None:
            goal = "" if each.goal is None else f"{each.sense} {count(each.goal)}"
            floor = f"{each.sense} {count(each.floor)}"
            by_cpu = "" if each.by_cpu is None else count(each.by_cpu)
            figures = (count(each.measured), by_cpu, floor, goal)
            drawn.add(each.number, each.claim, *figures, each.word)
    return drawn
