"""One process releases, another that waits holds it: how long does that take?

Instants come from the monotonic clock that all processes of a machine share.  Nothing is
pinned: two processes and a server do not fit on one core.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from statistics import median
from typing import Any, Protocol

from tests.support.servers import RedisServer

from . import bare, workers
from .counting import Counter
from .method import Effort, percentile
from .peers import HEARD, LIST, OURS, PEERS, WAIT_LIMITS, Entrant
from .report import Answer, Table, count, progress, times
from .workers import Worker

MEASURED = ("redis-py Lock", "redis-py Lock, 1 ms polling", "python-redis-lock", "walrus")
#: Hand-overs of each contestant in a round.
SAMPLES = 8


def ask(effort: Effort) -> Answer:
    """How long a hand-over takes, and what waiting costs the server."""
    progress("handoff: two processes")
    answer, entrants = Answer(), _entrants()
    with RedisServer() as server, Worker() as one, Worker() as other:
        bare.lay_token(server.port, _name(LIST))
        place = Relay(server.port, one, other)
        samples = measure(place, entrants, effort.of(20, 6))
        commands = _waiting(server.port, place, entrants, effort)
    table = Table(
        "hand-off: one process releases, the other holds it (µs)",
        ("", "p50", "p95", "x bare pub/sub", "commands/s while waiting"),
    )
    for name, figures in summary(samples, HEARD).items():
        figures["commands_a_second"] = commands.get(name)
        sent = commands.get(name)
        table.add(
            name,
            count(figures["p50_us"]),
            count(figures["p95_us"]),
            times(figures["of_limit"]),
            "" if sent is None else times(sent),
        )
        answer.figures[f"handoff.{name}"] = figures
    answer.tables.append(table)
    # Polling every millisecond is spinning: the server pays for it.
    others = [answer.figures[f"handoff.{name}"] for name in MEASURED if _fair(name, samples)]
    answer.figures["handoff.best_peer"] = {"p50_us": min(each["p50_us"] for each in others)}
    return answer


def _entrants() -> list[Entrant]:
    return [*WAIT_LIMITS, *OURS, *(peer for peer in PEERS if peer.name in MEASURED and peer.there)]


def _fair(name: str, samples: dict[str, Any]) -> bool:
    return name in samples and "1 ms" not in name


def _name(entrant: str) -> str:
    return f"handoff:{entrant}"


def pause_before(entrant: Entrant) -> float:
    """Seconds after which a release comes: at any time, for those who poll."""
    return random.uniform(0.02, 0.25) if entrant.slow else random.uniform(0.006, 0.012)


class Passing(Protocol):
    """Two processes between which locks go to and fro, whoever they are."""

    def prepare(self, entrant: Entrant) -> None: ...
    def sample(self, entrant: Entrant) -> float: ...


class Relay:
    """Two processes between which a lock goes to and fro."""

    def __init__(self, place: Any, one: Worker, other: Worker) -> None:
        self._place, self._one, self._other = place, one, other

    def prepare(self, entrant: Entrant) -> None:
        for worker in (self._one, self._other):
            worker.ask(workers.prepare, entrant, self._place, _name(entrant.name))

    def sample(self, entrant: Entrant) -> float:
        """Seconds from the release to the next hold."""
        lock = (entrant, self._place, _name(entrant.name))
        self._one.ask(workers.take, *lock)
        self._other.tell(workers.wait_and_free, *lock)
        self._one.tell(workers.free_after, *lock, pause_before(entrant))
        released: int = self._one.answer()
        held: int = self._other.answer()
        return (held - released) / 1e9

    def idle(self, entrant: Entrant, pause: float) -> tuple[float, float]:
        """Let one wait for a while; the seconds it waited, and its processor's."""
        self.start_waiting(entrant)
        time.sleep(pause)
        return self.stop_waiting(entrant)

    def start_waiting(self, entrant: Entrant) -> None:
        lock = (entrant, self._place, _name(entrant.name))
        self._one.ask(workers.take, *lock)
        self._other.tell(workers.weigh_waiting, *lock)

    def stop_waiting(self, entrant: Entrant) -> tuple[float, float]:
        self._one.ask(workers.free_after, entrant, self._place, _name(entrant.name), 0.0)
        waited, spent = self._other.answer()
        return waited, spent


def measure(
    relay: Passing, entrants: Sequence[Entrant], rounds: int
) -> dict[str, list[list[float]]]:
    """Rounds of hand-overs, each contestant in every round."""
    samples: dict[str, list[list[float]]] = {each.name: [] for each in entrants}
    for entrant in entrants:
        relay.prepare(entrant)
    for _ in range(rounds):
        for entrant in random.sample(entrants, len(entrants)):
            size = 1 if entrant.slow else SAMPLES
            samples[entrant.name].append([relay.sample(entrant) for _ in range(size)])
    return samples


def summary(samples: dict[str, list[list[float]]], limit: str) -> dict[str, dict[str, Any]]:
    """Percentiles over everything, and the median ratio of the rounds' medians."""
    bare_medians = [median(each) for each in samples[limit]]
    found = {}
    for name, rounds in samples.items():
        flat = [each for part in rounds for each in part]
        ratios = [median(a) / b for a, b in zip(rounds, bare_medians, strict=True)]
        found[name] = {
            "p50_us": median(flat) * 1e6,
            "p95_us": percentile(flat, 95) * 1e6,
            "of_limit": median(ratios),
            "samples": len(flat),
        }
    return found


def _waiting(
    port: int, relay: Relay, entrants: Sequence[Entrant], effort: Effort
) -> dict[str, float]:
    """How many commands a second a waiter sends, once it waits."""
    progress("handoff: what a waiter sends")
    found, counter = {}, Counter(port)
    names = ("interlock lock()", "redis-py Lock") if effort.quick else None
    for entrant in entrants:
        if names is None or entrant.name in names:
            relay.start_waiting(entrant)
            time.sleep(0.5)
            counter.reset()
            began = time.monotonic()
            time.sleep(4.0 if entrant in OURS else 2.0)
            found[entrant.name] = counter.commands(entrant.commands) / (time.monotonic() - began)
            relay.stop_waiting(entrant)
    counter.close()
    return found
