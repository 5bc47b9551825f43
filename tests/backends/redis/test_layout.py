"""Where a lock lives in the store, byte for byte, whatever its name."""

from __future__ import annotations

import re
from concurrent.futures import as_completed
from typing import Any

import pytest

from tests.support.servers import RedisServer

from ...support.eventually import eventually
from ...support.worlds import World
from .watching import Monitor, Seen, litter

pytestmark = pytest.mark.server

LONG = "n" * 1024

#: A name, and what Redisson's prefix rule makes of it.
NAMES = {
    "k": "{k}",
    "{k}": "{k}",
    "a{b}c": "a{b}c",
    "ключ": "{ключ}",
    "a b": "{a b}",
    "a}b": "{a}b}",
    "new\nline\0nul": "{new\nline\0nul}",
    LONG: f"{{{LONG}}}",
}

UUID8 = r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"

names = pytest.mark.parametrize("name", NAMES, ids=lambda name: repr(name[:20]))


@names
def test_lock_is_a_hash_under_its_own_name(
    world: World, redis_url: str, peek: Any, name: str
) -> None:
    hold = world.do(world.connect(redis_url).lock(name, lease=20).acquire)
    assert litter(peek) == {name}
    assert peek.hgetall(name) == {hold.owner: "1"}
    assert 19_000 < peek.pttl(name) <= 20_000
    assert re.fullmatch(rf"{UUID8}:\d+", hold.owner)
    world.do(hold.release)
    assert litter(peek) == set()


@names
def test_mutex_is_a_string_under_its_own_name(
    world: World, redis_url: str, peek: Any, name: str
) -> None:
    hold = world.do(world.connect(redis_url).mutex(name, lease=20).acquire)
    assert litter(peek) == {name}
    assert peek.get(name) == hold.owner
    assert 19_000 < peek.pttl(name) <= 20_000
    world.do(hold.release)
    assert litter(peek) == set()


def is_of_another(channel: str, mine: str) -> bool:
    """Whether a client of an earlier test, which is just being closed, listens there."""
    return channel.startswith("interlock:wake:") and channel != mine


@names
def test_waiting_and_waking_follow_the_prefix_rule(
    world: World, redis_url: str, peek: Any, name: str
) -> None:
    hold = world.do(world.connect(redis_url).lock(name).acquire)
    client = world.connect(redis_url)
    waiting = world.start(client.lock(name).acquire)
    # A name that is its own tag must not meet the same name without its braces.
    queue = f"interlock:queue{':tagged' if '{' in name else ''}:{NAMES[name]}"
    eventually(lambda: peek.zcard(queue) == 1)
    assert litter(peek) == {name, queue}
    assert peek.pttl(queue) > 0
    mine = f"interlock:wake:{client._session.identity}"
    channels = {each for each in peek.pubsub_channels("*") if not is_of_another(each, mine)}
    assert channels == {mine}
    with peek.pubsub() as java:
        channel = f"redisson_lock__channel:{NAMES[name]}"
        java.subscribe(channel)
        assert java.get_message(timeout=5)["type"] == "subscribe"
        world.do(hold.release)
        assert java.get_message(timeout=5)["data"] == "0"
    world.do(waiting.result(5).release)
    assert litter(peek) == set()


@pytest.fixture
def contended(world: World, redis_url: str, redis_server: RedisServer) -> list[Seen]:
    """What the server executed while three clients took a lock from each other."""
    clients = [world.connect(redis_url) for _ in range(3)]
    with Monitor(redis_server.port) as monitor:
        for _ in range(15):
            waiting = [world.start(client.lock("k", lease=2).acquire) for client in clients]
            for granted in as_completed(waiting, timeout=20):
                world.do(granted.result().release)
        return monitor.commands()


def test_hash_is_never_without_a_lease(contended: list[Seen]) -> None:
    """Each write is followed by its expiry inside the same script, so at no moment."""
    writes = [i for i, seen in enumerate(contended) if seen.verb == "HSET"]
    assert len(writes) >= 45
    for i in writes:
        assert not contended[i].direct
        expiry = contended[i + 1]
        assert (expiry.direct, expiry.verb, expiry.words[1]) == (False, "PEXPIRE", "k")


def test_redissons_channel_carries_nothing_but_zero(contended: list[Seen]) -> None:
    published = [seen.words[1:] for seen in contended if seen.verb == "PUBLISH"]
    theirs = [words for words in published if words[0].startswith("redisson")]
    assert set(theirs) == {("redisson_lock__channel:{k}", "0")}
    others = {words[0] for words in published} - {"redisson_lock__channel:{k}"}
    assert all(re.fullmatch(f"interlock:wake:{UUID8}", channel) for channel in others)
