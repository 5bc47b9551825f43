"""A client as the steps of jobs see it: a lock, a register, clocks, and a place to wait."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..drive import now
from ..errors import LockLost, NotHeld, StoreError
from ..jobs.claims import Begun
from ..jobs.history import WINDOW_MS, History, Rules
from ..jobs.job import Job
from ..model import Terms
from ..recipes import holding
from ..session.identity import introduction
from ..spi import RegisterStore
from ..steps import Steps
from ..words import duration

log = logging.getLogger("interlock.jobs")

LEVELS = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


#: Seconds; clocks of instances may differ by as much.
AHEAD = WINDOW_MS / 1000


def wall() -> float:
    """The wall clock, by which schedules go."""
    return time.time()


class LockClaimant:
    """See `jobs.claims.Claimant`."""

    def __init__(self, lock: Any, name: str, rules: Rules, schedule: str, keep: float) -> None:
        self.lock, self.session = lock, lock._session
        self.name, self.rules, self.schedule, self.keep = name, rules, schedule, keep
        self.clock, self.wall = now, wall
        self.identity = self.session.identity
        self.by = str(introduction(self.identity))

    @property
    def register(self) -> tuple[RegisterStore, str]:
        return self.session.backend.registers, self.lock.name

    @property
    def stopping(self) -> bool:
        """What is done once is not stopped."""
        return False

    def notice(self, history: History) -> None:
        """There is nothing strange about what is done once."""

    def acquire(self, timeout: float) -> Steps[Any]:
        return holding.acquire(self.session, self.lock._request, timeout)

    def release(self, hold: Any) -> Steps[None]:
        try:
            yield from holding.release(self.session, hold._lease)
        except (LockLost, NotHeld):
            pass  # what ran under it has been told, or nothing has run
        except StoreError as failure:
            log.warning("the lock of %r was not given back: %s", self.name, failure)


def lock_of(client: Any, name: str, terms: Terms) -> Any:
    """The lock of a job: kept as long as its run goes on."""
    return client._lock_for(terms, None)(name)


class LoopHost(LockClaimant):
    """See `jobs.loop.JobHost`; each world has its own way to perform a job."""

    def __init__(self, client: Any, job: Job) -> None:
        lock = lock_of(client, job.lock, job.terms)
        super().__init__(lock, job.name, job.rules, job.schedule.text, job.keep)
        self.job, self._stopped, self.wakes = job, False, self.session.local()
        #: A schedule of other instances that has been told, and whether a clock has.
        self._other, self._ahead = "", False

    @property
    def stopping(self) -> bool:
        return self._stopped or self.session.schedule.closed

    def stop(self) -> None:
        """Let the loop end after the running job.  Any thread and any signal handler may."""
        self._stopped = True
        self.wakes.wake_from_afar()

    def notice(self, history: History) -> None:
        """Say what keeps ticks from running, or runs too many: a clock that is far ahead, and two
        programs that differ in the schedule of one name.  Each is said once."""
        newest = max([history.before, *history.ticks]) / 1000
        if newest > self.wall() + AHEAD and not self._ahead:
            self._ahead = True
            self.say(
                "warning",
                f"ticks of job {self.name!r} have run that are {duration(newest - self.wall())} "
                "ahead of the clock of this machine: it is behind, or that of "
                f"{history.by} is ahead",
            )
        other = history.schedule
        if other not in ("", self.schedule, self._other):
            self._other = other
            self.say(
                "warning",
                f"job {self.name!r} is scheduled as {other} by {history.by}, and as "
                f"{self.schedule} here: both run; give one of them another name",
            )

    def say(self, level: str, words: str, error: BaseException | None = None) -> None:
        log.log(LEVELS[level], "%s", words, exc_info=error)


@contextmanager
def relying_on(hold: Any) -> Iterator[None]:
    """A block that a loss ends, and that gives nothing back."""
    hold.ensure()
    hold._enter_block()
    try:
        yield
    except BaseException as error:
        lost = hold._lease.exit_block(error)
        if lost is not None:
            raise lost from error
        raise
    hold._lease.exit_block(None)
    hold.ensure()


class ThreadLoopHost(LoopHost):
    """Performs jobs in the thread of their loop."""

    def perform(self, begun: Begun) -> None:
        with relying_on(begun.hold):
            try:
                self.job.function(*self.job.arguments(begun.run))
            except StopIteration as error:  # which would end the steps of the loop
                raise RuntimeError("the job has raised StopIteration") from error


class TaskLoopHost(LoopHost):
    """Performs jobs in the task of their loop; a loss cancels them."""

    async def perform(self, begun: Begun) -> None:
        from asyncio import CancelledError, current_task

        with relying_on(begun.hold):
            try:
                await self.job.function(*self.job.arguments(begun.run))
            except CancelledError as error:
                task = current_task()
                if task is None or task.cancelling():
                    raise
                raise RuntimeError("what the job awaited was cancelled") from error
