"""What a job has done, as its register keeps it; and what follows from that.  Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

#: How a run stands.  One that is running though its lock is free has died.
RUNNING, DONE, FAILED, LOST, SKIPPED, STOPPED, DIED = (
    *("running", "done", "failed", "lost"),
    *("skipped", "stopped", "died"),
)

#: Runs that are told in full, and the ticks that are remembered at least.
RUNS = 20

#: Milliseconds; younger ticks are all remembered.  Clocks of instances may differ by as much.
WINDOW_MS = 60_000

#: Characters of an error that are kept.
ERROR = 300


@dataclass(frozen=True)
class Run:
    """One run of a job, or of what is done once: who did it, when, and how it ended."""

    name: str
    #: "running", "done", "failed", "lost" (its lock was, so it may have run on), "stopped" (with
    #: its scheduler), "skipped" (the run before it was not over) or "died" (with its process).
    state: str
    #: When it was due, in seconds since 1970; 0 of what is done once.
    due: float
    #: The process that ran it, and the owner and the token of its lock.
    by: str = ""
    owner: str = ""
    token: int = 0
    #: When it began, by the clock of that process; and how many seconds it took, once it has
    #: ended.
    began: float = 0.0
    took: float | None = None
    error: str = ""
    #: For how many seconds its lock was kept at least.
    kept: float = 0.0
    #: How many processes have died running it before.
    deaths: int = 0

    @property
    def tick(self) -> int:
        """When it was due, in milliseconds."""
        return round(self.due * 1000)

    def ended(self, state: str, took: float, error: str = "") -> Run:
        return replace(self, state=state, took=round(took, 6), error=error[:ERROR])


class History(NamedTuple):
    """What has become of the ticks of a job."""

    schedule: str = ""
    #: The process that has written it last.
    by: str = ""
    #: Everything up to this tick is settled, and forgotten.
    before: int = -1
    #: The younger ticks that are settled: claimed, or skipped.
    ticks: tuple[int, ...] = ()
    #: The last runs, of the youngest ticks last.
    runs: tuple[Run, ...] = ()

    def run_of(self, tick: int) -> Run | None:
        """What has become of a tick; None when it is still to be claimed."""
        for run in self.runs:
            if run.tick == tick:
                return run
        return Run("", DONE, tick / 1000) if tick <= self.before or tick in self.ticks else None

    def overlapping(self, tick: int) -> Run | None:
        """The run that went on when a tick was due, had both begun when they were due."""
        for run in reversed(self.runs):
            took = 0.0 if run.took is None else max(run.took, run.kept)
            if run.tick < tick < run.tick + took * 1000:
                return run
        return None

    def with_run(self, run: Run) -> History:
        """The same after one more run has begun, ended or been skipped."""
        ticks = sorted({*self.ticks, run.tick})
        runs = sorted(
            [*(each for each in self.runs if each.tick != run.tick), run],
            key=lambda each: each.tick,
        )
        kept = [tick for tick in ticks if tick > ticks[-1] - WINDOW_MS]
        kept = ticks[-max(len(kept), RUNS) :]
        before = max([self.before, *ticks[: -len(kept)]])
        return self._replace(before=before, ticks=tuple(kept), runs=tuple(runs[-RUNS:]))


def packed(history: History) -> str:
    """A history as its register keeps it."""
    import json  # here, so that programs without jobs need not load it

    runs = [{key: value for key, value in asdict(run).items() if value} for run in history.runs]
    return json.dumps({**history._asdict(), "runs": runs}, separators=(",", ":"))


def unpacked(name: str, text: str | None) -> History:
    """Read it back; what makes no sense is forgotten, and so is what a newer version may add."""
    import json

    try:
        told: Any = {} if text is None else json.loads(text)
        runs = tuple(_run(name, each) for each in told.get("runs", ()))
        ticks = tuple(int(tick) for tick in told.get("ticks", ()))
        words = (str(told.get("schedule", "")), str(told.get("by", "")))
        return History(*words, int(told.get("before", -1)), ticks, runs)
    except (ValueError, TypeError, AttributeError, LookupError):
        return History()


def _run(name: str, told: dict[str, Any]) -> Run:
    known = {key: told[key] for key in Run.__dataclass_fields__ if key in told}
    return Run(**{"due": 0.0, **known, "name": name})


# --- claiming ------------------------------------------------------------------------------------


class Rules(NamedTuple):
    """What a job wants to happen to ticks that are not simply due."""

    #: States of an earlier run after which a tick may be claimed again.
    again: Collection[str] = ()
    #: How many processes may die running one tick.
    deaths: int = 3
    #: Whether a tick waits for a run that overlaps it; otherwise it is skipped.
    queues: bool = False
    #: Whether a client settles one tick after the other: then a claim of its own that it finds is
    #: one that it never ran, because its answer, or its lock, was lost.
    in_order: bool = False


class Decision(NamedTuple):
    """What a claimant does: runs, or not; and what is to be written before."""

    run: Run
    claimed: bool
    history: History | None = None


def decide(history: History, claim: Run, rules: Rules, newest: int) -> Decision:
    """Whether a claimant that has the lock, so that no other run goes on, may run a tick.

    `newest` is the last tick that is due: of several that wait for one run, it alone is run.
    """
    there = history.run_of(claim.tick)
    if there is not None and there.owner == claim.owner:
        return Decision(claim, True)  # the claim was written, though its answer was lost
    if there is not None and not (rules.in_order and _of_one_client(there, claim)):
        return _again(history, claim, there, rules)
    overlapping = history.overlapping(claim.tick)
    if overlapping is not None and not (rules.queues and claim.tick == newest):
        words = f"overlapped by the run of {overlapping.by}, which took {overlapping.took} s"
        skipped = replace(claim, state=SKIPPED, error=words, owner="", token=0, began=0.0)
        return Decision(skipped, False, history.with_run(skipped))
    return Decision(claim, True, history.with_run(claim))


def _of_one_client(there: Run, claim: Run) -> bool:
    client = claim.owner.rpartition(":")[0]
    return there.state == RUNNING and there.owner.rpartition(":")[0] == client


def _again(history: History, claim: Run, there: Run, rules: Rules) -> Decision:
    deaths = there.deaths + (there.state == RUNNING)
    if there.state not in rules.again or deaths > rules.deaths:
        return Decision(there, False)
    claim = replace(claim, deaths=deaths)
    return Decision(claim, True, history.with_run(claim))


def finished(history: History, run: Run) -> History | None:
    """The same after a run has ended; None where the tick is another owner's by now."""
    there = history.run_of(run.tick)
    return history.with_run(run) if there is not None and there.owner == run.owner else None
