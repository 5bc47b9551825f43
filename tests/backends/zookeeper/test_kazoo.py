"""What we rely on of kazoo's inside: each claim fails by itself if another version differs."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import (
    ConnectionClosedError,
    ConnectionLoss,
    NoNodeError,
)
from kazoo.protocol import serialization as protocol
from kazoo.protocol.states import EventType
from kazoo.security import OPEN_ACL_UNSAFE

from interlock.backends.zookeeper.transport.kazoo_private import as_kazoo
from interlock.backends.zookeeper.transport.requests import CONTAINER, Container
from tests.support.frames import ZkProxy
from tests.support.zookeepers import ZooKeeperServer

from ...support.eventually import eventually
from .bare import bare, states_of

pytestmark = pytest.mark.server

#: Longer than anything here takes, even on a busy machine.
PATIENCE = 20

ACL = list(OPEN_ACL_UNSAFE)


class AnswerBox:
    """The least that kazoo wants to put an answer into; and the thread that does it."""

    def __init__(self) -> None:
        self.heard: queue.SimpleQueue[tuple[Any, str]] = queue.SimpleQueue()

    def set(self, value: Any) -> None:
        self.heard.put((value, threading.current_thread().name))

    def set_exception(self, error: BaseException) -> None:
        self.heard.put((error, threading.current_thread().name))

    def get(self) -> Any:
        return self.heard.get(timeout=PATIENCE)[0]


def asked(client: Any, request: Any) -> Any:
    """What comes of a request that nobody but us could have made."""
    box = AnswerBox()
    client._call(request, box)
    return box.get()


@pytest.fixture
def client(zookeeper: ZooKeeperServer, zk_path: str) -> Iterator[Any]:
    """Plain kazoo, and a directory for it."""
    with bare(zookeeper.hosts) as client:
        client.ensure_path(zk_path)
        yield client


# --- asking ------------------------------------------------------------------------------------


def test_any_object_with_two_methods_hears_an_answer_in_kazoos_loop(client: Any) -> None:
    box = AnswerBox()
    client._call(protocol.Exists("/", None), box)
    stat, thread = box.heard.get(timeout=PATIENCE)
    assert stat.czxid == 0
    assert thread == client._connection._connection_routine.name


def test_refusal_is_heard_as_an_exception(client: Any, zk_path: str) -> None:
    assert isinstance(asked(client, protocol.Delete(f"{zk_path}/none", -1)), NoNodeError)


def test_nothing_can_be_asked_of_a_client_that_was_closed(zookeeper: ZooKeeperServer) -> None:
    with bare(zookeeper.hosts) as client:
        pass
    assert isinstance(asked(client, protocol.Sync("/")), ConnectionClosedError)


def test_whoever_waits_hears_of_a_cut_before_the_listeners_do(
    zk_proxy: ZkProxy, zk_path: str
) -> None:
    with bare(zk_proxy.hosts) as client:
        seen: queue.SimpleQueue[Any] = queue.SimpleQueue()
        client.add_listener(seen.put)
        box = AnswerBox()
        box.heard = seen
        zk_proxy.lose_reply("sync")
        client._call(protocol.Sync("/"), box)

        assert isinstance(seen.get(timeout=PATIENCE)[0], ConnectionLoss)
        assert seen.get(timeout=PATIENCE) == "SUSPENDED"
        assert (len(client._queue), len(client._pending)) == (0, 0)


# --- requests and what they are answered with --------------------------------------------------


def test_create2_answers_a_path_and_a_stat_with_the_session_and_the_token(
    client: Any, zk_path: str
) -> None:
    path, stat = asked(client, protocol.Create2(f"{zk_path}/x-", b"", ACL, 3))
    assert path == f"{zk_path}/x-0000000000"
    assert stat.ephemeralOwner == client._session_id
    assert stat.czxid == stat.mzxid > 0


def test_what_is_read_comes_with_its_stat(client: Any, zk_path: str) -> None:
    client.create(f"{zk_path}/x", b"hello")
    assert asked(client, protocol.GetChildren(zk_path, None)) == ["x"]
    data, stat = asked(client, protocol.GetData(f"{zk_path}/x", None))
    assert (data, stat.version, stat.ephemeralOwner) == (b"hello", 0, 0)
    assert asked(client, protocol.SetData(f"{zk_path}/x", b"bye", 0)).version == 1
    assert asked(client, protocol.Sync(zk_path)) == zk_path


def test_of_what_is_missing_exists_answers_nothing(client: Any, zk_path: str) -> None:
    assert asked(client, protocol.Exists(f"{zk_path}/none", None)) is None


def test_container_of_ours_is_answered_as_a_create_and_goes_when_it_is_empty(
    zk_proxy: ZkProxy, zk_path: str
) -> None:
    with bare(zk_proxy.hosts) as client:
        client.ensure_path(zk_path)
        zk_proxy.mark()
        path, stat = asked(client, as_kazoo(Container(f"{zk_path}/c"), ACL, None))
    assert zk_proxy.requests[:1] == ["createContainer"]
    assert (path, stat.ephemeralOwner, CONTAINER) == (f"{zk_path}/c", 0, 4)


# --- the session and its end -------------------------------------------------------------------


def test_session_is_the_one_that_owns_our_nodes(client: Any, zk_path: str) -> None:
    client.create(f"{zk_path}/x", ephemeral=True)
    assert client.exists(f"{zk_path}/x").ephemeralOwner == client._session_id
    assert client.client_id[0] == client._session_id


def test_without_a_connection_there_is_no_session() -> None:
    assert KazooClient("127.0.0.1:1")._session_id is None


# --- states and watches ------------------------------------------------------------------------


def test_cut_is_suspended_and_then_connected_in_the_same_session(zk_proxy: ZkProxy) -> None:
    with bare(zk_proxy.hosts) as client:
        client.exists("/")  # so that the listeners have heard of the connection
        session, states = client._session_id, states_of(client)
        zk_proxy.cut()
        assert [states.get(timeout=PATIENCE) for _ in "12"] == ["SUSPENDED", "CONNECTED"]
        assert client._session_id == session


def test_lost_comes_after_suspended_and_only_with_the_next_connection(
    zookeeper: ZooKeeperServer, zk_proxy: ZkProxy
) -> None:
    with bare(zk_proxy.hosts, session=1.0) as client:
        client.exists("/")
        session, states = client._session_id, states_of(client)
        zk_proxy.refuse()
        zk_proxy.cut()
        assert states.get(timeout=PATIENCE) == "SUSPENDED"
        eventually(lambda: not knows(zookeeper, session), within=PATIENCE)
        assert states.empty()
        assert client._session_id == session

        zk_proxy.refuse(False)
        assert [states.get(timeout=PATIENCE) for _ in "12"] == ["LOST", "CONNECTED"]
        assert client._session_id != session


def knows(zookeeper: ZooKeeperServer, session: int) -> bool:
    """Whether a server still keeps a session."""
    return f"0x{session:x}" in zookeeper.ask("dump")


def test_watches_are_forgotten_by_a_cut_and_say_so(zk_proxy: ZkProxy, zk_path: str) -> None:
    with bare(zk_proxy.hosts) as client:
        client.ensure_path(zk_path)
        events: queue.SimpleQueue[Any] = queue.SimpleQueue()
        asked(client, protocol.GetData(zk_path, events.put))
        zk_proxy.cut()
        event = events.get(timeout=PATIENCE)
        assert (event.type, event.path) == (EventType.NONE, None)
        assert not client._data_watchers


def test_watcher_is_kept_once_for_each_path(client: Any, zk_path: str) -> None:
    events: queue.SimpleQueue[Any] = queue.SimpleQueue()
    watcher = events.put
    for _ in range(3):
        asked(client, protocol.GetData(zk_path, watcher))
    client.set(zk_path, b"x")
    client.set(zk_path, b"y")
    assert (events.get(timeout=PATIENCE).path, len(client._data_watchers[zk_path])) == (zk_path, 0)
    client.sync(zk_path)
    assert events.empty()
