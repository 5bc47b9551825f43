"""Beside Java and Go: the same locks, in the same run.

Redisson speaks the same layout; redsync has the plain mutex.  Both are at their defaults, with
programs of their own that loop there (`bench/programs`), so that no pipe is timed.  Pairs: client
and server share one core.  Hand-off: two processes of the same make, not pinned.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from typing import Any

import interlock
from tests.support.servers import RedisServer

from . import programs
from .handoff import Relay, measure, pause_before, summary
from .kinds import FAIR, FENCED, KINDS, LEASED, LOCK, READ, SEMAPHORE, WRITE
from .method import (
    Effort,
    Runner,
    compare,
    cpu_between,
    cpu_with,
    interleave,
    pinned,
    threads_of,
)
from .pair import pairs_of
from .peers import OURS, OURS_FAIR, Entrant
from .programs import Looping, Program
from .report import Answer, Table, count, progress, times
from .workers import Worker

MUTEX = "mutex()"
ABSENT = "{} is not built here, so it takes no part: make interop builds it"


@dataclass(frozen=True)
class Make:
    """A foreign library: how to see, compile and start it."""

    name: str
    there: Callable[[], bool]
    compile: Callable[[str], None]
    start: Callable[[str, str], Program]
    #: How it spells where a server is; the port follows.
    place: str
    #: Its word for each of our kinds.
    kinds: dict[str, str]
    #: Those of them whose hand-off is measured.
    handed: dict[str, Entrant]
    slow: bool = False
    #: Seconds for which it should have run before it is measured.
    warm_up: float = 8.0

    def started(self, folder: str, server: RedisServer) -> Program:
        return self.start(folder, f"{self.place}{server.port}")


REDISSON = Make(
    "Redisson",
    programs.has_redisson,
    programs.compile_redisson,
    programs.redisson,
    "redis://127.0.0.1:",
    {
        LOCK: "lock",
        FAIR: "fair",
        FENCED: "fenced",
        READ: "read",
        WRITE: "write",
        SEMAPHORE: "semaphore",
        LEASED: "leased",
    },
    {LOCK: OURS[0], FAIR: OURS_FAIR},
)
REDSYNC = Make(
    "redsync",
    programs.has_redsync,
    programs.compile_redsync,
    programs.redsync,
    "127.0.0.1:",
    {MUTEX: "mutex"},
    {MUTEX: OURS[1]},
    slow=True,
    warm_up=0.5,
)


def ask(effort: Effort) -> Answer:
    """Whoever is built takes part; of the others it is said how to build them."""
    answer = Answer()
    with tempfile.TemporaryDirectory(prefix="interlock-bench-") as folder:
        for make in (REDISSON, REDSYNC):
            if _ready(make, folder):
                _pairs(answer, folder, make, effort)
                _handoff(answer, folder, make, effort)
            else:
                answer.notes.append(ABSENT.format(make.name))
    return answer


def _ready(make: Make, folder: str) -> bool:
    if not make.there():
        return False
    progress(f"foreign: compiling for {make.name}")
    try:
        make.compile(folder)
    except subprocess.CalledProcessError:
        return False
    return True


# --- pairs ------------------------------------------------------------------------------------


def _pairs(answer: Answer, folder: str, make: Make, effort: Effort) -> None:
    with (
        RedisServer() as server,
        make.started(folder, server) as program,
        interlock.connect(server.url) as client,
    ):
        progress(f"foreign: warming {make.name} up")
        _warm(make, program, effort.seconds(make.warm_up, 2.0))
        for label in ("all cores", "one core"):
            progress(f"foreign: pairs beside {make.name}, {label}")
            threads = threads_of(program.pid)
            with pinned(server.pid, *threads) if label == "one core" else nullcontext():
                runners = _runners(make, program, server, client)
                found = interleave(runners, effort.of(12, 6), cpu_with(server.pid))
            _report(answer, make, label, found)


def _warm(make: Make, program: Program, seconds: float) -> None:
    """A just-in-time compiler has to see everything run for a while, with all cores."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for word in make.kinds.values():
            program.ask("pairs", word, f"warm:{word}", 200)


def _report(answer: Answer, make: Make, label: str, found: dict[str, Runner]) -> None:
    table = Table(
        f"pairs beside {make.name}: nobody else wants it ({label})",
        ("", "pairs/s", f"{make.name}'s", f"x {make.name}", "quartiles", "by CPU"),
    )
    for kind in make.kinds:
        figures = compare(found[kind], found[make.name + kind])
        low, high = figures["quartiles"]
        table.add(
            kind,
            count(figures["pairs_per_second"]),
            count(found[make.name + kind].rate),
            times(figures["of_limit"]),
            f"{low:.2f}-{high:.2f}",
            times(figures["of_limit_by_cpu"]),
        )
        answer.figures[f"foreign.pairs.{label}.{make.name}.{kind}"] = figures
    answer.tables.append(table)


def _runners(
    make: Make, program: Program, server: RedisServer, client: interlock.Client
) -> list[Runner]:
    theirs, runners = cpu_between(program.pid, server.pid), []
    for kind, word in make.kinds.items():
        told = Looping(program, word, f"theirs:{word}")
        runners.append(Runner(make.name + kind, told, cpu=theirs))
        runners.append(Runner(kind, pairs_of(_ours(client, kind))))
    return runners


def _ours(client: interlock.Client, kind: str) -> Any:
    return client.mutex("ours:mutex") if kind == MUTEX else KINDS[kind](client, f"ours:{kind}")


# --- hand-off ---------------------------------------------------------------------------------


def _handoff(answer: Answer, folder: str, make: Make, effort: Effort) -> None:
    progress(f"foreign: hand-off beside {make.name}")
    with RedisServer() as server, ExitStack() as stack:
        ours = Relay(server.port, *(stack.enter_context(Worker()) for _ in range(2)))
        one, other = (stack.enter_context(make.started(folder, server)) for _ in range(2))
        table = Table(
            f"hand-off beside {make.name}: one process releases, the other holds it (µs)",
            ("", "p50", "p95", f"x {make.name}'s p50"),
        )
        for kind, entrant in make.handed.items():
            theirs = Entrant(f"{make.name} {kind}", entrant.make, slow=make.slow)
            warm_up = 200 if make.slow else 1000 if effort.quick else 4000
            relay = Crossing(ours, Told(one, other, make.kinds[kind], warm_up), theirs)
            samples = measure(relay, [entrant, theirs], effort.of(12, 5))
            for name, figures in summary(samples, theirs.name).items():
                p50, p95 = count(figures["p50_us"]), count(figures["p95_us"])
                table.add(name, p50, p95, times(figures["of_limit"]))
                answer.figures[f"foreign.handoff.{make.name}.{name}"] = figures
    answer.tables.append(table)


class Told:
    """Two foreign processes between which a lock goes to and fro."""

    def __init__(self, one: Program, other: Program, word: str, warm_up: int) -> None:
        self._one, self._other, self._lock = one, other, (word, f"handoff:{word}")
        self._warm_up = warm_up

    def prepare(self) -> None:
        """Connect, and let the compilers see it run: alone, and handed over."""
        word, name = self._lock
        for place, program in enumerate((self._one, self._other)):
            program.tell("pairs", word, f"{name}:{place}", self._warm_up)
        for program in (self._one, self._other):
            program.answer()
        for _ in range(self._warm_up // 200):
            self.sample(0.002)

    def sample(self, pause: float) -> float:
        """Seconds from the release to the next hold, by their own clocks."""
        self._one.ask("take", *self._lock)
        self._other.tell("wait", *self._lock)
        self._one.tell("free", *self._lock, int(pause * 1e6))
        released = self._one.answer()
        return (self._other.answer() - released) / 1e9


class Crossing:
    """Ours and theirs behind one face; see `handoff.Relay`."""

    def __init__(self, ours: Relay, told: Told, theirs: Entrant) -> None:
        self._ours, self._told, self._theirs = ours, told, theirs

    def prepare(self, entrant: Entrant) -> None:
        if entrant is self._theirs:
            self._told.prepare()
        else:
            self._ours.prepare(entrant)

    def sample(self, entrant: Entrant) -> float:
        if entrant is not self._theirs:
            return self._ours.sample(entrant)
        return self._told.sample(pause_before(entrant))
