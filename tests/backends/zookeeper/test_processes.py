"""Processes end, fork, are killed and put to sleep: what their sessions leave, and when."""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.zookeepers import ZooKeeperServer

from ...processes.people import Program, Worker
from ...processes.programs import exits
from .scenes import Departure, owners, queue

pytestmark = [pytest.mark.server, pytest.mark.slow]

#: Seconds of a session that nobody waits for in these tests.
LONG = "?session_timeout=60"

#: What a loaded machine may add to any time.
SLACK = 1.5

WAYS = [
    name
    for name, member in vars(exits).items()
    if inspect.isfunction(member) and name != "when_told"
]


@pytest.fixture
def own() -> Iterator[ZooKeeperServer]:
    """A server that a test may kill or pause."""
    with ZooKeeperServer() as server:
        yield server


@pytest.mark.parametrize("way", WAYS)
def test_interpreter_that_ends_takes_its_nodes_along(zk_url: str, peek: Any, way: str) -> None:
    """At once, and not when its session ends."""
    with Program("exits", zk_url + LONG, way) as program:
        program.ended()

        for name in ("claim", "claim:199", "busy"):
            assert queue(peek, name) == [], name
        if "daemon" not in way:
            error = "ZeroDivisionError" if way == "by_error" else ""
            assert program.complaint().strip().rpartition("\n")[2] == error


@pytest.mark.parametrize("trouble", ["killed", "paused"])
def test_interpreter_ends_though_the_server_is_gone(own: ZooKeeperServer, trouble: str) -> None:
    with Program("exits", own.url(), "when_told") as program:
        program.expect("held")
        if trouble == "killed":
            own.kill()
        else:
            own.pause()

        program.tell("end")
        began = time.monotonic()
        assert program.ended() == 0

        assert time.monotonic() - began < 2.5 + SLACK
        assert [line for line in program.complaint().splitlines() if "Traceback" in line] == []


@pytest.mark.parametrize("way", ["leaves", "exits", "dies", "raises", "closes"])
def test_child_that_goes_away_does_not_end_its_parents_session(
    zk_url: str, peek: Any, way: str
) -> None:
    with Program("forks", zk_url, way) as parent:
        parent.expect("child 0 parent True")

        assert len(queue(peek, "claim")) == 1
        parent.tell("go on")
        parent.expect("left")
        assert queue(peek, "claim") == []
        assert parent.ended() == 0
        assert parent.complaint() == ""


def test_child_takes_locks_of_its_own_in_a_session_of_its_own(zk_url: str) -> None:
    with Program("forks", zk_url, "tries") as parent:
        parent.expect("claim None")
        parent.expect("own True True")
        parent.expect("kept got None")
        parent.expect("child 0 parent True")


def test_child_of_a_task_does_not_end_its_parents_session(zk_url: str, peek: Any) -> None:
    with Program("forks_aio", zk_url) as parent:
        parent.expect("lost True")
        parent.expect("parent True")

        assert len(queue(peek, "claim")) == 1
        parent.tell("go on")
        parent.expect("left")
        assert queue(peek, "claim") == []
        assert parent.ended() == 0


@pytest.mark.parametrize("once", range(3))
def test_fork_in_the_middle_of_everything_deadlocks_nobody(zk_url: str, once: int) -> None:
    """The first child is forked while the parent's first connection is being opened."""
    with Program("crowd", zk_url) as crowd:
        crowd.expect("25", within=60)

        assert crowd.ended() == 0


def test_client_made_before_the_fork_works_in_every_worker(zk_url: str, tmp_path: Path) -> None:
    with Program("prefork", zk_url, f"{tmp_path}/counter") as server:
        server.expect("4 125", within=60)

        assert server.ended() == 0
        assert server.complaint() == ""


def test_killed_holder_delays_the_next_by_no_more_than_its_session(zk_url: str, peek: Any) -> None:
    with Worker(zk_url + "?session_timeout=1") as first, Worker(zk_url) as second:
        first.acquire()
        second.wait()

        first.kill()
        took = second.expect("held")

        assert took < 1 + 2 * 0.2 + SLACK  # a session and a tick, to which it is rounded up


def test_holder_that_slept_longer_than_its_session_knows_it_at_once(
    zk_url: str, peek: Any
) -> None:
    with Worker(zk_url + "?session_timeout=1") as sleeper, Worker(zk_url) as second:
        sleeper.acquire()
        token = int(sleeper.ask("token"))
        second.wait()

        sleeper.pause()
        second.expect("held")
        sleeper.tell("lost")  # the first thing that it will read when it wakes up
        sleeper.resume()

        assert sleeper.hear() == "True"
        assert sleeper.ask("release") == "LockLost"
        assert second.ask("lost") == "False"
        assert int(second.ask("token")) > token
        assert len(owners(peek, "claim")) == 1
        second.release()


def test_waiter_that_slept_longer_than_its_session_lets_the_others_pass(
    zk_url: str, peek: Any
) -> None:
    with (
        Worker(zk_url) as first,
        Worker(zk_url + "?session_timeout=1") as sleeper,
        Worker(zk_url) as third,
    ):
        first.acquire()
        sleeper.wait()
        gone = Departure(peek, f"/claim/{queue(peek, 'claim')[1]}")
        third.wait()

        sleeper.pause()
        first.release()
        gone.wait()
        third.expect("held")
        sleeper.resume()
        third.release()

        sleeper.expect("held")
        assert sleeper.ask("lost") == "False"
        sleeper.release()
