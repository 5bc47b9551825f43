"""What the demo knows: the state of each worker, what was counted, what happened.

A score takes in reports; it starts nothing, ends nothing and draws nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple


@dataclass
class WorkerState:
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
    """An event to show, with its instant and its colour."""

    at: float
    text: str
    colour: str = ""


@dataclass
class Score:
    """The score of one run."""

    lease: float
    workers: dict[int, WorkerState] = field(default_factory=dict)
    #: When all workers were ready.
    began: float | None = None
    notes: list[Note] = field(default_factory=list)
    newest: int = 0
    #: Writes that a worker has been told are done, and what the files say.
    counted: int = 0
    scribbled: int = 0
    counter: int = 0
    loose: int = 0
    #: Workers whose last report was `lingers`, also if another one holds by now.
    lingering: set[int] = field(default_factory=set)
    #: When a holder was struck, until the next one holds; and how long that took.
    struck: float | None = None
    recoveries: list[float] = field(default_factory=list)
    #: Workers that were paused; that reported a loss; whose late write was refused.
    paused: set[int] = field(default_factory=set)
    losses: set[int] = field(default_factory=set)
    refusals: set[int] = field(default_factory=set)

    # --- what workers report ---------------------------------------------------------------

    def hear(self, number: int, report: dict[str, Any]) -> None:
        """Take note of one report of a worker."""
        worker, what, at = self.workers[number], report["what"], report["at"]
        hearing = {
            "holds": self._holds,
            "counted": self._counted,
            "scribbled": self._scribbled,
            "refused": self._refused,
            "lost": self._lost,
            "troubled": self._troubled,
        }.get(what)
        if hearing is not None:
            hearing(worker, report)
        self.lingering.discard(number)
        if what == "lingers":
            self.lingering.add(number)
        if what in ("ready", "waits", "holds", "lingers", "finished"):
            worker.state, worker.since = what, at
        elif what in ("scribbled", "lost"):
            worker.state, worker.since = "idle", at

    def _holds(self, worker: WorkerState, report: dict[str, Any]) -> None:
        worker.token, worker.granted = report["token"], report["at"]
        self.newest = max(self.newest, report["token"])
        for other in self.workers.values():
            if other.holding:
                other.state = "idle"  # it has released, and its report is on its way
        if self.struck is not None:
            took, self.struck = report["at"] - self.struck, None
            self.recoveries.append(took)
            self.note(
                report["at"], f"worker {worker.number} holds it, {took:.2f} s later", "green"
            )

    def _counted(self, worker: WorkerState, report: dict[str, Any]) -> None:
        self.counted += 1
        worker.counted += 1

    def _scribbled(self, worker: WorkerState, report: dict[str, Any]) -> None:
        self.scribbled += 1

    def _refused(self, worker: WorkerState, report: dict[str, Any]) -> None:
        self.refusals.add(worker.number)
        sentence = f"worker {worker.number} writes {report['value']}, late: refused, stale token"
        self.note(report["at"], f"{sentence} {report['token']}", "magenta")

    def _lost(self, worker: WorkerState, report: dict[str, Any]) -> None:
        self.losses.add(worker.number)
        sentence = f"worker {worker.number} leaves its block and is told: LockLost"
        self.note(report["at"], sentence, "cyan")

    def _troubled(self, worker: WorkerState, report: dict[str, Any]) -> None:
        self.note(report["at"], f"worker {worker.number}: {report['error']}", "yellow")

    # --- what is done to them ----------------------------------------------------------------

    def strike(self, number: int, at: float, state: str, sentence: str) -> None:
        """A holder was killed or paused."""
        worker = self.workers[number]
        worker.state, worker.since, self.struck = state, at, at
        if state == "paused":
            self.paused.add(number)
        self.note(at, f"worker {number} {sentence}", "red" if state == "killed" else "yellow")

    def note(self, at: float, text: str, colour: str = "") -> None:
        self.notes.append(Note(self.elapsed(at), text, colour))

    def elapsed(self, at: float) -> float:
        return 0.0 if self.began is None else at - self.began

    # --- what can be seen --------------------------------------------------------------------

    @property
    def waiting(self) -> list[WorkerState]:
        """The workers that wait, in order of arrival."""
        waiting = [worker for worker in self.workers.values() if worker.state == "waits"]
        return sorted(waiting, key=lambda worker: worker.since)

    @property
    def missing(self) -> int:
        """Increments that the counter has lost; the file may be ahead of the reports."""
        return max(0, self.counted - self.counter)

    @property
    def missing_loose(self) -> int:
        return max(0, self.scribbled - self.loose)

    def any_in(self, *states: str) -> bool:
        return any(worker.state in states for worker in self.workers.values())

    @property
    def holder(self) -> WorkerState | None:
        return next((worker for worker in self.workers.values() if worker.holding), None)

    def complaints(self) -> Iterator[str]:
        """What is not as it should be at the end; nothing when all is well."""
        if self.counter != self.counted:
            yield f"the counter is {self.counter} after {self.counted} acknowledged increments"
        if not self.counted:
            yield "nothing was counted"
        if len(self.recoveries) < 2:
            yield "no worker took the lock over from a holder that was struck"
        if not self.paused or not self.paused <= self.losses:
            yield "the paused worker did not report its loss"
        if not self.paused or not self.paused <= self.refusals:
            yield "the paused worker's late write was not refused"
