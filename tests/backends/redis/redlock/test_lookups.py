"""Nodes that have names: one whose name is looked up slowly holds up no other; in both worlds."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import interlock
from interlock.backends.redis.transport import lookups
from interlock.errors import AcquireTimeout, StoreUnavailable
from tests.support.redlocks import RedlockServers

from ....support.eventually import eventually
from ....support.worlds import World

pytestmark = pytest.mark.server


class Names:
    """What `getaddrinfo` knows: `node0.test` and others are this machine."""

    def __init__(self) -> None:
        self._real = socket.getaddrinfo
        #: Names whose lookup hangs, and those that are unknown.
        self.slow: set[str] = set()
        self.unknown: set[str] = set()
        self.ended = threading.Event()
        #: How many lookups hang just now.
        self.hanging = 0

    def look_up(self, host: Any, *place: Any, **terms: Any) -> Any:
        if terms.get("flags") or not str(host).endswith(".test"):
            return self._real(host, *place, **terms)
        if host in self.unknown:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        if host in self.slow:
            self.hanging += 1
            self.ended.wait(30)
        return self._real("127.0.0.1", *place, **terms)


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[Names]:
    names = Names()
    monkeypatch.setattr(socket, "getaddrinfo", names.look_up)
    yield names
    names.ended.set()


@pytest.fixture
def three() -> Iterator[RedlockServers]:
    with RedlockServers(3) as servers:
        yield servers


def named(servers: RedlockServers) -> str:
    places = ",".join(f"node{i}.test:{each.port}" for i, each in enumerate(servers))
    return f"redlock://{places}?restart_guard=off"


def test_slow_lookup_of_one_node_holds_up_no_other(
    world: World, names: Names, three: RedlockServers
) -> None:
    names.slow.add("node1.test")
    client = world.connect(named(three))
    began = time.monotonic()

    hold = world.do(client.lock("name", timeout=5).acquire)
    world.do(hold.release)

    assert time.monotonic() - began < 2


def test_node_votes_when_its_name_was_found(
    world: World, names: Names, three: RedlockServers
) -> None:
    names.slow.add("node1.test")
    client = world.connect(named(three))
    world.do(world.do(client.lock("name").acquire).release)
    names.ended.set()

    hold = world.do(client.lock("name").acquire)

    eventually(lambda: three.clients[1].exists("name"))
    world.do(hold.release)


def test_names_that_are_unknown_are_told(
    world: World, names: Names, three: RedlockServers
) -> None:
    names.unknown |= {"node0.test", "node2.test"}
    client = world.connect(named(three))

    with pytest.raises(StoreUnavailable, match=r"2 of the 3 nodes .*node2\.test.* not known"):
        world.do(lambda: client.lock("name").acquire(timeout=0))


def test_waiter_is_not_held_up_by_a_lookup(
    world: World, names: Names, three: RedlockServers
) -> None:
    """It listens to a node by a connection of its own."""
    holder, client = world.connect(three.url()), world.connect(named(three))
    world.do(world.do(client.lock("other").acquire).release)
    hold = world.do(holder.lock("name").acquire)
    names.slow |= {"node0.test", "node1.test", "node2.test"}
    began = time.monotonic()

    with pytest.raises(AcquireTimeout):
        world.do(lambda: client.lock("name").acquire(timeout=0.5))

    assert time.monotonic() - began < 2
    world.do(hold.release)


def test_node_whose_lookup_hangs_is_asked_where_it_was(
    names: Names, three: RedlockServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In threads: what redis-py opens for a task looks the name up itself."""
    monkeypatch.setattr(lookups, "FOUND", 0.0)
    with interlock.connect(f"{named(three)}&connect_timeout=0.2s") as client:
        client.lock("name").acquire().release()
        three.clients[1].client_kill_filter(_type="normal")
        names.slow.add("node1.test")

        def is_asked() -> bool:
            client.lock("other").acquire().release()
            return "tomb" in str(three.clients[1].keys("*other*"))

        eventually(is_asked)


def test_lookup_that_hangs_is_not_begun_again(
    world: World, names: Names, three: RedlockServers
) -> None:
    names.slow.add("node1.test")
    client = world.connect(f"{named(three)}&connect_timeout=0.05s")

    for _ in range(10):
        world.do(world.do(client.lock("name").acquire).release)
        time.sleep(0.02)  # until connecting has been given up, and begins anew

    assert names.hanging == 1
