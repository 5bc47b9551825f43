"""Clients are closed, in good order and otherwise: neither nodes nor threads stay."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

import interlock
from interlock import InterlockError, StoreUnavailable, aio
from interlock.backends.zookeeper import aio as links
from interlock.backends.zookeeper.transport.answers import Batch
from interlock.backends.zookeeper.transport.requests import Sync
from interlock.backends.zookeeper.transport.transport import Transport
from interlock.backends.zookeeper.url import ZkSettings
from tests.support.frames import ZkProxy
from tests.support.zookeepers import ZooKeeperServer

from ...support.worlds import World
from .scenes import SOON, eventually, introduced, queue

pytestmark = pytest.mark.server

#: Seconds of a session that nobody waits for in these tests.
LONG = "?session_timeout=60"

#: What a loaded machine may add to any time.
SLACK = 1.5


@pytest.fixture
def own() -> Iterator[ZooKeeperServer]:
    """A server that a test may kill or pause."""
    with ZooKeeperServer() as server:
        yield server


def threads() -> set[threading.Thread]:
    return {*threading.enumerate()}


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
        users = [world.start(partial(use_up, world, client, at)) for at in range(4)]
        introduced(peek)

        world.close_client(client)

        for user in users:
            assert isinstance(user.exception(SOON), InterlockError), user.exception()
    assert [queue(peek, f"k{at}") for at in range(4)] == [[]] * 4


def use_up(world: World, client: Any, at: int) -> Any:
    """Take and release until something is in the way."""
    if world.name == "tasks":
        return use_up_async(client, at)
    while True:
        with client.lock(f"k{at}"):
            pass


async def use_up_async(client: Any, at: int) -> None:
    while True:
        async with client.lock(f"k{at}"):
            pass


def use(url: str) -> None:
    with interlock.connect(url).lock("k"):
        pass


async def use_async(url: str) -> None:
    async with aio.connect(url).lock("k"):
        pass


@pytest.mark.slow
def test_clients_that_are_dropped_without_being_closed_are_collected(
    zk_url: str, peek: Any
) -> None:
    before = threads()

    for _ in range(10):
        use(zk_url + LONG)

    eventually(lambda: gc.collect() >= 0 and threads() <= before, "threads are left")
    assert sessions(peek) == 0


@pytest.mark.slow
@pytest.mark.parametrize("when", ["within the loop", "behind the loop"])
def test_asyncio_clients_that_are_dropped_without_being_closed_are_collected(
    zk_url: str, peek: Any, when: str
) -> None:
    before = threads()

    async def main() -> None:
        for _ in range(10):
            await use_async(zk_url + LONG)
        if when == "within the loop":
            await asyncio.to_thread(eventually, collected, "threads are left")

    def collected() -> bool:
        return gc.collect() >= 0 and not talking(before)

    asyncio.run(main())
    eventually(lambda: gc.collect() >= 0 and threads() <= before, "threads are left")
    assert sessions(peek) == 0


def sessions(peek: Any) -> int:
    return len(peek.get_children("/interlock:clients"))


def test_question_to_a_client_that_was_closed_just_now_says_so() -> None:
    """Between the look at its connection and the question another thread may close it."""
    transport = Transport(ZkSettings())
    transport.closed = True

    with pytest.raises(StoreUnavailable, match="closed"):
        transport.ask(Batch([Sync("/")], lambda: None))


class LoopStall:
    """Measures how long an event loop stood still."""

    def __init__(self) -> None:
        self.longest, self._last = 0.0, time.monotonic()

    def tick(self) -> None:
        last, self._last = self._last, time.monotonic()
        self.longest = max(self.longest, self._last - last)

    async def watch(self) -> None:
        while True:
            await asyncio.sleep(0.001)
            self.tick()


@pytest.mark.slow
def test_loop_goes_on_while_a_client_is_closed_that_nobody_hears(
    own: ZooKeeperServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a loop that is closing may be held up: here that would take four seconds."""
    monkeypatch.setattr(links, "FAREWELL", 4.0)

    async def main() -> float:
        client = aio.connect(own.url() + LONG)
        await (await client.lock("k").acquire()).release()
        own.pause()
        stall = LoopStall()
        watching = asyncio.create_task(stall.watch())
        await client.close()
        stall.tick()
        watching.cancel()
        return stall.longest

    try:
        assert asyncio.run(main()) < 2.0
    finally:
        own.resume()


@pytest.mark.slow
def test_client_that_owes_something_opens_no_session_to_be_closed(
    zookeeper: ZooKeeperServer, zk_path: str
) -> None:
    """Its keeper was cancelled and has ended the session, and everything in it."""

    async def main(proxy: ZkProxy) -> None:
        client = aio.connect(proxy.url(zk_path) + LONG)
        hold = await client.lock("k").acquire()
        proxy.refuse()
        proxy.cut()
        with pytest.raises(StoreUnavailable):
            await hold.release()
        assert client._session.schedule.pending()
        await cancel_keeper()
        proxy.refuse(False)
        proxy.mark()
        await client.close()

    with ZkProxy(zookeeper.port) as proxy:
        asyncio.run(main(proxy))
        assert proxy.connects == 0


async def cancel_keeper() -> None:
    """What a loop does that is closing."""
    (keeper,) = [task for task in asyncio.all_tasks() if task.get_name() == "interlock-keeper"]
    keeper.cancel()
    await asyncio.wait((keeper,))


@pytest.mark.slow
@pytest.mark.parametrize("turns", range(1, 9))
def test_close_that_is_cancelled_ends_the_session_all_the_same(
    zk_url: str, peek: Any, turns: int
) -> None:
    before = threads()

    async def main() -> None:
        client = aio.connect(zk_url + LONG)
        await client.lock("k").acquire()
        closing = asyncio.create_task(client.close())
        for _ in range(turns):
            await asyncio.sleep(0)
        closing.cancel()
        with suppress(asyncio.CancelledError):
            await closing
        await asyncio.to_thread(eventually, lambda: not talking(before), "it talks on")
        assert queue(peek) == []

    asyncio.run(main())


def talking(before: set[threading.Thread]) -> set[threading.Thread]:
    """Those of kazoo's threads that have come since then and keep a session alive."""
    return {each for each in threads() - before if "zk_loop" in each.name}
