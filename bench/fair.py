"""Eight processes want one fair lock all the time: how often does it change hands, how fairly?

Beside it stands the peer that hands over in order as well, python-redis-lock, in the same
rounds.  The limit is a token in a list that everybody pops and pushes.  Nothing is pinned.
"""

from __future__ import annotations

from contextlib import ExitStack

from tests.support.servers import RedisServer

from .crowd import PROCESSES, Round, assemble, contest, figures_of, rates_of
from .method import Effort, ratio
from .peers import LIST, OURS_FAIR, PEERS, PYTHON_REDIS_LOCK, WAIT_LIMITS, Entrant
from .report import Answer, Table, count, progress, times

ABSENT = "python-redis-lock is not installed (the extra `bench` brings it): nobody to compare with"


def ask(effort: Effort) -> Answer:
    """Without hold time, and with a millisecond of it."""
    answer, entrants = Answer(), _entrants()
    with RedisServer() as server, ExitStack() as stack:
        crew = assemble(stack, server, entrants)
        for label, hold in (("no hold time", 0.0), ("1 ms held", 0.001)):
            progress(f"fair: {PROCESSES} processes, {label}")
            _report(answer, label, contest(crew, server, entrants, hold, _shorter(effort)))
    return answer


def _shorter(effort: Effort) -> Effort:
    """Few contestants stand far apart here: four rounds are enough."""
    return Effort(effort.quick, effort.of(4, 3))


def _entrants() -> list[Entrant]:
    limit = next(each for each in WAIT_LIMITS if each.name == LIST)
    peers = [each for each in PEERS if each.name == PYTHON_REDIS_LOCK and each.there]
    return [limit, OURS_FAIR, *peers]


def _report(answer: Answer, label: str, rounds: dict[str, list[Round]]) -> None:
    table = Table(
        f"{PROCESSES} processes on one fair lock, {label}",
        (
            "",
            "turns/s",
            "of list hand-over",
            f"x {PYTHON_REDIS_LOCK}",
            "min/max",
            "longest wait, s",
        ),
    )
    limit, peer = rates_of(rounds[LIST]), rounds.get(PYTHON_REDIS_LOCK)
    for name, each in rounds.items():
        figures = figures_of(each, limit)
        if peer is not None:
            figures["of_peer"] = ratio(rates_of(each), rates_of(peer))
        table.add(
            name,
            count(figures["turns_per_second"]),
            times(figures["of_limit"]),
            times(figures["of_peer"]) if peer is not None else "",
            times(figures["min_of_max"]),
            f"{figures['longest_wait']:.3f}",
        )
        answer.figures[f"fair.{label}.{name}"] = figures
    answer.tables.append(table)
    answer.notes = [] if peer is not None else [ABSENT]
