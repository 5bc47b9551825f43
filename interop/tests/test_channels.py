"""In a cluster Redisson uses channels of slots, or plain ones if it is told so; and so do we."""

from __future__ import annotations

import time
from typing import Any

import pytest

from interlock.recipes.lock import POLL_CAP
from tests.backends.redis.watching import raw
from tests.support.eventually import eventually
from tests.support.worlds import World

from ..harness.matrix import TO_THEM, TO_US, meets
from ..harness.modes import Servers
from ..harness.peers import Actor, Cast
from .looking import PROMPTLY, SLACK, channel, waiters

pytestmark = [meets("Redisson", "RLock", "lock()"), pytest.mark.modes("cluster")]

#: What each side is told, and how to count who listens then.
CHANNELS = {"": "SHARDNUMSUB", "?sharded_channels=off": "NUMSUB"}


class Channels:
    """Both sides are told the same, and the server of a name says who listens how."""

    def __init__(self, told: str, servers: Servers, cast: Cast, name: str) -> None:
        self.url, self._name, self._port = servers.url + told, name, servers.port_of(name)
        self._word = CHANNELS[told]
        self.java: Actor = cast.actor(cast.client(f"told {told}", address=self.url))

    def listeners(self) -> int:
        """How many listen on channels of the kind that they were told to use."""
        return self._counted(self._word)

    def _counted(self, word: str) -> int:
        with raw(self._port) as client:
            _, count = client.execute_command("PUBSUB", word, channel(self._name))
        return int(count)

    def only_there(self) -> bool:
        """Whether there is one listener, and none on a channel of the other kind."""
        return [self._counted(word) for word in CHANNELS.values()] == [
            int(word == self._word) for word in CHANNELS.values()
        ]


@pytest.fixture(params=sorted(CHANNELS), ids=["sharded", "plain"])
def channels(
    request: pytest.FixtureRequest, servers: Servers, cast: Cast, name: str, peek: Any
) -> Channels:
    return Channels(request.param, servers, cast, name)


@meets(direction=TO_THEM)
def test_java_hears_our_release_on_the_channel_that_it_was_told_to_use(
    world: World, channels: Channels, name: str
) -> None:
    hold = world.do(world.connect(channels.url).lock(name).acquire)
    waiting = channels.java.start("lock", "lock", name)
    eventually(lambda: channels.java.parked)
    assert channels.only_there()
    world.do(hold.release)
    waiting.result(PROMPTLY)
    eventually(lambda: channels.listeners() == 0)
    channels.java.ask("lock", "unlock", name)


@meets(direction=TO_US)
def test_we_hear_javas_release_on_the_channel_that_we_were_told_to_use(
    world: World, channels: Channels, name: str, peek: Any
) -> None:
    channels.java.ask("lock", "lock", name)
    waiting = world.start(world.connect(channels.url).lock(name).acquire)
    eventually(lambda: waiters(peek, name) == 1 == channels.listeners())
    assert channels.only_there()
    channels.java.ask("lock", "unlock", name)
    world.do(waiting.result(PROMPTLY).release)
    eventually(lambda: channels.listeners() == 0)


@meets(direction=TO_US)
def test_told_otherwise_than_java_we_find_its_release_by_asking(
    world: World, servers: Servers, java: Actor, name: str, peek: Any
) -> None:
    plain = f"{servers.url}?sharded_channels=off"
    java.ask("lock", "lock", name)
    waiting = world.start(world.connect(plain).lock(name).acquire)
    eventually(lambda: waiters(peek, name) == 1)
    java.ask("lock", "unlock", name)
    world.do(waiting.result(POLL_CAP + SLACK).release)


@meets(direction=TO_THEM)
def test_java_that_was_told_otherwise_waits_for_the_end_of_our_lease(
    world: World, servers: Servers, java: Actor, name: str, peek: Any
) -> None:
    plain = world.connect(f"{servers.url}?sharded_channels=off")
    hold = world.do(plain.lock(name, lease=2, renew=False).acquire)
    waiting = java.start("lock", "lock", name)
    eventually(lambda: java.parked)
    began, left = time.monotonic(), peek.pttl(name) / 1000
    world.do(hold.release)
    waiting.result(left + SLACK)
    assert time.monotonic() - began > left - 0.1
    java.ask("lock", "unlock", name)
