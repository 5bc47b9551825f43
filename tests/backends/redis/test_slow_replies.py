"""Replies that come in byte by byte: every deadline counts from the question, in both worlds.

A socket's own timeout begins anew with each byte, so a reply that drips could keep its asker for
as many timeouts as it has bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import select
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from interlock import InterlockError, LockLost, StoreError
from interlock.backends.redis import aio
from interlock.backends.redis.keys import Topic
from interlock.backends.redis.locks import RedisLocks
from interlock.backends.redis.transport import subscriber
from interlock.backends.redis.transport.connection import BlockingConnection
from interlock.backends.redis.transport.factories import UrlFactory
from interlock.backends.redis.transport.protocol import command
from interlock.backends.redis.url import read_url
from interlock.drive import now
from interlock.steps import together
from tests.support.faults import FaultProxy
from tests.support.servers import RedisServer

from ...support.eventually import eventually
from ...support.worlds import World
from .watching import raw

pytestmark = pytest.mark.server

#: Seconds between two bytes, and how long an answer is worth having in these tests.
DRIP, WORTH = 0.25, 0.4

#: Later than `WORTH` by no more than this: much less than a reply takes that drips.
SLACK = 0.6

LOCKS = RedisLocks("here")


@pytest.fixture
def guarded() -> Iterator[RedisServer]:
    """A server with a password: the handshake asks several questions of its own."""
    with RedisServer("--requirepass", "pw") as server:
        yield server


@pytest.fixture
def dripping(guarded: RedisServer) -> Iterator[FaultProxy]:
    with FaultProxy(guarded.port) as proxy:
        yield proxy


# Tests name it before their world, whose clients are then closed before the proxy is.
@pytest.fixture(params=[2, 3])
def url(request: pytest.FixtureRequest, dripping: FaultProxy) -> str:
    place = f":pw@127.0.0.1:{dripping.port}/1"
    return f"redis://{place}?client_name=slow&protocol={request.param}"


def opened(world: World, url: str) -> Any:
    """A client that has a connection."""
    client = world.connect(url)
    world.do(world.do(client.lock("known").acquire).release)
    return client


def client_of(world: World, url: str, dripping: FaultProxy, state: str) -> Any:
    """A client whose replies drip from now on, or from its first connection on."""
    if state == "open":
        client = opened(world, url)
        dripping.drip(DRIP)
        return client
    dripping.drip(DRIP)
    return world.connect(url)


@pytest.fixture(params=["open", "new"])
def state(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


def seconds_of(world: World, action: Any) -> float:
    """How long an action takes that fails."""
    began = time.monotonic()
    with pytest.raises(InterlockError):
        world.do(action)
    return time.monotonic() - began


def test_a_call_ends_when_its_answer_is_worth_nothing_any_more(
    url: str, world: World, dripping: FaultProxy, state: str
) -> None:
    client = client_of(world, url, dripping, state)
    took = seconds_of(world, lambda: client._session.run(LOCKS.look("k", now() + WORTH)))
    assert WORTH - 0.05 < took < WORTH + SLACK


def test_a_host_with_several_addresses_has_one_limit_for_all(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None of which answers."""
    with contextlib.ExitStack() as deaf:
        places = [deaf.enter_context(deaf_place()) for _ in range(3)]
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", place) for place in places]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *asked, **terms: found)
        client = world.connect("redis://somewhere.example")
        took = seconds_of(world, lambda: client._session.run(LOCKS.look("k", now() + WORTH)))
    assert WORTH - 0.05 < took < WORTH + SLACK


@contextlib.contextmanager
def deaf_place() -> Iterator[tuple[str, int]]:
    """An address where nobody accepts, and no more connections can wait for it."""
    with socket.socket() as listener, socket.socket() as first:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        first.connect(listener.getsockname())
        yield listener.getsockname()


def test_calls_together_end_when_their_answers_are_worth_nothing_any_more(
    url: str, world: World, dripping: FaultProxy, state: str
) -> None:
    client = client_of(world, url, dripping, state)
    began = time.monotonic()
    try:
        answers = world.do(lambda: client._session.run(questions(now() + WORTH)))
    except StoreError as failure:
        answers = [failure]
    assert all(isinstance(answer, StoreError) for answer in answers)
    assert WORTH - 0.05 < time.monotonic() - began < WORTH + SLACK


def questions(until: float) -> Any:
    """Some calls at once."""
    calls = [next(LOCKS.look(f"k{number}", until)) for number in range(3)]
    return together(calls)  # type: ignore[arg-type]


def test_a_listener_goes_on_when_its_subscription_is_not_confirmed_in_time(
    url: str, world: World, dripping: FaultProxy, state: str
) -> None:
    client = client_of(world, url, dripping, state)
    began = time.monotonic()
    with world.do(lambda: client._session.link.listen((Topic("x", None),), now() + WORTH)):
        assert WORTH - 0.05 < time.monotonic() - began < WORTH + SLACK


def test_an_acquire_ends_within_its_timeout_and_two_seconds(
    url: str, world: World, dripping: FaultProxy, state: str
) -> None:
    client = client_of(world, url, dripping, state)
    assert seconds_of(world, lambda: client.lock("k").acquire(timeout=0.5)) < 0.5 + 2


def test_a_loss_is_reported_before_validity_ends(
    url: str, world: World, dripping: FaultProxy, guarded: RedisServer
) -> None:
    client, reported = world.connect(url), list[float]()
    hold = world.do(client.lock("k", lease=1.2).acquire)
    hold.on_lost(lambda _: reported.append(now()))
    with raw(guarded.port, password="pw", db=1) as peek:
        eventually(lambda: peek.keys("interlock:client:*"))  # the keeper is at rest from here on
    dripping.drip(DRIP)

    eventually(lambda: reported, within=4)
    assert reported[0] <= hold._lease.until
    dripping.drip(0)
    with pytest.raises(LockLost):
        world.do(hold.release)


@pytest.mark.parametrize("busy", ["holding", "waiting"])
def test_closing_a_client_is_not_kept_by_its_replies(
    url: str, world: World, dripping: FaultProxy, guarded: RedisServer, busy: str
) -> None:
    """A question of the keeper's may take a second, and so may giving back what is held."""
    client, waiting = opened(world, url), None
    with raw(guarded.port, password="pw", db=1) as peek:
        if busy == "holding":
            for name in "abc":
                world.do(client.lock(name).acquire)
        else:
            world.do(world.connect(f"redis://:pw@127.0.0.1:{guarded.port}/1").lock("k").acquire)
            waiting = world.start(client.lock("k").acquire)
            eventually(lambda: peek.zcard("interlock:queue:{k}") == 1)
    dripping.drip(DRIP)
    began = time.monotonic()
    world.close_client(client)
    assert time.monotonic() - began < 2.5
    if waiting is not None:
        assert isinstance(waiting.exception(5), InterlockError)


def test_a_wake_connection_whose_answers_drip_is_left(
    url: str, world: World, dripping: FaultProxy, guarded: RedisServer, monkeypatch: Any
) -> None:
    """A byte now and then is no sign of life: the answer to a ping is."""
    monkeypatch.setattr(subscriber, "QUIET", 0.3)
    monkeypatch.setattr(subscriber, "PONG", 0.3)
    monkeypatch.setattr(aio, "QUIET", 0.3)
    client = world.connect(f"{url}&timeout=0.5")
    world.do(world.connect(f"redis://:pw@127.0.0.1:{guarded.port}/1").lock("k").acquire)
    world.start(lambda: client.lock("k").acquire(timeout=20))
    with raw(guarded.port, password="pw", db=1) as peek:
        eventually(lambda: peek.zcard("interlock:queue:{k}") == 1)
        first = subscribers(peek)
        assert len(first) == 1
        dripping.drip(DRIP)
        eventually(lambda: not first & subscribers(peek), within=4)
        dripping.drip(0)
        eventually(lambda: subscribers(peek))


def subscribers(peek: Any) -> set[str]:
    """The connections that hear something."""
    return {each["id"] for each in peek.client_list() if each["sub"] != "0"}


# --- readers that are late -----------------------------------------------------------------------


def test_a_reply_that_has_come_is_read_though_its_reader_is_late(redis_url: str) -> None:
    connection = BlockingConnection(UrlFactory(read_url(redis_url)), now() + 5.0)
    try:
        connection.prepare(until := now() + 0.05)
        connection.send(command("PING") * 2)
        select.select([connection], [], [])
        time.sleep(max(0.0, until - now()) + 0.01)
        assert [connection.read(), connection.read()] == [b"PONG"] * 2
        with pytest.raises(TimeoutError):
            connection.read()
    finally:
        connection.close()


def test_a_reply_that_has_come_is_read_though_its_loop_is_late(redis_url: str) -> None:
    asyncio.run(read_late(redis_url))


async def read_late(redis_url: str) -> None:
    link, loop = aio.RedisAsyncLink(UrlFactory(read_url(redis_url))), asyncio.get_running_loop()
    try:
        for worth, late in ((5.0, 0.0), (0.3, 0.31)):
            asked: Any = next(LOCKS.look("k", now() + worth))
            pending = link.call(asked)
            loop.call_soon(time.sleep, late)
            assert await pending is not None
    finally:
        await link.close()
