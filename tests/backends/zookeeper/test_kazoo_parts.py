"""Which private parts of kazoo we use, whether this kazoo has them, and what happens without.

Run against the oldest and the newest kazoo in range: `make ranges`.
"""

from __future__ import annotations

import ast
import functools
import logging
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol import serialization
from kazoo.protocol.connection import ConnectionHandler

import interlock
from interlock import Unsupported
from interlock.backends.zookeeper.transport import client_thread, handler
from interlock.backends.zookeeper.transport.kazoo_private import (
    BASICS,
    BATCHING,
    REPLACED,
    BatchingConnection,
    changed_parts,
)
from tests.support.frames import ZkProxy
from tests.support.zookeepers import ZooKeeperServer

from ...support.worlds import World
from .scenes import Waiter, cut_off, eventually, kazoo_of, queue, transport_of

SOURCE = Path(client_thread.__file__).parent.parent

#: The file that may know kazoo's inside.
PRIVATE = "kazoo_private.py"


# --- this kazoo --------------------------------------------------------------------------------


@pytest.mark.parametrize("part", [*BASICS, *BATCHING])
def test_kazoo_has_the_part_as_we_expect_it(part: str) -> None:
    """If this fails, kazoo has changed: look at what `kazoo_private` does with the part."""
    assert changed_parts(KazooClient(), {part: {**BASICS, **BATCHING}[part]}) == []


def test_every_method_that_we_replace_is_looked_at() -> None:
    ours = {*vars(BatchingConnection)} - {"__init__", "__module__", "__doc__"}

    assert {name for name in ours if hasattr(ConnectionHandler, name)} == {*REPLACED}


def others() -> list[Path]:
    """Our files that use kazoo in public only."""
    return [path for path in SOURCE.rglob("*.py") if path.name != PRIVATE]


@pytest.mark.parametrize("path", others(), ids=lambda path: path.stem)
def test_no_other_file_uses_a_private_part(path: Path) -> None:
    tree = ast.parse(path.read_text())
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    of_others = [each.attr for each in attributes if not is_own(each)]

    assert [name for name in of_others if name in kazoos_private()] == []
    assert not {each.module for each in imports} & {
        "kazoo.protocol",
        "kazoo.protocol.connection",
        "kazoo.protocol.serialization",
    }


def is_own(attribute: ast.Attribute) -> bool:
    return isinstance(attribute.value, ast.Name) and attribute.value.id in ("self", "cls")


@functools.cache
def kazoos_private() -> set[str]:
    """The names that kazoo's objects keep to themselves."""
    client: Any = KazooClient()
    parts = (client, client._connection, SequentialThreadingHandler())
    return {name for part in parts for name in private_names(part)}


def private_names(thing: object) -> set[str]:
    return {name for name in dir(thing) if name.startswith("_") and not name.startswith("__")}


def test_handler_uses_nothing_private_of_the_one_that_it_extends() -> None:
    tree = ast.parse(Path(handler.__file__).read_text())
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}

    assert not used & private_names(SequentialThreadingHandler())


# --- another kazoo -----------------------------------------------------------------------------


class OtherQueue(deque[Any]):
    """A queue of another type."""


def hide(part: str, patch: pytest.MonkeyPatch) -> None:
    """Let a part be missing, or of another shape, as in another version; kazoo itself works on."""
    owner, _, name = part.partition(".")
    if owner == "serialization":
        patch.delattr(serialization, name)
    elif owner == "ConnectionHandler":
        patch.setattr(ConnectionHandler, name, with_other_parameters(ConnectionHandler, name))
    else:
        change_attribute(name, patch)


def with_other_parameters(owner: Any, name: str) -> Any:
    method = getattr(owner, name)

    def other(self: Any, *facts: Any, **options: Any) -> Any:
        return method(self, *facts, **options)

    return other


def change_attribute(name: str, patch: pytest.MonkeyPatch) -> None:
    """What a client has from its beginning, it has in another form."""
    make = KazooClient.__init__

    @functools.wraps(make)
    def other(self: Any, *facts: Any, **options: Any) -> None:
        make(self, *facts, **options)
        if name == "_connection":
            self._connection.__class__ = type("Other", (ConnectionHandler,), {})
        else:
            setattr(self, name, OtherQueue())

    patch.setattr(KazooClient, "__init__", other)


#: `_stopped` cannot be hidden: kazoo itself needs it as it is.
HIDEABLE = [part for part in BATCHING if part != "KazooClient._stopped"]


@pytest.fixture(autouse=True)
def said_again() -> None:
    client_thread._say_slower.cache_clear()


@pytest.fixture
def other_kazoo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    hide("ConnectionHandler._send_request", monkeypatch)
    yield


@pytest.mark.server
@pytest.mark.parametrize("part", HIDEABLE)
def test_without_a_part_the_loop_is_kazoos_own(
    world: World,
    zk_url: str,
    part: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    hide(part, monkeypatch)
    with caplog.at_level(logging.INFO, logger="interlock.zookeeper"):
        for _ in range(2):
            client = world.connect(zk_url)
            world.do(world.do(client.lock("k").acquire).release)
            assert not isinstance(kazoo_of(client)._connection, BatchingConnection)
            world.close_client(client)

    (line,) = [each for each in caplog.records if each.name == "interlock.zookeeper"]
    assert part in line.getMessage()
    assert "kazoo's own loop" in line.getMessage()


@pytest.mark.server
def test_with_every_part_the_loop_batches(
    world: World, zk_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="interlock.zookeeper"):
        client = world.connect(zk_url)
        world.do(world.do(client.lock("k").acquire).release)

    assert isinstance(kazoo_of(client)._connection, BatchingConnection)
    assert [each for each in caplog.records if each.name == "interlock.zookeeper"] == []


def test_without_what_both_loops_need_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    other = with_other_parameters(KazooClient, "_call")
    monkeypatch.setattr(KazooClient, "_call", other)

    with (
        interlock.connect("zk://127.0.0.1:1") as client,
        pytest.raises(Unsupported, match=r"KazooClient\._call.*install another version"),
    ):
        client.lock("k").acquire(timeout=0)


# --- what kazoo's own loop is good for ---------------------------------------------------------


@pytest.mark.server
@pytest.mark.usefixtures("other_kazoo")
class TestKazoosOwnLoop:
    def test_release_wakes_a_waiter(self, world: World, zk_url: str, peek: Any) -> None:
        client = world.connect(zk_url)
        hold = world.do(client.lock("k").acquire)
        waiter = Waiter(world, zk_url)

        world.do(hold.release)

        assert waiter.hold().token > hold.token
        waiter.leave()
        eventually(lambda: queue(peek) == [], "a node was left")

    def test_every_primitive_works(self, world: World, zk_url: str) -> None:
        client = world.connect(zk_url)
        for each in (
            client.mutex("m"),
            client.fair_lock("f"),
            client.rwlock("r").write(),
            client.rwlock("r").read(),
            client.semaphore("s", permits=2),
        ):
            world.do(world.do(each.acquire).release)

    def test_session_has_the_length_that_the_servers_say(
        self, world: World, zk_url: str, zookeeper: ZooKeeperServer
    ) -> None:
        client = world.connect(f"{zk_url}?session_timeout=100000")
        world.do(world.do(client.lock("k").acquire).release)

        session = kazoo_of(client).client_id[0]
        connections = zookeeper.ask("cons").splitlines()
        (ours,) = [line for line in connections if f"sid=0x{session:x}," in line]
        length = transport_of(client).clock.session_timeout
        assert f",to={length * 1000:.0f}," in ours
        assert length < 100_000

    def test_cut_is_survived_in_the_same_session(
        self, world: World, zk_proxy: ZkProxy, zk_path: str
    ) -> None:
        client = world.connect(zk_proxy.url(zk_path))
        hold = world.do(client.lock("k").acquire)
        session = kazoo_of(client).client_id

        cut_off(zk_proxy, client)
        zk_proxy.refuse(False)
        eventually(lambda: kazoo_of(client).connected, "it does not come back")

        assert kazoo_of(client).client_id == session
        world.do(hold.release)

    def test_close_ends_the_session_and_every_thread(
        self, world: World, zk_url: str, zookeeper: ZooKeeperServer
    ) -> None:
        client = world.connect(zk_url)
        world.do(client.lock("k").acquire)
        session = f"0x{kazoo_of(client).client_id[0]:x}"
        thread = transport_of(client)._thread

        world.close_client(client)

        assert thread.gone.wait(5)
        eventually(lambda: session not in zookeeper.ask("dump"), "the session goes on")
        assert not any(each.is_alive() for each in thread.client.handler.threads)
