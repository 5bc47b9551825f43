"""The script of the demo, as a generator: each `yield` lets the workers go on for a while."""

from __future__ import annotations

import secrets
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

from ..drive import now
from .demo_counter import FencedCounter, LooseCounter
from .demo_processes import WorkerProcesses
from .demo_score import Score, WorkerState
from .demo_screen import Screen

WORKERS = 8
VICTIM, SLEEPER = 3, 6

#: Seconds: short, so that the wait for a dead holder's lease is.
LEASE = 2.0

#: Seconds that the script may take beyond its time before it counts as stuck.
PATIENCE = 60.0

#: Increments of other workers that a paused one misses.
MISSED = 10

#: Seconds between two looks at the pipes at most.
MOMENT = 0.05


class DemoFailed(Exception):
    """The demo cannot go on; the sentence says why."""


class DemoRun:
    """One run of the demo: its processes, its counters, its score and its screen."""

    def __init__(self, url: str, folder: Path, seconds: float, screen: Screen) -> None:
        self.score, self.seconds, self._screen = Score(LEASE), seconds, screen
        self._fenced = FencedCounter(folder / "counter")
        self._loose = LooseCounter(folder / "loose")
        self._fenced.create()
        self._loose.create()
        self.processes = WorkerProcesses(
            url, f"interlock-demo-{secrets.token_hex(4)}", folder, LEASE
        )

    def perform(self) -> None:
        """DemoRun the script to its end."""
        limit = now() + self.seconds + PATIENCE
        for _ in script(self):
            self._moment()
            if now() > limit:
                complaint = next(self.score.complaints(), "a worker does not finish")
                raise DemoFailed(f"the demo does not end: {complaint}")
        self._moment()

    def _moment(self) -> None:
        for number, report in self.processes.reports(MOMENT):
            self.score.hear(number, report)
        self.score.counter, self.score.loose = self._fenced.read(), self._loose.read()
        self._screen.show(self.score, now())
        self._check_workers()

    def _check_workers(self) -> None:
        """Raise, with its last line, if a worker has ended by itself."""
        for worker in self.score.workers.values():
            if worker.state not in ("killed", "finished") and self.processes.gone(worker.number):
                words = self.processes.last_error(worker.number)
                raise DemoFailed(f"worker {worker.number} ended unexpectedly: {words}")


def script(run: DemoRun) -> Iterator[None]:
    """The workers contend, one is killed, one is paused, the others finish."""
    yield from _enter(run)
    yield from _until_instant(run, 0.2)
    yield from _kill(run, VICTIM)
    yield from _until_instant(run, 0.5)
    yield from _pause(run, SLEEPER)
    yield from _until_instant(run, 1.0)
    yield from _finish(run)


def _enter(run: DemoRun) -> Iterator[None]:
    score = run.score
    for number in range(1, WORKERS + 1):
        score.workers[number] = WorkerState(number, run.processes.start(number))
    yield from _until(lambda: not score.any_in("starting"))
    score.began = now()
    score.note(now(), f"{WORKERS} processes want one lock; its lease is {LEASE:g} s, kept")


def _kill(run: DemoRun, number: int) -> Iterator[None]:
    yield from _lingers(run, number)
    run.processes.strike(number, signal.SIGKILL)
    run.score.strike(number, now(), "killed", "is killed with SIGKILL while it holds the lock")
    yield from _until(lambda: run.score.struck is None)


def _pause(run: DemoRun, number: int) -> Iterator[None]:
    score = run.score
    yield from _lingers(run, number)
    run.processes.strike(number, signal.SIGSTOP)
    score.strike(number, now(), "paused", "is paused with SIGSTOP while it holds the lock")
    yield from _until(lambda: score.struck is None)
    enough = score.counted + MISSED
    yield from _until(lambda: score.counted >= enough)
    score.note(now(), f"worker {number} goes on after {MISSED} increments that it slept through")
    run.processes.order(number, "go-on")
    run.processes.strike(number, signal.SIGCONT)
    yield from _until(lambda: number in score.losses)


def _lingers(run: DemoRun, number: int) -> Iterator[None]:
    """Have a worker stay between reading the counter and writing it."""
    run.processes.order(number, "linger")
    yield from _until(lambda: number in run.score.lingering)


def _finish(run: DemoRun) -> Iterator[None]:
    for number in run.score.workers:
        run.processes.order(number, "finish")
    others = ("waits", "holds", "lingers", "idle", "ready", "paused")
    yield from _until(lambda: not run.score.any_in(*others))


def _until(true: Callable[[], bool]) -> Iterator[None]:
    while not true():
        yield


def _until_instant(run: DemoRun, share: float) -> Iterator[None]:
    yield from _until(lambda: run.score.elapsed(now()) >= share * run.seconds)
