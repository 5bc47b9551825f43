"""Jobs of a client, as users meet them: `cron`, `every`, `run_jobs`, `stop_jobs`, `jobs`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Any, Literal, TypeVar

from ..drive import now
from ..errors import UsageError
from ..jobs.history import DIED, RUNNING, History, Run, unpacked
from ..jobs.job import Job, checked_job
from ..jobs.loop import JobLoop
from ..jobs.schedule import CronSchedule, IntervalSchedule, Schedule
from ..model import LockInfo, Seconds, as_seconds, spelled
from ..recipes.lock import ANSWER
from ..session.session import AsyncSession, Session
from ..steps import Steps, side_by_side
from ..words import duration, given
from . import claimant
from .claimant import TaskLoopHost, ThreadLoopHost

F = TypeVar("F", bound=Callable[..., Any])

#: Next ticks that `jobs()` tells.
TOLD = 3


@dataclass(frozen=True)
class JobInfo:
    """A job of this program: when it is due, and how its last runs ended."""

    name: str
    schedule: str
    #: The next ticks, in seconds since 1970.
    due: tuple[float, ...]
    #: The last runs in the whole cluster, the newest first.
    runs: tuple[Run, ...]


class BaseJobs:
    """What both worlds share."""

    __slots__ = ()
    _session: Any

    def _register(self, schedule: Schedule, name: str | None, function: Any, terms: Any) -> None:
        chosen = _own_name(function) if name is None else name
        now_ms = int(claimant.wall() * 1000)
        job = checked_job(chosen, schedule, function, now_ms=now_ms, **terms)
        there: Job | None = self._session.jobs.get(job.name)
        if there is not None:
            raise UsageError(
                f"there is a job {job.name!r} already ({there.schedule.text}): "
                "two jobs need two names"
            )
        self._session.jobs[job.name] = job

    def _infos(self) -> Steps[tuple[JobInfo, ...]]:
        jobs = list(self._session.jobs.values())
        return tuple((yield from all_of_them(*(_info(self._session, job) for job in jobs))))

    def _hosts(self, kind: Callable[[Any, Job], Any]) -> list[Any]:
        if self._session.loops:
            raise UsageError("the jobs of this client are running already")
        jobs = list(self._session.jobs.values())
        if not jobs:
            raise UsageError("there are no jobs to run: register them by cron() or every()")
        self._session.backend.registers  # which a store that has none refuses  # noqa: B018
        hosts = [kind(self, job) for job in jobs]
        self._session.loops = hosts
        return hosts

    def _stop(self) -> None:
        for host in list(self._session.loops):
            host.stop()


def _info(session: Any, job: Job) -> Steps[JobInfo]:
    until = now() + ANSWER
    backend = session.backend
    read, looked = yield from all_of_them(
        backend.registers.fetch(job.lock, until), backend.locks.look(job.lock, until)
    )
    history = unpacked(job.name, None if read is None else read.text)
    due = [job.schedule.after(int(claimant.wall() * 1000))]
    while len(due) < TOLD:
        due.append(job.schedule.after(due[-1]))
    times = tuple(tick / 1000 for tick in due)
    return JobInfo(job.name, job.schedule.text, times, told_runs(history, looked))


def told_runs(history: History, info: LockInfo | None) -> tuple[Run, ...]:
    """The runs of a history, the newest first; one whose owner does not hold the lock has died."""
    owners = () if info is None else [holder.owner for holder in info.holders]
    return tuple(
        replace(run, state=DIED) if run.state == RUNNING and run.owner not in owners else run
        for run in reversed(history.runs)
    )


def all_of_them(*several: Steps[Any]) -> Steps[list[Any]]:
    """What several algorithms answer, side by side; the first failure is raised."""
    outcomes = yield from side_by_side(*several)
    for each in outcomes:
        if isinstance(each, BaseException):
            raise each
    return outcomes


def _interval(period: Seconds | str) -> IntervalSchedule:
    seconds = as_seconds("period", spelled("period", period))
    return IntervalSchedule(seconds, duration(seconds))


def _own_name(function: Any) -> str:
    """What a function is called in the whole cluster; others may have one of the same short
    name."""
    module, name = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
    if module in ("", "__main__") or not name or "<" in name:
        raise UsageError("a job that is no function of a module needs a name: pass name=")
    return f"{module}.{name}"


def _refuse(function: Any, is_async: bool) -> None:
    if not callable(function):
        raise TypeError(f"a job must be a function, not {given(function)}")
    if inspect.iscoroutinefunction(function) != is_async:
        name = getattr(function, "__name__", "it")
        raise UsageError(
            f"{name} is not async: a job of an aio client must be, or it would block the loop"
            if is_async
            else f"{name} is async: register it by an aio client"
        )


class Jobs(BaseJobs):
    """The jobs of a client for threads."""

    __slots__ = ()
    _session: Session

    def cron(
        self,
        schedule: str,
        *,
        name: str | None = None,
        tz: str | tzinfo | None = None,
        at_most_for: Seconds | str | None = None,
        at_least_for: Seconds | str = 0.0,
        grace: Seconds | str | None = None,
        missed: Literal["skip", "once"] = "skip",
        overlap: Literal["skip", "queue"] = "skip",
        retry_dead: bool = False,
    ) -> Callable[[F], F]:
        """Run the decorated function at each tick of a schedule, on one instance of all.

        `schedule` has five fields as in crontab, or six with the seconds first, or is `@daily` and
        the like; `tz` is a time zone such as "Europe/Berlin", UTC without one.  A run holds the
        lock `job:<name>`, `at_most_for` and `at_least_for` so long.  A tick that could not begin
        within `grace` is missed, and made up for by one run if `missed="once"`.  A tick whose
        predecessor still ran when it was due is skipped, or is run after it with
        `overlap="queue"`.  With `retry_dead` another instance takes over the tick of one that
        died. A function that takes an argument is given its `Run`.
        """
        terms = _terms(at_most_for, at_least_for, grace, missed, overlap, retry_dead)
        return self._registering(CronSchedule(schedule, tz), name, terms)

    def every(
        self,
        period: Seconds | str,
        *,
        name: str | None = None,
        at_most_for: Seconds | str | None = None,
        at_least_for: Seconds | str = 0.0,
        grace: Seconds | str | None = None,
        missed: Literal["skip", "once"] = "skip",
        overlap: Literal["skip", "queue"] = "skip",
        retry_dead: bool = False,
    ) -> Callable[[F], F]:
        """Run the decorated function every so often, on one instance of all: `every("30s")`.

        Ticks are multiples of the period since 1970, so that all instances have the same.  Terms
        as for `cron`.
        """
        terms = _terms(at_most_for, at_least_for, grace, missed, overlap, retry_dead)
        return self._registering(_interval(period), name, terms)

    def _registering(
        self, schedule: Schedule, name: str | None, terms: dict[str, Any]
    ) -> Callable[[F], F]:
        def register(function: F) -> F:
            _refuse(function, is_async=False)
            self._register(schedule, name, function, terms)
            return function

        return register

    def run_jobs(self) -> None:
        """Run the jobs of this client until `stop_jobs` or a SIGTERM; it ends when the jobs that
        run have ended.

        Signals stop it where the main thread runs it.  So does Ctrl-C where jobs are threads, and
        a second one ends it at once; where they are tasks it cancels them.  Each job has a thread
        or task of its own.  A failure of the loop itself is raised; one of a job is logged. Cost:
        one round trip for each tick that another instance runs; seven for one that runs here.
        """
        from .job_threads import run_in_threads

        hosts = self._hosts(ThreadLoopHost)
        try:
            run_in_threads(self._session, [(JobLoop(each.job, each), each) for each in hosts])
        finally:
            self._session.loops = []

    def stop_jobs(self) -> None:
        """Let `run_jobs` end, when the jobs that run have ended.  No round trip."""
        self._stop()

    def jobs(self) -> tuple[JobInfo, ...]:
        """The jobs of this client: when they are due next, and how they ended in the whole
        cluster.

        Cost: one round trip; more on ZooKeeper.
        """
        return self._session.run(self._infos())


class AsyncJobs(BaseJobs):
    """The jobs of a client for tasks."""

    __slots__ = ()
    _session: AsyncSession

    def cron(
        self,
        schedule: str,
        *,
        name: str | None = None,
        tz: str | tzinfo | None = None,
        at_most_for: Seconds | str | None = None,
        at_least_for: Seconds | str = 0.0,
        grace: Seconds | str | None = None,
        missed: Literal["skip", "once"] = "skip",
        overlap: Literal["skip", "queue"] = "skip",
        retry_dead: bool = False,
    ) -> Callable[[F], F]:
        """Run the decorated function at each tick of a schedule, on one instance of all.

        `schedule` has five fields as in crontab, or six with the seconds first, or is `@daily` and
        the like; `tz` is a time zone such as "Europe/Berlin", UTC without one.  A run holds the
        lock `job:<name>`, `at_most_for` and `at_least_for` so long.  A tick that could not begin
        within `grace` is missed, and made up for by one run if `missed="once"`.  A tick whose
        predecessor still ran when it was due is skipped, or is run after it with
        `overlap="queue"`.  With `retry_dead` another instance takes over the tick of one that
        died. A function that takes an argument is given its `Run`.
        """
        terms = _terms(at_most_for, at_least_for, grace, missed, overlap, retry_dead)
        return self._registering(CronSchedule(schedule, tz), name, terms)

    def every(
        self,
        period: Seconds | str,
        *,
        name: str | None = None,
        at_most_for: Seconds | str | None = None,
        at_least_for: Seconds | str = 0.0,
        grace: Seconds | str | None = None,
        missed: Literal["skip", "once"] = "skip",
        overlap: Literal["skip", "queue"] = "skip",
        retry_dead: bool = False,
    ) -> Callable[[F], F]:
        """Run the decorated function every so often, on one instance of all: `every("30s")`.

        Ticks are multiples of the period since 1970, so that all instances have the same.  Terms
        as for `cron`.
        """
        terms = _terms(at_most_for, at_least_for, grace, missed, overlap, retry_dead)
        return self._registering(_interval(period), name, terms)

    def _registering(
        self, schedule: Schedule, name: str | None, terms: dict[str, Any]
    ) -> Callable[[F], F]:
        def register(function: F) -> F:
            _refuse(function, is_async=True)
            self._register(schedule, name, function, terms)
            return function

        return register

    async def run_jobs(self) -> None:
        """Run the jobs of this client until `stop_jobs` or a SIGTERM; it ends when the jobs that
        run have ended.

        Signals stop it where the main thread runs it.  So does Ctrl-C where jobs are threads, and
        a second one ends it at once; where they are tasks it cancels them.  Each job has a thread
        or task of its own.  A failure of the loop itself is raised; one of a job is logged. Cost:
        one round trip for each tick that another instance runs; seven for one that runs here.
        """
        from .job_tasks import run_in_tasks

        self._session.here()
        hosts = self._hosts(TaskLoopHost)
        try:
            await run_in_tasks(self._session, [(JobLoop(each.job, each), each) for each in hosts])
        finally:
            self._session.loops = []

    async def stop_jobs(self) -> None:
        """Let `run_jobs` end, when the jobs that run have ended.  No round trip."""
        self._stop()

    async def jobs(self) -> tuple[JobInfo, ...]:
        """The jobs of this client: when they are due next, and how they ended in the whole
        cluster.

        Cost: one round trip; more on ZooKeeper.
        """
        return await self._session.run(self._infos())


def _terms(*values: Any) -> dict[str, Any]:
    words = ("at_most_for", "at_least_for", "grace", "missed", "overlap", "retry_dead")
    return dict(zip(words, values, strict=True))
