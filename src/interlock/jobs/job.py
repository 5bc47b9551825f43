"""A job: what is to run, when, and on which terms.  Checked when it is registered."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..errors import UsageError
from ..model import Seconds, Terms, as_seconds, checked_name, checked_terms, spelled
from ..words import given, shown
from .history import LOST, RUNNING, STOPPED, Rules, Run
from .schedule import Schedule

#: What the names of locks and registers of jobs start with.
PREFIX = "job:"

#: Seconds; a lease is as long as the gap between two ticks, within these bounds, so that the lock
#: of a runner that has died is free again when the next tick is due.
SHORTEST_LEASE, LONGEST_LEASE = 2.0, 30.0

#: A tick may begin late by half of the gap, within these bounds, in seconds.
SHORTEST_GRACE, LONGEST_GRACE = 10.0, 3600.0

#: Seconds for which the history of a job is kept at least.
KEEP = 30 * 86_400.0

#: States of a run that did not come to its end.
UNFINISHED = frozenset({RUNNING, LOST, STOPPED})


@dataclass(frozen=True)
class Job:
    """What a client was told by `cron()` or `every()`."""

    name: str
    schedule: Schedule
    function: Callable[..., Any]
    terms: Terms
    at_least_for: float
    grace: float
    keep: float
    rules: Rules
    #: Whether ticks that passed while no instance was there are made up for, by one run.
    catches_up: bool

    @property
    def lock(self) -> str:
        """The name of its lock, and of its register."""
        return PREFIX + self.name

    def arguments(self, run: Run) -> tuple[Run, ...]:
        """What the function is called with: its run, if it takes an argument."""
        try:
            parameters = inspect.signature(self.function).parameters.values()
        except (TypeError, ValueError):
            return ()
        takes = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        wanted = [each for each in parameters if each.kind in takes]
        return (run,) if wanted and wanted[0].default is inspect.Parameter.empty else ()


def checked_job(
    name: object,
    schedule: Schedule,
    function: Callable[..., Any],
    *,
    at_most_for: Seconds | str | None,
    at_least_for: Seconds | str,
    grace: Seconds | str | None,
    missed: str,
    overlap: str,
    retry_dead: bool,
    now_ms: int,
) -> Job:
    """Turn what the user said into a job, or name the argument that is wrong."""
    chosen = checked_name(name)
    checked_choice("missed", missed, ("skip", "once"))
    checked_choice("overlap", overlap, ("skip", "queue"))
    if not isinstance(retry_dead, bool):
        raise TypeError(f"retry_dead must be True or False, not {given(retry_dead)}")
    gap = _gap(schedule, now_ms)
    most = _length("at_most_for", at_most_for)
    least = _length("at_least_for", at_least_for) or 0.0
    if most is not None and least > most:
        raise UsageError(f"at_least_for ({shown(at_least_for)}) is longer than at_most_for")
    late = _length("grace", grace)
    return Job(
        chosen,
        schedule,
        function,
        checked_terms(_lease(gap, most), True, most),
        least,
        _within(gap / 2, SHORTEST_GRACE, LONGEST_GRACE) if late is None else late,
        max(KEEP, 3 * gap),
        Rules(UNFINISHED if retry_dead else (), queues=overlap == "queue", in_order=True),
        missed == "once",
    )


def checked_choice(argument: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse a word that is not one of a few."""
    if value not in choices:
        known = " or ".join(map(repr, choices))
        raise UsageError(f"{argument} must be {known}, not {shown(value)}")


def _length(argument: str, value: Seconds | str | None) -> float | None:
    if value is None:
        return None
    seconds = as_seconds(argument, spelled(argument, value))
    if seconds < 0 or (seconds == 0 and argument == "at_most_for"):
        raise UsageError(f"{argument} must be positive, not {shown(value)}")
    return seconds


def _gap(schedule: Schedule, now_ms: int) -> float:
    """The shortest of the next gaps between two ticks, in seconds."""
    ticks = [schedule.after(now_ms)]
    for _ in range(8):
        ticks.append(schedule.after(ticks[-1]))
    return min(after - before for before, after in itertools.pairwise(ticks)) / 1000


def _lease(gap: float, most: float | None) -> float:
    lease = _within(gap, SHORTEST_LEASE, LONGEST_LEASE)
    return lease if most is None else min(lease, most)


def _within(value: float, least: float, most: float) -> float:
    return min(max(value, least), most)
