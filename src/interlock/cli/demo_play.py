"""What the audience of the demo knows: who does what, what was counted, what happened.

A play only listens and keeps the score; it starts nothing, ends nothing and draws nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple


@dataclass
class Actor:
    """A worker, as it was last heard of."""

    number: int
    pid: int
    state: str = "starting"
    since: float = 0.0
    token: int | None = None
    granted: float = 0.0
    counted: int = 0

    @property
    def holding(self) -> bool:
        return self.state in ("holds", "lingers")


class Note(NamedTuple):
    """Something worth telling, with its instant and its colour."""

    at: float
    text: str
    colour: str = ""


@dataclass
class Play:
    """The score of one run."""

    lease: float
    actors: dict[int, Actor] = field(default_factory=dict)
    #: When everybody was ready.
    began: float | None = None
    notes: list[Note] = field(default_factory=list)
    newest: int = 0
    #: Writes that a worker has been told are done, and what the files say.
    counted: int = 0
    scribbled: int = 0
    counter: int = 0
    loose: int = 0
    #: When a holder was struck, until the next one holds; and how long that took.
    struck: float | None = None
    recoveries: list[float] = field(default_factory=list)
    #: Who was paused; who reported a loss; whose late write was refused.
    paused: set[int] = field(default_factory=set)
    losses: set[int] = field(default_factory=set)
    refusals: set[int] = field(default_factory=set)

    # --- what workers report ---------------------------------------------------------------

    def hear(self, number: int, report: dict[str, Any]) -> None:
        """Take note of one report of a worker."""
        actor, what, at = self.actors[number], report["what"], report["at"]
        hearing = {
            "holds": self._holds,
            "counted": self._counted,
            "scribbled": self._scribbled,
            "refused": self._refused,
            "lost": self._lost,
            "troubled": self._troubled,
        }.get(what)
        if hearing is not None:
            hearing(actor, report)
        if what in ("ready", "waits", "holds", "lingers", "finished"):
            actor.state, actor.since = what, at
        elif what in ("scribbled", "lost"):
            actor.state, actor.since = "idle", at

    def _holds(self, actor: Actor, report: dict[str, Any]) -> None:
        actor.token, actor.granted = report["token"], report["at"]
        self.newest = max(self.newest, report["token"])
        for other in self.actors.values():
            if other.holding:
                other.state = "idle"  # it has released, and will say so in a moment
        if self.struck is not None:
            took, self.struck = report["at"] - self.struck, None
            self.recoveries.append(took)
            self.note(report["at"], f"worker {actor.number} holds it, {took:.2f} s later", "green")

    def _counted(self, actor: Actor, report: dict[str, Any]) -> None:
        self.counted += 1
        actor.counted += 1

    def _scribbled(self, actor: Actor, report: dict[str, Any]) -> None:
        self.scribbled += 1

    def _refused(self, actor: Actor, report: dict[str, Any]) -> None:
        self.refusals.add(actor.number)
        sentence = f"worker {actor.number} writes {report['value']}, late: refused, stale token"
        self.note(report["at"], f"{sentence} {report['token']}", "magenta")

    def _lost(self, actor: Actor, report: dict[str, Any]) -> None:
        self.losses.add(actor.number)
        sentence = f"worker {actor.number} leaves its block and is told: LockLost"
        self.note(report["at"], sentence, "cyan")

    def _troubled(self, actor: Actor, report: dict[str, Any]) -> None:
        self.note(report["at"], f"worker {actor.number}: {report['error']}", "yellow")

    # --- what is done to them ----------------------------------------------------------------

    def strike(self, number: int, at: float, state: str, sentence: str) -> None:
        """A holder was killed or paused."""
        actor = self.actors[number]
        actor.state, actor.since, self.struck = state, at, at
        if state == "paused":
            self.paused.add(number)
        self.note(at, f"worker {number} {sentence}", "red" if state == "killed" else "yellow")

    def note(self, at: float, text: str, colour: str = "") -> None:
        self.notes.append(Note(self.elapsed(at), text, colour))

    def elapsed(self, at: float) -> float:
        return 0.0 if self.began is None else at - self.began

    # --- what can be seen --------------------------------------------------------------------

    @property
    def waiting(self) -> list[Actor]:
        """Who waits, in order of arrival."""
        waiting = [actor for actor in self.actors.values() if actor.state == "waits"]
        return sorted(waiting, key=lambda actor: actor.since)

    @property
    def missing(self) -> int:
        """Increments that the counter has lost; the file may be ahead of the reports."""
        return max(0, self.counted - self.counter)

    @property
    def missing_loose(self) -> int:
        return max(0, self.scribbled - self.loose)

    def any_in(self, *states: str) -> bool:
        return any(actor.state in states for actor in self.actors.values())

    @property
    def holder(self) -> Actor | None:
        return next((actor for actor in self.actors.values() if actor.holding), None)

    def complaints(self) -> Iterator[str]:
        """What is not as it should be at the end; nothing when all is well."""
        if self.counter != self.counted:
            yield f"the counter is {self.counter} after {self.counted} acknowledged increments"
        if not self.counted:
            yield "nothing was counted"
        if len(self.recoveries) < 2:
            yield "nobody took the lock over from a holder that was struck"
        if not self.paused or not self.paused <= self.losses:
            yield "the paused worker did not report its loss"
        if not self.paused or not self.paused <= self.refusals:
            yield "the paused worker's late write was not refused"
