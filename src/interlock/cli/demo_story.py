"""The plot of the demo, written as a generator: each `yield` lets the actors go on a while."""

from __future__ import annotations

import secrets
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

from ..drive import now
from .demo_counter import FencedCounter, LooseCounter
from .demo_crew import Crew
from .demo_play import Actor, Play
from .demo_screen import Screen

WORKERS = 8
VICTIM, SLEEPER = 3, 6

#: Seconds: short, so that a dead holder does not bore anybody.
LEASE = 2.0

#: How long the plot may take beyond its time before something must be wrong.
PATIENCE = 60.0

#: Increments by others that a paused worker sleeps through.
MISSED = 10

#: Seconds between two looks at the pipes at most.
MOMENT = 0.05


class Trouble(Exception):
    """The demo cannot go on; the sentence says why."""


class Stage:
    """Where the play takes place: the crew, the counters, the score, the picture."""

    def __init__(self, url: str, folder: Path, seconds: float, screen: Screen) -> None:
        self.play, self.seconds, self._screen = Play(LEASE), seconds, screen
        self._fenced = FencedCounter(folder / "counter")
        self._loose = LooseCounter(folder / "loose")
        self._fenced.create()
        self._loose.create()
        self.crew = Crew(url, f"interlock-demo-{secrets.token_hex(4)}", folder, LEASE)

    def perform(self) -> None:
        """Play to the end."""
        limit = now() + self.seconds + PATIENCE
        for _ in story(self):
            self._moment()
            if now() > limit:
                complaint = next(self.play.complaints(), "a worker does not finish")
                raise Trouble(f"the demo does not come to its end: {complaint}")
        self._moment()

    def _moment(self) -> None:
        for number, report in self.crew.reports(MOMENT):
            self.play.hear(number, report)
        self.play.counter, self.play.loose = self._fenced.read(), self._loose.read()
        self._screen.show(self.play, now())
        self._miss_nobody()

    def _miss_nobody(self) -> None:
        """A worker that ended by itself has something to say."""
        for actor in self.play.actors.values():
            if actor.state not in ("killed", "finished") and self.crew.gone(actor.number):
                words = self.crew.last_words(actor.number)
                raise Trouble(f"worker {actor.number} ended unexpectedly: {words}")


def story(stage: Stage) -> Iterator[None]:
    """The plot: they contend, one is killed, one is paused, they finish."""
    yield from _enter(stage)
    yield from _until_instant(stage, 0.2)
    yield from _kill(stage, VICTIM)
    yield from _until_instant(stage, 0.5)
    yield from _pause(stage, SLEEPER)
    yield from _until_instant(stage, 1.0)
    yield from _finish(stage)


def _enter(stage: Stage) -> Iterator[None]:
    play = stage.play
    for number in range(1, WORKERS + 1):
        play.actors[number] = Actor(number, stage.crew.start(number))
    yield from _until(lambda: not play.any_in("starting"))
    play.began = now()
    play.note(now(), f"{WORKERS} processes want one lock; its lease is {LEASE:g} s, kept")


def _kill(stage: Stage, number: int) -> Iterator[None]:
    yield from _lingers(stage, number)
    stage.crew.strike(number, signal.SIGKILL)
    stage.play.strike(number, now(), "killed", "is killed with SIGKILL while it holds the lock")
    yield from _until(lambda: stage.play.struck is None)


def _pause(stage: Stage, number: int) -> Iterator[None]:
    play = stage.play
    yield from _lingers(stage, number)
    stage.crew.strike(number, signal.SIGSTOP)
    play.strike(number, now(), "paused", "is paused with SIGSTOP while it holds the lock")
    yield from _until(lambda: play.struck is None)
    enough = play.counted + MISSED
    yield from _until(lambda: play.counted >= enough)
    play.note(now(), f"worker {number} goes on after {MISSED} increments that it slept through")
    stage.crew.order(number, "go-on")
    stage.crew.strike(number, signal.SIGCONT)
    yield from _until(lambda: number in play.losses)


def _lingers(stage: Stage, number: int) -> Iterator[None]:
    """Have a worker stay between reading the counter and writing it."""
    stage.crew.order(number, "linger")
    yield from _until(lambda: stage.play.actors[number].state == "lingers")


def _finish(stage: Stage) -> Iterator[None]:
    for number in stage.play.actors:
        stage.crew.order(number, "finish")
    others = ("waits", "holds", "lingers", "idle", "ready", "paused")
    yield from _until(lambda: not stage.play.any_in(*others))


def _until(true: Callable[[], bool]) -> Iterator[None]:
    while not true():
        yield


def _until_instant(stage: Stage, share: float) -> Iterator[None]:
    yield from _until(lambda: stage.play.elapsed(now()) >= share * stage.seconds)
