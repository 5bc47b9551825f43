"""Clients and processes end, in good order and otherwise: nothing of them stays."""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from interlock import InterlockError
from interlock.testing.frames import ZkProxy
from interlock.testing.zookeepers import ZooKeeperServer

from ...processes.people import Program, Worker
from ...processes.programs import exits
from ..redis.worlds import World
from .scenes import SOON, Departure, eventually, introduced, owners, queue

pytestmark = pytest.mark.server

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


def threads() -> set[threading.Thread]:
    return {*threading.enumerate()}


# --- clients ----------------------------------------------------------------------------------


def test_kazoos_three_threads_and_the_keepers_are_all(world: World, zk_url: str) -> None:
    world.do(lambda: None)
    before = threads()
    client = world.connect(zk_url)
    held = [world.do(client.lock(f"k{number}").acquire) for number in range(20)]

    ours = {"interlock-keeper"} if world.name == "threads" else set()
    new = eventually(lambda: len(threads() - before) <= 3 + len(ours) and threads() - before, "")
    assert len(new) == 3 + len(ours)
    assert {each.name for each in new if each.name.startswith("interlock")} == ours
    world.close_client(client)
    eventually(lambda: threads() <= before, f"threads are left: {threads() - before}")
    assert all(hold.lost for hold in held)


def test_close_takes_every_node_away_at_once(world: World, zk_url: str, peek: Any) -> None:
    client = world.connect(zk_url + LONG)
    world.do(client.lock("k").acquire)
    introduced(peek)

    world.close_client(client)

    assert queue(peek) == []
    assert peek.get_children("/interlock:clients") == []


@pytest.mark.slow
@pytest.mark.parametrize("trouble", ["killed", "paused", "refused"])
def test_close_is_bounded_when_the_servers_are_gone(
    own: ZooKeeperServer, world: World, trouble: str
) -> None:
    before = threads()
    with ZkProxy(own.port) as proxy:
        client = world.connect(proxy.url())
        world.do(client.lock("k").acquire)
        if trouble == "killed":
            own.kill()
        elif trouble == "paused":
            own.pause()
        else:
            proxy.refuse()
            proxy.cut()

        began = time.monotonic()
        world.close_client(client)
        took = time.monotonic() - began

    if trouble == "paused":
        own.resume()
    assert took < 1.25 + SLACK
    eventually(lambda: threads() <= before, f"threads are left: {threads() - before}")


def test_client_that_was_closed_cannot_be_used(world: World, zk_url: str) -> None:
    client = world.connect(zk_url)
    world.do(world.do(client.lock("k").acquire).release)
    world.close_client(client)

    failure = world.start(client.lock("k").acquire).exception(SOON)

    assert failure is not None
    assert "closed" in str(failure)


@pytest.mark.slow
def test_users_of_a_client_that_is_closed_meanwhile_are_told_so(
    world: World, zk_url: str, peek: Any
) -> None:


    for _ in range(10):
        client = world.connect(zk_url)
        users = [world.start(lambda at=at, c=client: use(world, c, at)) for at in range(4)]
        introduced(peek)

        world.close_client(client)

        for user in users:
            assert isinstance(user.exception(SOON), InterlockError), user.exception()
    assert [queue(peek, f"k{at}") for at in range(4)] == [[]] * 4


def use(world: World, client: Any, at: int) -> Any:
    """Take and release until something is in the way."""
    if world.name == "tasks":
        return use_async(client, at)
    while True:
        with client.lock(f"k{at}"):
            pass


async def use_async(client: Any, at: int) -> None:
    while True:
        async with client.lock(f"k{at}"):
            pass


# --- processes --------------------------------------------------------------------------------


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_child_takes_locks_of_its_own_in_a_session_of_its_own(zk_url: str) -> None:
    with Program("forks", zk_url, "tries") as parent:
        parent.expect("claim None")
        parent.expect("own True True")
        parent.expect("kept got None")
        parent.expect("child 0 parent True")


@pytest.mark.slow
def test_child_of_a_task_does_not_end_its_parents_session(zk_url: str, peek: Any) -> None:
    with Program("forks_aio", zk_url) as parent:
        parent.expect("lost True")
        parent.expect("parent True")

        assert len(queue(peek, "claim")) == 1
        parent.tell("go on")
        parent.expect("left")
        assert queue(peek, "claim") == []
        assert parent.ended() == 0


@pytest.mark.slow
def test_killed_holder_delays_the_next_by_no_more_than_its_session(
    zk_url: str, peek: Any
) -> None:
    with Worker(zk_url + "?session_timeout=1") as first, Worker(zk_url) as second:
        first.acquire()
        second.wait()

        first.kill()
        took = second.expect("held")

        assert took < 1 + 2 * 0.2 + SLACK  # a session and a tick, to which it is rounded up


@pytest.mark.slow
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


@pytest.mark.slow
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
