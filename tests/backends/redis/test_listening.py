"""Listening: whoever has no time left goes on without it, in both worlds.

A wake is only a hint, so a subscription that is not confirmed costs nobody more than the time
that there was.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import interlock
from interlock import InterlockError
from interlock.backends.redis.keys import Topic
from interlock.backends.redis.transport.protocol import SUBSCRIBE_TIMEOUT
from interlock.drive import now
from tests.support.faults import FaultProxy
from tests.support.servers import RedisServer

from ...support.eventually import eventually
from ...support.worlds import Threads, World
from .watching import litter, raw, tombs

pytestmark = pytest.mark.server

#: What a busy machine may add to any of these times.
SLACK = 0.5

TOPICS = (Topic("x", None), Topic("y", None))


class Scene:
    """A server that falls silent, seen from behind a proxy and from before it."""

    def __init__(self, server: RedisServer, proxy: FaultProxy, how: str) -> None:
        self.server, self.proxy, self._how = server, proxy, how
        self.near = f"redis://:pw@127.0.0.1:{server.port}"
        self.far = f"redis://:pw@127.0.0.1:{proxy.port}"

    def freeze(self) -> None:
        self.server.pause() if self._how == "stopped" else self.proxy.blackhole()

    def thaw(self) -> None:
        self.server.resume() if self._how == "stopped" else self.proxy.blackhole(False)


# Tests name it before their world, whose clients are then closed before it ends.
@pytest.fixture(params=["stopped", "cut off"])
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    """With a password, so that opening a connection needs an answer as well."""
    with RedisServer("--requirepass", "pw") as server, FaultProxy(server.port) as proxy:
        scene = Scene(server, proxy, request.param)
        yield scene
        scene.thaw()


@pytest.fixture(params=[2, 3])
def client(request: pytest.FixtureRequest, scene: Scene, world: World) -> Any:
    """A client that has a connection for its questions."""
    client = world.connect(f"{scene.far}?protocol={request.param}")
    world.do(world.do(client.lock("known").acquire).release)
    return client


def before_listening(client: Any, action: Callable[[], None]) -> None:
    """Let something happen right before a client listens: it knows by then that it must wait."""
    listen = client._session.link.listen

    def first(*request: Any) -> Any:
        action()
        return listen(*request)

    client._session.link.listen = first


def test_an_acquire_whose_store_falls_silent_ends_within_its_timeout_and_two_seconds(
    scene: Scene, world: World, client: Any
) -> None:
    """Right after its first question was answered, before it listens."""
    hold = world.do(world.connect(scene.near).lock("k").acquire)
    before_listening(client, scene.freeze)
    began = time.monotonic()
    with pytest.raises(InterlockError):
        world.do(lambda: client.lock("k").acquire(timeout=0.2))
    assert time.monotonic() - began < 0.2 + 2 + SLACK
    scene.thaw()
    world.do(hold.release)
    with raw(scene.server.port, password="pw") as peek:
        eventually(lambda: litter(peek) == tombs(peek))


@pytest.mark.parametrize("before", [False, True], ids=["first", "again"])
@pytest.mark.parametrize("worth", [0.0, 0.2, 30.0])
def test_a_listener_waits_no_longer_than_it_has_time(
    scene: Scene, world: World, client: Any, worth: float, before: bool
) -> None:
    """Also where the connection must be opened, and never longer than two seconds."""
    if before:
        with world.do(lambda: client._session.link.listen((Topic("before", None),), now() + 5)):
            pass
    scene.freeze()
    began = time.monotonic()
    with world.do(lambda: client._session.link.listen(TOPICS, now() + worth)):
        took = time.monotonic() - began
    assert min(worth, SUBSCRIBE_TIMEOUT) - 0.05 < took < min(worth, SUBSCRIBE_TIMEOUT) + SLACK


def test_a_subscription_that_was_late_is_heard_all_the_same(
    scene: Scene, world: World, client: Any
) -> None:
    scene.freeze()
    with world.do(lambda: client._session.link.listen(TOPICS, now() + 0.1)) as wakes:
        scene.thaw()
        with raw(scene.server.port, password="pw") as peek:
            waiting = world.start(lambda: client._session.link.park(wakes, now() + 10))
            eventually(lambda: peek.publish("x", "") > 0)
        assert waiting.result(5)


@pytest.mark.parametrize("others", ["listening", "parked"])
def test_closing_a_client_is_not_kept_by_who_listens(
    scene: Scene, world: World, client: Any, others: str
) -> None:
    world.do(world.connect(scene.near).lock("k").acquire)
    listening = threading.Event()
    before_listening(client, listening.set)
    if others == "listening":
        before_listening(client, scene.freeze)
    waiting = world.start(lambda: client.lock("k").acquire(timeout=30))
    assert listening.wait(5)
    if others == "parked":
        with raw(scene.server.port, password="pw") as peek:
            eventually(lambda: peek.zcard("interlock:queue:{k}") == 1)
        scene.freeze()
    began = time.monotonic()
    world.close_client(client)
    assert time.monotonic() - began < 2 + SLACK
    assert isinstance(waiting.exception(5), InterlockError)
    assert time.monotonic() - began < 3 + SLACK


def test_closing_a_client_ends_the_questions_of_its_threads(
    redis_server: RedisServer, redis_url: str
) -> None:
    """A waiter whose question is under way, and is not answered, hears that its client closes."""
    with FaultProxy(redis_server.port) as proxy:
        client = interlock.connect(f"redis://127.0.0.1:{proxy.port}")
        with client.lock("before"):
            pass
        proxy.blackhole()
        world = Threads()
        asking = world.start(client.lock("k").acquire)
        eventually(lambda: bool(client._session.queue.busy()))
        client.close()
        assert isinstance(asking.exception(2), InterlockError)
