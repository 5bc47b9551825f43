"""The embedded store: the pair, the hand-off between processes, and what waiting costs.

Compared with bare SQLite and with what people use on one machine: file locks, diskcache.
"""

from __future__ import annotations

import tempfile

from .handoff import Relay, measure, summary
from .local import BARE, DISKCACHE, FILELOCK, SQLITE_LOCK, entrants
from .method import Effort, Runner, compare, interleave, pinned
from .pair import pairs_of
from .report import Answer, Table, count, progress, times
from .workers import Worker


def ask(effort: Effort) -> Answer:
    """Everything in a temporary folder."""
    answer = Answer()
    with tempfile.TemporaryDirectory(prefix="interlock-bench-") as folder:
        _pairs(answer, folder, effort)
        with Worker() as one, Worker() as other:
            relay = Relay(folder, one, other)
            _handoff(answer, relay, effort)
            _idle(answer, relay, effort)
    return answer


def _pairs(answer: Answer, folder: str, effort: Effort) -> None:
    progress("sqlite: pair")
    with pinned():
        runners = interleave(
            [
                Runner(each.name, pairs_of(each.make(folder, f"pair-{i}")))
                for i, each in enumerate(entrants())
            ],
            effort.of(40, 12),
        )
    table = Table(
        "SQLite and files, pair: nobody else wants it (one core)",
        ("", "pairs/s", "of bare SQLite", "quartiles", "by CPU", "CPU µs"),
    )
    for runner in sorted(runners.values(), key=lambda each: -each.rate):
        figures = compare(runner, runners[BARE])
        low, high = figures["quartiles"]
        table.add(
            runner.name,
            count(runner.rate),
            times(figures["of_limit"]),
            f"{low:.2f}-{high:.2f}",
            times(figures["of_limit_by_cpu"]),
            count(figures["cpu_us"]),
        )
        answer.figures[f"sqlite.pair.{runner.name}"] = figures
    answer.tables.append(table)
    peers = [runners[name] for name in (FILELOCK, DISKCACHE) if name in runners]
    if peers:
        best = max(peers, key=lambda each: each.rate)
        answer.figures["sqlite.pair.best_peer"] = compare(best, runners[BARE])


def _handoff(answer: Answer, relay: Relay, effort: Effort) -> None:
    progress("sqlite: hand-off")
    samples = measure(relay, entrants(), effort.of(20, 6))
    table = Table(
        "SQLite and files, hand-off between processes (µs)",
        ("", "p50", "p95", "x bare, 0.5 ms pause"),
    )
    for name, figures in summary(samples, BARE).items():
        table.add(
            name, count(figures["p50_us"]), count(figures["p95_us"]), times(figures["of_limit"])
        )
        answer.figures[f"sqlite.handoff.{name}"] = figures
    answer.tables.append(table)


def _idle(answer: Answer, relay: Relay, effort: Effort) -> None:
    progress("sqlite: an idle waiter")
    table = Table("SQLite and files: an idle waiter", ("", "% of a core"))
    for entrant in entrants():
        if effort.quick and entrant.name != SQLITE_LOCK:
            continue
        waited, spent = relay.idle(entrant, 4.0 if entrant.name == SQLITE_LOCK else 2.0)
        table.add(entrant.name, times(100 * spent / waited))
        answer.figures[f"sqlite.idle.{entrant.name}"] = {"percent": 100 * spent / waited}
    answer.tables.append(table)
