"""Eight processes want one lock all the time: how often does it change hands, how fairly?

The limit is a token in a list that everybody pops and pushes.  Nothing is pinned, so
differences of less than two times mean little; min/max and the longest wait mean a lot.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median
from typing import Any

from tests.support.servers import RedisServer

from . import bare, workers
from .method import Effort, cpu_of, ratio
from .peers import LIST, OURS, PEERS, WAIT_LIMITS, Entrant
from .report import Answer, Table, count, progress, times
from .workers import Worker

PROCESSES = 8
MEASURED = (
    "redis-py Lock",
    "redis-py Lock, 1 ms polling",
    "python-redis-lock",
    "redlock-ng",
    "walrus",
)
#: A peer that serves its slowest process half as often as its fastest counts as fair.
FAIR = 0.5


@dataclass
class Round:
    """What a slice of one contestant came to."""

    turns: list[int]
    longest: float
    #: Processor seconds of everybody, the server's included.
    cpu: float
    seconds: float

    @property
    def rate(self) -> float:
        return max(sum(self.turns), 1) / self.seconds


def ask(effort: Effort) -> Answer:
    """Without hold time, and with a millisecond of it."""
    answer, entrants = Answer(), _entrants(effort)
    with RedisServer() as server, ExitStack() as stack:
        crew = assemble(stack, server, entrants)
        for label, hold in (("no hold time", 0.0), ("1 ms held", 0.001)):
            progress(f"crowd: {PROCESSES} processes, {label}")
            rounds = contest(crew, server, entrants, hold, effort)
            _report(answer, label, rounds)
    return answer


def assemble(stack: ExitStack, server: RedisServer, entrants: Sequence[Entrant]) -> list[Worker]:
    """The processes, each with a lock of every contestant's ready; ended with the stack."""
    crew = [stack.enter_context(Worker()) for _ in range(PROCESSES)]
    for entrant in entrants:
        for worker in crew:
            _ready(worker, server.port, entrant)
    return crew


def _entrants(effort: Effort) -> list[Entrant]:
    names = MEASURED[1:3] if effort.quick else MEASURED
    peers = [peer for peer in PEERS if peer.name in names and peer.there]
    if effort.quick:
        return [WAIT_LIMITS[1], OURS[0], *peers]
    return [WAIT_LIMITS[1], WAIT_LIMITS[0], *OURS, *peers]


def _ready(worker: Worker, port: int, entrant: Entrant) -> None:
    if entrant.name == LIST:
        bare.lay_token(port, _name(entrant))
    worker.ask(workers.prepare, entrant, port, _name(entrant))


def _name(entrant: Entrant) -> str:
    return f"crowd:{entrant.name}"


def contest(
    crew: Sequence[Worker],
    server: RedisServer,
    entrants: Sequence[Entrant],
    hold: float,
    effort: Effort,
) -> dict[str, list[Round]]:
    """Rounds in which every contestant has a slice, each round in another order."""
    found: dict[str, list[Round]] = {entrant.name: [] for entrant in entrants}
    for _ in range(effort.of(6, 4)):
        for entrant in random.sample(entrants, len(entrants)):
            seconds = effort.seconds(1.0, 0.5)
            found[entrant.name].append(_slice(crew, server, entrant, hold, seconds))
    return found


def _slice(
    crew: Sequence[Worker], server: RedisServer, entrant: Entrant, hold: float, seconds: float
) -> Round:
    start, spent = time.monotonic() + 0.03, cpu_of(server.pid)
    lock = (entrant, server.port, _name(entrant))
    for worker in crew:
        worker.tell(workers.contend, *lock, start, start + seconds, hold)
    answers = [worker.answer() for worker in crew]
    cpu = sum(each[2] for each in answers) + cpu_of(server.pid) - spent
    return Round([each[0] for each in answers], max(each[1] for each in answers), cpu, seconds)


def _report(answer: Answer, label: str, rounds: dict[str, list[Round]]) -> None:
    table = Table(
        f"{PROCESSES} processes on one lock, {label}",
        ("", "turns/s", "of list hand-over", "min/max", "longest wait, s", "CPU µs/turn"),
    )
    limit = rates_of(rounds[LIST])
    for name, each in rounds.items():
        figures = figures_of(each, limit)
        table.add(
            name,
            count(figures["turns_per_second"]),
            times(figures["of_limit"]),
            times(figures["min_of_max"]),
            f"{figures['longest_wait']:.3f}",
            count(figures["cpu_us"]),
        )
        answer.figures[f"crowd.{label}.{name}"] = figures
    answer.tables.append(table)
    fair = [figures_of(rounds[name], limit) for name in MEASURED if name in rounds]
    best = max((each["of_limit"] for each in fair if each["min_of_max"] >= FAIR), default=None)
    if best is not None:
        answer.figures[f"crowd.{label}.best_fair_peer"] = {"of_limit": best}


def rates_of(rounds: Sequence[Round]) -> list[float]:
    """Turns in a second, round by round."""
    return [each.rate for each in rounds]


def figures_of(rounds: Sequence[Round], limit: Sequence[float]) -> dict[str, Any]:
    """What is worth knowing of a contestant beside the limit."""
    rates = rates_of(rounds)
    return {
        "turns_per_second": median(rates),
        "of_limit": ratio(rates, limit),
        "min_of_max": median(min(each.turns) / max(*each.turns, 1) for each in rounds),
        "longest_wait": max(each.longest for each in rounds),
        "cpu_us": median(each.cpu / max(sum(each.turns), 1) for each in rounds) * 1e6,
    }
