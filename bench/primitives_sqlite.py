"""Every primitive on SQLite, nobody else wants it: what does it cost beside a lock?

A pair is one acquire and one release; of a latch it is set, count down and wait, and of a
multilock three of each.
"""

from __future__ import annotations

import tempfile

import interlock

from .kinds import KINDS, LOCK
from .method import Effort, Runner, compare, interleave, pinned
from .pair import pairs_of
from .report import Answer, Table, count, progress, times


def ask(effort: Effort) -> Answer:
    """All in one file, in a temporary folder."""
    progress("primitives on SQLite")
    answer = Answer()
    with (
        tempfile.TemporaryDirectory(prefix="interlock-bench-") as folder,
        interlock.connect(f"sqlite:///{folder}/interlock.db") as client,
        pinned(),
    ):
        runners = [Runner(kind, pairs_of(make(client, kind))) for kind, make in KINDS.items()]
        _report(answer, interleave(runners, effort.of(20, 10)))
    return answer


def _report(answer: Answer, runners: dict[str, Runner]) -> None:
    table = Table(
        "primitives on SQLite: nobody else wants it (one core)",
        ("", "pairs/s", "of lock()", "quartiles", "by CPU", "CPU µs"),
    )
    for kind, runner in runners.items():
        figures = compare(runner, runners[LOCK])
        low, high = figures["quartiles"]
        table.add(
            kind,
            count(figures["pairs_per_second"]),
            times(figures["of_limit"]),
            f"{low:.2f}-{high:.2f}",
            times(figures["of_limit_by_cpu"]),
            count(figures["cpu_us"]),
        )
        answer.figures[f"primitives_sqlite.{kind}"] = figures
    answer.tables.append(table)
