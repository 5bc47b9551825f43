"""Kazoo's loop in bulk: it does what kazoo's own does, with fewer turns."""

from __future__ import annotations

import inspect
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionClosedError, ConnectionLoss, SessionExpiredError
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol import serialization as protocol
from kazoo.protocol.connection import ConnectionHandler
from kazoo.protocol.states import KeeperState

from interlock.backends.zookeeper.doors import Door
from interlock.backends.zookeeper.pulse import Pulse
from interlock.backends.zookeeper.pump import Bell, Burst, Pump, ready
from interlock.backends.zookeeper.settings import Settings
from interlock.testing.frames import ZkProxy

from .test_kazoo import ACL, PATIENCE, Ear

pytestmark = pytest.mark.server

#: Methods of kazoo's that are replaced.
REPLACED = [name for name in vars(Pump) if name != "__init__" and hasattr(ConnectionHandler, name)]


@pytest.fixture
def pumped(zk_proxy: ZkProxy, zk_path: str) -> Iterator[Any]:
    """Kazoo with our loop, through a proxy, and a directory for it."""
    settings = Settings(hosts=zk_proxy.hosts)
    client: Any = KazooClient(zk_proxy.hosts, handler=Door(settings, lambda: None))
    client.pulse = Pulse(0.0)
    client._connection = Pump(client, client.pulse)
    client.start(timeout=PATIENCE)
    client.ensure_path(zk_path)
    yield client
    client.stop()
    client.close()


def burst_of(*requests: Any) -> tuple[Burst, list[Ear]]:
    """Requests that travel together, and who hears the answers."""
    burst, ears = Burst(), [Ear() for _ in requests]
    burst.each.extend(zip(requests, ears, strict=True))
    return burst, ears


# --- what is replaced ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [each for each in REPLACED if inspect.isfunction(vars(Pump)[each])]
)
def test_whatever_we_replace_is_called_in_the_same_way(name: str) -> None:
    theirs, ours = (inspect.signature(getattr(each, name)) for each in (ConnectionHandler, Pump))
    assert [*ours.parameters] == [*theirs.parameters]
    assert f"self.{name}" in inspect.getsource(ConnectionHandler)


@pytest.mark.parametrize(
    "name", ["create_connection", "create_socket_pair", "dispatch_callback", "select"]
)
def test_handler_has_what_we_replace(name: str) -> None:
    assert name in vars(Door)
    assert name in vars(SequentialThreadingHandler)
    assert f"handler.{name}(" in inspect.getsource(ConnectionHandler)


# --- the loop ------------------------------------------------------------------------------------


def test_session_has_the_length_that_the_servers_say(pumped: Any) -> None:
    assert pumped.pulse.session_timeout == 10.0


def test_burst_is_one_round_trip_and_answered_in_its_order(
    pumped: Any, zk_proxy: ZkProxy, zk_path: str
) -> None:
    zk_proxy.delay(up=0.01, down=0.01)
    zk_proxy.mark()
    burst, ears = burst_of(
        protocol.Create2(f"{zk_path}/x", b"", ACL, 0),
        protocol.GetChildren(zk_path, None),
        protocol.Delete(f"{zk_path}/x", -1),
    )
    pumped._call(burst, burst)

    (path, _), children, deleted = (ear.get() for ear in ears)
    assert (path, children, deleted) == (f"{zk_path}/x", ["x"], True)
    assert (zk_proxy.requests, zk_proxy.round_trips()) == (["create2", "getChildren", "delete"], 1)


def test_burst_that_is_cut_fails_as_a_whole(pumped: Any, zk_proxy: ZkProxy) -> None:
    zk_proxy.lose_request("sync")
    burst, ears = burst_of(*[protocol.Sync("/")] * 3)
    pumped._call(burst, burst)
    assert [type(ear.get()) for ear in ears] == [ConnectionLoss] * 3


@pytest.mark.parametrize(
    ("state", "error"),
    [
        (KeeperState.CLOSED, ConnectionClosedError),
        (KeeperState.EXPIRED_SESSION, SessionExpiredError),
    ],
)
def test_burst_for_which_there_is_no_session_fails_as_a_whole(
    state: str, error: type[Exception]
) -> None:
    client = KazooClient("127.0.0.1:1")
    client._state = state
    burst, ears = burst_of(*[protocol.Sync("/")] * 2)
    client._call(burst, burst)
    assert [type(ear.get()) for ear in ears] == [error] * 2


def test_answers_that_arrive_together_are_all_taken(
    pumped: Any, zk_proxy: ZkProxy, zk_path: str
) -> None:
    """Long ones and short ones, in one piece or in several."""
    pumped.create(f"{zk_path}/x", b"x" * 300_000)
    zk_proxy.silence()
    ears = [Ear() for _ in range(9)]
    for i, ear in enumerate(ears):
        request = protocol.GetData(f"{zk_path}/x", None) if i % 3 == 1 else protocol.Sync("/")
        pumped._call(request, ear)
    zk_proxy.silence(False)

    for i, ear in enumerate(ears):
        answer = ear.get()
        assert len(answer[0]) == 300_000 if i % 3 == 1 else answer == "/"


def test_kazoos_own_calls_work_over_our_loop(pumped: Any, zk_path: str) -> None:
    pumped.add_auth("digest", "joe:secret")
    pumped.set(zk_path, b"x")
    made = [pumped.create_async(f"{zk_path}/n", sequence=True) for _ in range(100)]
    assert len({each.get(timeout=PATIENCE) for each in made}) == 100
    transaction = pumped.transaction()
    transaction.check(zk_path, 1)
    transaction.delete(f"{zk_path}/n0000000000")
    assert transaction.commit() == [True, True]


def test_bell_rings_once_until_somebody_is_up() -> None:
    ear, mouth = socket.socketpair()
    with ear, mouth:
        bell = Bell(mouth)
        for _ in range(3):
            bell.send(b"\0")
        assert ear.recv(10) == b"\0"
        bell.rung = False
        bell.send(b"\0")
        assert ear.recv(10) == b"\0"


def test_sockets_that_are_ready_are_told_from_the_others() -> None:
    one, other = socket.socketpair()
    with one, other:
        assert ready([one, other], [], [], 0) == ([], [], [])
        other.send(b"x")
        assert ready([one, other], [], [], 5) == ([one], [], [])
        assert ready([other], [one], [], None) == ([], [one], [])
        other.close()
        one.recv(1)
        assert ready([one], [], [], 5) == ([one], [], [])


class Struck(Exception):
    """Stands for a Ctrl-C."""


class Deaf:
    """A socket into which somebody is interrupted once."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.strikes = [Struck()]

    def send(self, byte: bytes) -> None:
        if self.strikes:
            raise self.strikes.pop()
        self.heard.append(byte)


def test_bell_that_was_interrupted_is_rung_by_the_next() -> None:
    bell = Bell(socket := Deaf())
    with pytest.raises(Struck):
        bell.send(b"a")

    bell.send(b"b")

    assert socket.heard == [b"b"]


def test_what_nobody_has_rung_for_is_sent_with_the_next_ping(pumped: Any, zk_path: str) -> None:
    burst, (ear,) = burst_of(protocol.Exists(zk_path, None))

    pumped._queue.append((burst, burst))  # and no bell

    assert ear.get() is not None
