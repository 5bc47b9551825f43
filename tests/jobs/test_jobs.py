"""Jobs on every store, in both worlds."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from interlock import Run, UsageError
from interlock.api import claimant
from tests.support.eventually import eventually
from tests.support.worlds import Tasks, World


class Instance:
    """A client that runs jobs, as another process would; its clock may differ."""

    def __init__(self, world: World, url: str) -> None:
        self.world, self.client = world, world.connect(url)
        self.outcome: Any = None

    def job(self, body: Callable[[Run], Any], every: str = "200ms", **terms: Any) -> Any:
        """Register a job that calls `body`; in asyncio `body` may return what to await."""
        register = self.client.every(every, name=terms.pop("name", "report"), **terms)
        return register(_as_task(body) if isinstance(self.world, Tasks) else body)

    def start(self) -> Instance:
        self.outcome = self.world.start(self.client.run_jobs)
        return self

    def stop(self) -> None:
        self.world.do(self.client.stop_jobs)
        self.outcome.result(10)

    def runs(self) -> tuple[Run, ...]:
        (info,) = self.world.do(self.client.jobs)
        runs: tuple[Run, ...] = info.runs
        return runs


def _as_task(body: Callable[[Run], Any]) -> Any:
    async def job(run: Run) -> None:
        result = body(run)
        if asyncio.iscoroutine(result):
            await result

    return job


@pytest.fixture
def instance(world: World, url: str) -> Iterator[Callable[[], Instance]]:
    """Makes instances; those that still run are stopped."""
    made: list[Instance] = []

    def make() -> Instance:
        made.append(Instance(world, url))
        return made[-1]

    yield make
    for each in made:
        if each.outcome is not None:
            world.do(each.client.stop_jobs)
            each.outcome.exception(10)


def test_each_tick_runs_on_one_of_several_instances(instance: Callable[[], Instance]) -> None:
    ran: list[int] = []
    instances = [instance() for _ in range(3)]
    for each in instances:
        each.job(lambda run: ran.append(run.tick))
        each.start()

    eventually(lambda: len(set(ran)) >= 4)
    for each in instances:
        each.stop()

    assert len(ran) == len(set(ran))
    assert sorted(ran) == list(range(min(ran), max(ran) + 1, 200))


def test_how_a_run_ended_can_be_read_by_any_instance(instance: Callable[[], Instance]) -> None:
    ends: list[int] = []

    def fails(run: Run) -> None:
        ends.append(run.token)
        raise ValueError("no paper")

    first, second = instance(), instance()
    first.job(fails)
    second.job(fails)
    first.start()
    eventually(lambda: len(ends) >= 2)  # it goes on after a failure
    first.stop()

    *_, run = second.runs()

    assert (run.state, run.error) == ("failed", "ValueError: no paper")
    assert run.token == ends[0]
    assert run.by
    assert run.took is not None
    assert ends[0] < ends[1]


def test_an_instance_that_stops_lets_the_running_job_end(
    instance: Callable[[], Instance], world: World
) -> None:
    began, go, ended = threading.Event(), threading.Event(), threading.Event()

    def body(run: Run) -> None:
        began.set()
        go.wait(10)
        ended.set()

    async def body_async(run: Run) -> None:
        await asyncio.to_thread(body, run)

    one = instance()
    one.job(body_async if isinstance(world, Tasks) else body)
    one.start()
    began.wait(10)
    world.do(one.client.stop_jobs)
    assert not ended.is_set()
    go.set()
    one.outcome.result(10)

    assert ended.is_set()
    assert one.runs()[0].state == "done"
    assert world.do(lambda: one.client.inspect("job:report")) is None


# --- what need not be tried on every store -------------------------------------------------------


@pytest.fixture
def memory(world: World, tmp_path: Any) -> Iterator[Callable[[], Instance]]:
    """Makes instances on one store in memory."""
    made: list[Instance] = []

    def make() -> Instance:
        made.append(Instance(world, f"memory://{tmp_path}"))
        return made[-1]

    yield make
    for each in made:
        if each.outcome is not None:
            world.do(each.client.stop_jobs)
            each.outcome.exception(10)


def test_a_tick_that_falls_into_a_run_is_skipped_and_said(
    memory: Callable[[], Instance], world: World, caplog: pytest.LogCaptureFixture
) -> None:
    ran: list[int] = []

    def body(run: Run) -> None:
        ran.append(run.tick)
        time.sleep(0.5)

    async def body_async(run: Run) -> None:
        ran.append(run.tick)
        await asyncio.sleep(0.5)

    one = memory()
    one.job(body_async if isinstance(world, Tasks) else body)
    one.start()
    eventually(lambda: len(ran) >= 2)
    one.stop()

    assert ran[1] - ran[0] == 600
    said = [each.getMessage() for each in caplog.records if each.name == "interlock.jobs"]
    assert any("job 'report' is skipped for" in each and "which took 0.5" in each for each in said)


def test_a_tick_that_falls_into_a_run_can_queue_behind_it(
    memory: Callable[[], Instance], world: World
) -> None:
    ran: list[int] = []

    def body(run: Run) -> None:
        ran.append(run.tick)
        time.sleep(0.5)

    async def body_async(run: Run) -> None:
        ran.append(run.tick)
        await asyncio.sleep(0.5)

    one = memory()
    one.job(body_async if isinstance(world, Tasks) else body, overlap="queue")
    one.start()
    eventually(lambda: len(ran) >= 2)
    one.stop()

    assert ran[1] - ran[0] == 400  # the newest of those that were due when the first had ended


def test_the_lock_is_kept_at_least_for_so_long(
    memory: Callable[[], Instance], world: World
) -> None:
    ran = threading.Event()
    one, two = memory(), memory()
    one.job(lambda run: ran.set(), at_least_for=5)
    one.start()
    ran.wait(10)

    eventually(lambda: one.runs()[0].state == "done")
    assert world.do(lambda: two.client.inspect("job:report")) is not None
    one.stop()  # which does not wait for that

    assert world.do(lambda: two.client.inspect("job:report")) is None


def test_a_run_that_outlives_its_limit_is_lost(
    memory: Callable[[], Instance], world: World, caplog: pytest.LogCaptureFixture
) -> None:
    over: list[object] = []

    def body(run: Run) -> None:
        if not over:
            time.sleep(0.6)
            over.append(run)

    async def body_async(run: Run) -> None:
        if not over:
            try:
                await asyncio.sleep(5)
            except asyncio.CancelledError:
                over.append(run)
                raise

    one = memory()
    one.job(body_async if isinstance(world, Tasks) else body, at_most_for="300ms")
    one.start()
    eventually(lambda: any(each.state == "lost" for each in one.runs()))
    one.stop()

    assert "lost its lock" in caplog.text


def test_clocks_that_differ_by_seconds_make_no_tick_run_twice(
    memory: Callable[[], Instance], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second instance is a second and a half ahead: it begins with ticks that the first has
    still before it, and those before them are left to the first."""
    ran: list[int] = []
    behind, ahead = memory(), memory()
    behind.job(lambda run: ran.append(run.tick))
    behind.start()
    eventually(lambda: len(ran) >= 2)
    ahead.job(lambda run: ran.append(run.tick))
    monkeypatch.setattr(claimant, "wall", lambda: time.time() + 1.5)
    ahead.start()
    eventually(lambda: _hosts(ahead))
    monkeypatch.undo()

    eventually(lambda: len(ran) >= 15)
    behind.stop()
    ahead.stop()

    assert len(ran) == len(set(ran))
    contiguous = sorted(ran)[:8]
    assert contiguous == list(range(contiguous[0], contiguous[0] + 8 * 200, 200))


def _hosts(instance: Instance) -> list[Any]:
    hosts: list[Any] = instance.client._session.loops
    return hosts


def test_ticks_that_passed_without_an_instance_are_made_up_for_once(
    memory: Callable[[], Instance],
) -> None:
    ran: list[int] = []
    first, second, third = memory(), memory(), memory()
    first.job(lambda run: ran.append(run.tick), every="1s")
    first.start()
    eventually(lambda: len(ran) == 1)
    first.stop()
    time.sleep(2.2)
    for each in (second, third):
        each.job(lambda run: ran.append(run.tick), every="1s", missed="once")

    second.start()
    third.start()
    eventually(lambda: len(ran) >= 2)
    caught_up = ran[1]
    eventually(lambda: len(ran) >= 3)

    assert caught_up - ran[0] >= 2000
    assert sorted(ran[2:])[0] == caught_up + 1000
    assert len(ran) == len(set(ran))


def test_while_the_store_is_away_nothing_runs_and_it_is_said_once(
    world: World, own_redis: Any, caplog: pytest.LogCaptureFixture
) -> None:
    ran: list[int] = []
    one = Instance(world, own_redis.url)
    one.job(lambda run: ran.append(run.tick))
    one.start()
    eventually(lambda: ran)

    with caplog.at_level(logging.INFO, "interlock.jobs"):
        own_redis.kill()
        eventually(lambda: "waits for the store" in caplog.text)
        count = len(ran)
        time.sleep(1.5)
        assert len(ran) == count
        own_redis.start()
        eventually(lambda: len(ran) > count)
    one.stop()

    said = [each.getMessage() for each in caplog.records if each.name == "interlock.jobs"]
    assert sum("waits for the store, and is not run meanwhile" in each for each in said) == 1
    assert sum("the store answers again" in each for each in said) == 1


def test_a_job_that_waits_for_its_lock_does_not_begin_after_the_stop(
    memory: Callable[[], Instance], world: World
) -> None:
    ran: list[int] = []
    one, holder = memory(), memory()
    hold = world.do(holder.client.lock("job:report").acquire)
    one.job(lambda run: ran.append(run.tick))
    one.start()
    eventually(lambda: world.do(lambda: holder.client.inspect("job:report")).waiters)
    world.do(one.client.stop_jobs)
    world.do(hold.release)
    one.outcome.result(10)

    assert ran == []
    assert world.do(lambda: holder.client.inspect("job:report")) is None


def test_a_job_that_ends_an_iterator_or_a_task_of_its_own_only_fails(
    memory: Callable[[], Instance], world: World
) -> None:
    def stops(run: Run) -> None:
        next(iter(()))

    async def cancels(run: Run) -> None:
        task = asyncio.ensure_future(asyncio.sleep(9))
        task.cancel()
        await task

    one = memory()
    one.job(cancels if isinstance(world, Tasks) else stops)
    one.start()
    eventually(lambda: len([run for run in one.runs() if run.state == "failed"]) >= 2)
    one.stop()


def test_a_job_whose_lease_ended_before_it_began_does_not_begin(
    memory: Callable[[], Instance], world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process was asleep between the claim and the function."""
    ran: list[int] = []
    one = memory()
    one.job(lambda run: ran.append(run.tick))
    host = claimant.TaskLoopHost if isinstance(world, Tasks) else claimant.ThreadLoopHost
    perform = host.perform
    slept: list[int] = []

    def late(self: Any, begun: Any) -> Any:
        if not slept:
            slept.append(begun.run.tick)
            begun.hold._lease.lose("it slept")
        return perform(self, begun)

    monkeypatch.setattr(host, "perform", late)
    one.start()
    eventually(lambda: ran)
    one.stop()

    assert slept[0] not in ran
    assert {run.tick: run.state for run in one.runs()}[slept[0]] == "lost"


def test_to_close_the_client_ends_its_jobs(memory: Callable[[], Instance], world: World) -> None:
    one = memory()
    one.job(lambda run: None, every="1h")
    one.start()
    eventually(lambda: _hosts(one))
    world.close_client(one.client)

    one.outcome.result(10)
    one.outcome = None


def test_a_lock_that_is_kept_longer_than_the_period_skips_ticks(
    memory: Callable[[], Instance],
) -> None:
    ran: list[int] = []
    one = memory()
    one.job(lambda run: ran.append(run.tick), at_least_for=0.5)
    one.start()
    eventually(lambda: len(ran) >= 2)
    one.stop()

    assert ran[1] - ran[0] == 600


def test_a_clock_that_is_far_ahead_is_told(
    memory: Callable[[], Instance],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran: list[int] = []
    ahead, right = memory(), memory()
    ahead.job(lambda run: ran.append(run.tick))
    right.job(lambda run: ran.append(run.tick))
    monkeypatch.setattr(claimant, "wall", lambda: time.time() + 3600)
    ahead.start()
    eventually(lambda: ran)
    ahead.stop()
    monkeypatch.undo()
    right.start()
    eventually(lambda: "ahead of the clock of this machine" in caplog.text)
    right.stop()


# --- what is refused -----------------------------------------------------------------------------


def test_two_jobs_of_one_name_are_refused(memory: Callable[[], Instance]) -> None:
    one = memory()
    one.job(lambda run: None)

    with pytest.raises(UsageError, match=r"there is a job 'report' already \(every 200 ms\)"):
        one.job(lambda run: None, every="5s")


def test_a_schedule_that_differs_between_instances_is_told(
    memory: Callable[[], Instance], caplog: pytest.LogCaptureFixture
) -> None:
    ran: list[str] = []
    one, two = memory(), memory()
    one.job(lambda run: ran.append("one"))
    two.job(lambda run: ran.append("two"), every="300ms")
    one.start()
    eventually(lambda: "one" in ran)
    two.start()

    eventually(lambda: "is scheduled as every 200 ms by" in caplog.text)
    one.stop()
    two.stop()


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"at_most_for": 0}, "at_most_for must be positive"),
        ({"at_most_for": "soon"}, 'at_most_for must look like "10s"'),
        ({"at_least_for": "5s", "at_most_for": "2s"}, "at_least_for .'5s'. is longer than"),
        ({"missed": "all"}, "missed must be 'skip' or 'once', not 'all'"),
        ({"overlap": "run"}, "overlap must be 'skip' or 'queue', not 'run'"),
        ({"name": ""}, "name must not be empty"),
        ({"every": "0s"}, "at least 100 ms"),
    ],
)
def test_wrong_terms_are_told_by_their_name(
    memory: Callable[[], Instance], terms: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        memory().job(lambda run: None, **terms)


def test_a_job_without_a_name_of_its_own_needs_one(memory: Callable[[], Instance]) -> None:
    with pytest.raises(UsageError, match="needs a name: pass name="):
        memory().job(lambda run: None, name=None)


def test_a_client_without_jobs_says_so(memory: Callable[[], Instance], world: World) -> None:
    with pytest.raises(UsageError, match=r"register them by cron\(\) or every\(\)"):
        world.do(memory().client.run_jobs)


def test_a_function_of_the_wrong_world_is_refused(
    memory: Callable[[], Instance], world: World
) -> None:
    def plain() -> None: ...
    async def awaited() -> None: ...

    wrong: Any = plain if isinstance(world, Tasks) else awaited
    with pytest.raises(UsageError, match=r"is not async|is async"):
        memory().client.every("1s", name="x")(wrong)
