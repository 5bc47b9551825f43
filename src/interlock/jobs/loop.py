"""The loop of one job in one instance: wait for a tick, claim it, run it, write down how it ended.

A generator of steps: threads and tasks run the same one.  What the user's function does happens in
`outside`, in the thread or task of the loop.

- A tick that is settled already costs one round trip, and that is all that happens in an instance
  whose clock is behind.
- A tick whose lock is busy is waited for until it is too late (`Job.grace`): the run before it may
  only be a few milliseconds long, or its process dead and its lease about to end.  When the lock
  is free it is known whether that run overlapped: see `History.overlapping`, which goes by how
  long it took and not by the clock of any instance.
- While the store is out of reach the loop asks again, says so once, and runs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from ..errors import LockLost, StoreError
from ..steps import Steps, Wakes, outside, park
from ..words import duration
from .claims import Begun, Claimant, Settled, conclude, history_of, take_within
from .history import DONE, FAILED, LOST, SKIPPED, STOPPED, Run
from .job import Job

#: Seconds between two questions while the store is out of reach, and between two looks at a clock
#: that may have been set meanwhile.
UNREACHABLE, LOOK = 1.0, 30.0


class JobHost(Claimant, Protocol):
    """What the loop needs of the client that runs it."""

    #: Where the loop waits.
    wakes: Wakes

    def perform(self, begun: Begun) -> Any:
        """Run the user's function under its hold; in asyncio, to be awaited."""
        ...

    def say(self, level: str, words: str, error: BaseException | None = None) -> None:
        """Log a sentence."""
        ...


class JobLoop:
    """See the theory of operation above."""

    def __init__(self, job: Job, host: JobHost) -> None:
        self._job, self._host = job, host
        self._schedule, self._silent = job.schedule, False

    def steps(self) -> Steps[None]:
        """Run the job at its ticks until the host is stopping."""
        tick = yield from self._first()
        while tick is not None:
            if not (yield from self._until(tick)):
                return
            yield from self._attend(tick)
            tick = self._next(tick)

    # --- which tick comes next ---------------------------------------------------------------

    def _first(self) -> Steps[int | None]:
        """The next tick; or the last one, if it passed while no instance was there and the job
        catches up."""
        if not self._job.catches_up:
            return self._schedule.after(self._now())
        history = yield from self._ask(lambda: history_of(self._host))
        if history is None:
            return None
        last = self._schedule.latest(self._now())
        newest = max([history.before, *history.ticks])
        missed = 0 < newest < last
        return last if missed else self._schedule.after(self._now())

    def _next(self, tick: int) -> int:
        following = self._schedule.after(tick)
        oldest = self._now() - round(self._job.grace * 1000)
        if following >= oldest:
            return following
        last = self._schedule.latest(oldest - 1)
        self._host.say(
            "warning",
            f"job {self._job.name!r} missed the ticks from {_told(following)} to {_told(last)}: "
            f"they are more than {duration(self._job.grace)} late; "
            + ("one run makes up for them" if self._job.catches_up else "none is made up for"),
        )
        return last if self._job.catches_up else self._schedule.after(oldest - 1)

    def _now(self) -> int:
        return int(self._host.wall() * 1000)

    def _until(self, tick: int) -> Steps[bool]:
        """Wait for a tick; False when the host is stopping."""
        host = self._host
        while not host.stopping and (left := tick / 1000 - host.wall()) > 0:
            yield from park(host.wakes, host.clock() + min(left, LOOK))
        return not host.stopping

    # --- one tick ----------------------------------------------------------------------------

    def _attend(self, tick: int) -> Steps[None]:
        host = self._host
        late = max(0.0, host.wall() - tick / 1000)
        limit = host.clock() + max(self._job.grace - late, 0.0)
        taken = yield from self._ask(lambda: take_within(host, tick, limit, self._newest), limit)
        if isinstance(taken, Begun):
            yield from self._run(taken)
        elif isinstance(taken, Settled):
            self._tell_settled(taken)
        elif taken is None and not host.stopping:
            words = "its lock stayed busy, or the store could not be asked"
            host.say(
                "warning",
                f"job {self._job.name!r} was not run for {_told(tick)}: {words} for "
                f"{duration(self._job.grace)}",
            )

    def _newest(self) -> int:
        return self._schedule.latest(self._now())

    def _tell_settled(self, settled: Settled) -> None:
        run = settled.run
        if settled.mine and run.state == SKIPPED:
            self._host.say(
                "warning", f"job {self._job.name!r} is skipped for {_told(run.tick)}: {run.error}"
            )

    def _ask(self, ask: Callable[[], Steps[Any]], limit: float | None = None) -> Steps[Any]:
        """Ask until the store answers, it is `limit`, or the host is stopping: then None."""
        host = self._host
        while not host.stopping:
            try:
                answer = yield from ask()
            except (LockLost, StoreError) as failure:  # before anything was run
                self._tell_silence(failure)
            else:
                self._tell_answer()
                return answer
            if limit is not None and host.clock() >= limit:
                return None
            yield from park(host.wakes, host.clock() + UNREACHABLE)
        return None

    def _tell_silence(self, failure: LockLost | StoreError) -> None:
        if not self._silent:
            self._silent = True
            self._host.say(
                "error",
                f"job {self._job.name!r} waits for the store, and is not run meanwhile: {failure}",
            )

    def _tell_answer(self) -> None:
        if self._silent:
            self._silent = False
            self._host.say("info", f"job {self._job.name!r} goes on: the store answers again")

    # --- one run -----------------------------------------------------------------------------

    def _run(self, begun: Begun) -> Steps[None]:
        """Run the function, write down how that ended, keep the lock as long as the job says, and
        give it back.  The tick is claimed, so it is not run again."""
        try:
            yield from self._perform(begun)
        except GeneratorExit:
            raise  # the interpreter ends, or the loop was dropped: nothing can be asked any more
        except BaseException:
            yield from self._host.release(begun.hold)
            raise
        yield from self._host.release(begun.hold)

    def _perform(self, begun: Begun) -> Steps[None]:
        host, began = self._host, self._host.clock()
        run = replace(begun.run, kept=self._job.at_least_for)
        try:
            yield from outside(host.perform, begun)
        except Exception as error:
            ended = self._failed(run, begun.hold, error, host.clock() - began)
        except GeneratorExit:
            raise
        except BaseException:
            took = host.clock() - began
            yield from self._conclude(run.ended(STOPPED, took, "its scheduler was stopped"))
            raise
        else:
            ended = run.ended(DONE, host.clock() - began)
        yield from self._conclude(ended)
        yield from self._keep(began)

    def _failed(self, run: Run, hold: Any, error: Exception, took: float) -> Run:
        # It may also be the loss of another lock, that the function has taken.
        lost = isinstance(error, LockLost) and error.token == hold.token
        words = str(error) if lost else f"{type(error).__name__}: {error}"
        due = _told(run.tick)
        if lost:
            self._host.say("error", f"job {self._job.name!r} for {due} lost its lock: {error}")
        else:
            self._host.say("error", f"job {self._job.name!r} for {due} has failed: {words}", error)
        return run.ended(LOST if lost else FAILED, took, words)

    def _conclude(self, run: Run) -> Steps[None]:
        """An end that cannot be written down leaves the run as running: it counts as a death."""
        host = self._host
        for left in (2, 1, 0):
            try:
                return (yield from conclude(host, run, host.keep))
            except StoreError as failure:
                if not left:
                    words = f"that job {run.name!r} for {_told(run.tick)} is {run.state}"
                    host.say("warning", f"{words} could not be written down: {failure}")

    def _keep(self, began: float) -> Steps[None]:
        until = began + self._job.at_least_for
        while not self._host.stopping and self._host.clock() < until:
            yield from park(self._host.wakes, until)


def _told(tick: int) -> str:
    """A tick as people read it."""
    from datetime import UTC, datetime

    when = datetime.fromtimestamp(tick / 1000, UTC)
    return when.isoformat(sep=" ", timespec="seconds").replace("+00:00", " UTC")
