"""Kazoo's loop in bulk: it does what kazoo's own does, with fewer turns."""

from __future__ import annotations

import inspect
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionClosedError, ConnectionLoss, SessionExpiredError
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol import serialization as protocol
from kazoo.protocol.connection import ConnectionHandler
from kazoo.protocol.states import KeeperState

from interlock.backends.zookeeper.transport.answers import SessionClock
from interlock.backends.zookeeper.transport.handler import Handler
from interlock.backends.zookeeper.transport.kazoo_private import BatchingConnection, Burst
from interlock.backends.zookeeper.transport.sockets import WakeSocket, wait_ready
from interlock.backends.zookeeper.url import ZkSettings
from tests.support.frames import ZkProxy

from .test_kazoo import ACL, PATIENCE, AnswerBox

pytestmark = pytest.mark.server

#: Methods of kazoo's that are replaced.
REPLACED = [
    name
    for name in vars(BatchingConnection)
    if name != "__init__" and hasattr(ConnectionHandler, name)
]


@pytest.fixture
def batching(zk_proxy: ZkProxy, zk_path: str) -> Iterator[Any]:
    """Kazoo with our loop, through a proxy, and a directory for it."""
    settings = ZkSettings(hosts=zk_proxy.hosts)
    client: Any = KazooClient(zk_proxy.hosts, handler=Handler(settings, lambda: None))
    client.clock = SessionClock(0.0)
    BatchingConnection(client, client.clock)
    client.start(timeout=PATIENCE)
    client.ensure_path(zk_path)
    yield client
    client.stop()
    client.close()


def burst_of(*requests: Any) -> tuple[Burst, list[AnswerBox]]:
    """Requests that travel together, and who hears the answers."""
    burst, boxes = Burst(), [AnswerBox() for _ in requests]
    burst.each.extend(zip(requests, boxes, strict=True))
    return burst, boxes


# --- what is replaced ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [each for each in REPLACED if inspect.isfunction(vars(BatchingConnection)[each])]
)
def test_whatever_we_replace_is_called_in_the_same_way(name: str) -> None:
    theirs, ours = (
        inspect.signature(getattr(each, name)) for each in (ConnectionHandler, BatchingConnection)
    )
    assert [*ours.parameters] == [*theirs.parameters]
    assert f"self.{name}" in inspect.getsource(ConnectionHandler)


@pytest.mark.parametrize(
    "name",
    [
        "create_connection",
        "create_socket_pair",
        "dispatch_callback",
        "event_object",
        "select",
        "spawn",
    ],
)
def test_handler_has_what_we_replace(name: str) -> None:
    assert name in vars(Handler)
    assert name in vars(SequentialThreadingHandler)
    assert f"handler.{name}(" in inspect.getsource(ConnectionHandler)


# --- the loop ------------------------------------------------------------------------------------


def test_session_has_the_length_that_the_servers_say(batching: Any) -> None:
    assert batching.clock.session_timeout == 10.0


def test_burst_is_one_round_trip_and_answered_in_its_order(
    batching: Any, zk_proxy: ZkProxy, zk_path: str
) -> None:
    zk_proxy.delay(up=0.01, down=0.01)
    zk_proxy.mark()
    burst, boxes = burst_of(
        protocol.Create2(f"{zk_path}/x", b"", ACL, 0),
        protocol.GetChildren(zk_path, None),
        protocol.Delete(f"{zk_path}/x", -1),
    )
    batching._call(burst, burst)

    (path, _), children, deleted = (box.get() for box in boxes)
    assert (path, children, deleted) == (f"{zk_path}/x", ["x"], True)
    assert (zk_proxy.requests, zk_proxy.round_trips()) == (["create2", "getChildren", "delete"], 1)


def test_burst_that_is_cut_fails_as_a_whole(batching: Any, zk_proxy: ZkProxy) -> None:
    zk_proxy.lose_request("sync")
    burst, boxes = burst_of(*[protocol.Sync("/")] * 3)
    batching._call(burst, burst)
    assert [type(box.get()) for box in boxes] == [ConnectionLoss] * 3


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
    burst, boxes = burst_of(*[protocol.Sync("/")] * 2)
    client._call(burst, burst)
    assert [type(box.get()) for box in boxes] == [error] * 2


def test_answers_that_arrive_together_are_all_taken(
    batching: Any, zk_proxy: ZkProxy, zk_path: str
) -> None:
    """Long ones and short ones, in one piece or in several."""
    batching.create(f"{zk_path}/x", b"x" * 300_000)
    zk_proxy.silence()
    boxes = [AnswerBox() for _ in range(9)]
    for i, box in enumerate(boxes):
        request = protocol.GetData(f"{zk_path}/x", None) if i % 3 == 1 else protocol.Sync("/")
        batching._call(request, box)
    zk_proxy.silence(False)

    for i, box in enumerate(boxes):
        answer = box.get()
        assert len(answer[0]) == 300_000 if i % 3 == 1 else answer == "/"


def test_kazoos_own_calls_work_over_our_loop(batching: Any, zk_path: str) -> None:
    batching.add_auth("digest", "joe:secret")
    batching.set(zk_path, b"x")
    made = [batching.create_async(f"{zk_path}/n", sequence=True) for _ in range(100)]
    assert len({each.get(timeout=PATIENCE) for each in made}) == 100
    transaction = batching.transaction()
    transaction.check(zk_path, 1)
    transaction.delete(f"{zk_path}/n0000000000")
    assert transaction.commit() == [True, True]


def test_one_byte_is_sent_until_the_loop_is_awake() -> None:
    reader, writer = socket.socketpair()
    with reader, writer:
        waker = WakeSocket(writer)
        for _ in range(3):
            waker.send(b"\0")
        assert reader.recv(10) == b"\0"
        waker.awake()
        waker.send(b"\0")
        assert reader.recv(10) == b"\0"


def test_sockets_that_are_ready_are_told_from_the_others() -> None:
    one, other = socket.socketpair()
    with one, other:
        assert wait_ready([one, other], [], [], 0) == ([], [], [])
        other.send(b"x")
        assert wait_ready([one, other], [], [], 5) == ([one], [], [])
        assert wait_ready([other], [one], [], None) == ([], [one], [])
        other.close()
        one.recv(1)
        assert wait_ready([one], [], [], 5) == ([one], [], [])


class Struck(Exception):
    """Stands for a Ctrl-C."""


class Deaf:
    """A socket into which the ringer is interrupted once."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.strikes: list[Callable[[], None]] = []

    def send(self, byte: bytes) -> None:
        if self.strikes:
            self.strikes.pop()()
        self.heard.append(byte)


def strike() -> None:
    raise Struck


def test_byte_whose_sender_was_interrupted_is_sent_by_the_next() -> None:
    waker = WakeSocket(socket := Deaf())
    socket.strikes.append(strike)
    with pytest.raises(Struck):
        waker.send(b"a")

    waker.send(b"b")

    assert socket.heard == [b"b"]


def test_signal_handler_that_interrupts_a_sender_sends_itself() -> None:
    """It waits for an answer, and the ringer goes on only behind it."""
    waker = WakeSocket(socket := Deaf())
    heard: list[list[bytes]] = []

    def handler() -> None:
        waker.send(b"b")
        heard.append([*socket.heard])

    socket.strikes.append(handler)
    waker.send(b"a")

    assert heard == [[b"b"]]


def test_byte_that_was_read_while_it_was_sent_is_sent_again_by_the_next() -> None:
    waker = WakeSocket(socket := Deaf())
    socket.strikes.append(waker.awake)
    waker.send(b"a")

    waker.send(b"b")

    assert socket.heard == [b"a", b"b"]


def test_what_was_queued_without_a_wake_is_sent_with_the_next_ping(
    batching: Any, zk_path: str
) -> None:
    burst, (box,) = burst_of(protocol.Exists(zk_path, None))

    batching._queue.append((burst, burst))  # and no wake

    assert box.get() is not None
