"""A kazoo client is started and cleared away by its own loop, whoever begins or ends it."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.protocol import serialization as protocol

from interlock import StoreUnavailable
from interlock.backends.zookeeper.aio import ZkAsyncLink
from interlock.backends.zookeeper.link import ZkLink
from interlock.backends.zookeeper.transport.answers import SessionClock
from interlock.backends.zookeeper.transport.client_thread import ClientThread
from interlock.backends.zookeeper.transport.handler import Handler
from interlock.backends.zookeeper.transport.kazoo_private import BatchingConnection
from interlock.backends.zookeeper.transport.requests import Sync
from interlock.backends.zookeeper.transport.transport import Transport
from interlock.backends.zookeeper.url import ZkSettings
from interlock.drive import now
from interlock.steps import Call
from tests.support.zookeepers import ZooKeeperServer

from .bare import bare
from .scenes import SOON, eventually
from .test_kazoo import ACL, asked

pytestmark = pytest.mark.server


class NotedThread(ClientThread):
    """A client thread that notes its end."""

    def __init__(self, hosts: str) -> None:
        self.ends = 0
        client: Any = KazooClient(hosts, handler=Handler(ZkSettings(hosts=hosts), lambda: None))
        loop = BatchingConnection(client, SessionClock(10.0))
        super().__init__(client, loop, self._note)

    def _note(self) -> None:
        self.ends += 1

    def connect(self) -> None:
        self.start()
        eventually(lambda: self.client.connected, "it does not connect")


@pytest.fixture
def thread(zookeeper: ZooKeeperServer) -> Iterator[NotedThread]:
    thread = NotedThread(zookeeper.hosts)
    yield thread
    thread.request_close()
    thread.wait(SOON)


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server that lets everybody in, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def descriptors() -> set[str]:
    """What is open, by name."""
    links = [each for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]
    return {str(link.readlink()) for link in links}


@pytest.fixture(autouse=True)
def nothing_left(zookeeper: ZooKeeperServer) -> Iterator[None]:
    """Every thread and descriptor of a test is gone behind it."""
    threads, files = {*threading.enumerate()}, descriptors()
    yield
    eventually(lambda: {*threading.enumerate()} <= threads, "a thread was left")
    eventually(lambda: descriptors() <= files, "a descriptor was left")


def loops() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "zk_loop"]


# --- the end -------------------------------------------------------------------------------------


def test_farewell_is_heard_by_the_server(thread: NotedThread, zookeeper: ZooKeeperServer) -> None:
    thread.connect()
    asked(thread.client, protocol.Create2("/leaves", b"", ACL, 1))

    thread.request_close()

    assert thread.gone.wait(SOON)
    assert thread.client._connection._write_sock is None
    with bare(zookeeper.hosts) as peek:
        assert peek.exists("/leaves") is None
    eventually(lambda: thread.ends == 1, "the end was not told")


def test_life_that_nobody_waits_for_ends_all_the_same(thread: NotedThread) -> None:
    thread.connect()

    thread.request_close()

    eventually(lambda: not loops(), "it lives on")


def test_life_that_is_ended_twice_ends_once(thread: NotedThread) -> None:
    thread.connect()

    thread.request_close()
    thread.request_close()
    thread.wait(SOON)

    eventually(lambda: thread.ends, "the end was not told")
    assert thread.ends == 1


@pytest.mark.parametrize("wait", [0.0, SOON])
def test_life_without_an_answer_ends_when_it_is_broken_off(silent: str, wait: float) -> None:
    thread = NotedThread(silent)
    thread.start()
    eventually(lambda: thread.client._connection._socket, "it does not connect")

    thread.request_close()
    thread.wait(wait)

    assert thread.gone.wait(SOON)


def within(thread: ClientThread, action: Callable[[], None]) -> None:
    """Do something in kazoo's loop, as a finalizer would that strikes there."""
    done = threading.Event()

    class Struck:
        def set(self, value: Any) -> None:
            action()
            done.set()

        set_exception = set

    thread.client._queue.append((protocol.Sync("/"), Struck()))
    thread.client._connection._wake()
    assert done.wait(5), "it waits for itself"


def test_life_can_be_ended_in_its_own_thread(thread: NotedThread) -> None:
    thread.connect()

    def end() -> None:
        thread.request_close()
        thread.wait(60)

    within(thread, end)

    assert thread.gone.wait(SOON)


def test_life_can_be_ended_by_whoever_it_tells_something(thread: NotedThread) -> None:
    thread.connect()

    def end() -> None:
        thread.request_close()
        thread.wait(60)

    thread.client.handler.tell(end)

    assert thread.gone.wait(5)


# --- the beginning -------------------------------------------------------------------------------


def test_life_that_is_started_twice_is_one(thread: NotedThread) -> None:
    """As by a signal handler that strikes in the first."""
    thread.start()
    thread._started = False
    thread.connect()

    eventually(lambda: len(loops()) == 1, "there are several")


def test_life_that_ends_before_it_begins_begins_nothing(thread: NotedThread) -> None:
    thread.request_close()

    assert thread.gone.is_set()
    thread.start()
    eventually(lambda: not loops(), "it lives")
    assert not thread.client.connected


def test_life_that_ends_while_it_begins_ends(thread: NotedThread) -> None:
    start = thread.client.start_async

    def start_and_end() -> None:
        thread.request_close()
        start()

    thread.client.start_async = start_and_end
    thread.start()

    assert thread.gone.wait(SOON)


def test_kazoo_that_cannot_start_is_cleared_away(thread: NotedThread) -> None:
    def start() -> None:
        raise RuntimeError("can't start new thread")

    thread.client.start_async = start
    thread.start()

    assert thread.gone.wait(SOON)
    assert thread.over


# --- links ---------------------------------------------------------------------------------------


def sync() -> Call:
    return Call(Sync("/"), (), (), now() + SOON)


def end_blocking(transport: Transport) -> Callable[[], None]:
    link = ZkLink(ZkSettings(), transport)
    link.call(sync())
    return link.close


def end_async(transport: Transport) -> Callable[[], None]:
    """The loop of the link is closed by the time that it ends."""
    link = ZkAsyncLink(ZkSettings(), transport)

    async def main() -> None:
        await link.call(sync())

    asyncio.run(main())
    return link.hang_up


@pytest.mark.parametrize("end", [end_blocking, end_async])
@pytest.mark.parametrize("where", ["here", "in another thread", "in kazoo's loop"])
def test_link_can_be_ended_by_a_finalizer_in_any_thread(
    zookeeper: ZooKeeperServer, end: Callable[[Transport], Callable[[], None]], where: str
) -> None:
    transport = Transport(ZkSettings(hosts=zookeeper.hosts))
    close = end(transport)
    thread = transport._thread
    assert thread is not None

    if where == "here":
        close()
    elif where == "in another thread":
        other = threading.Thread(target=close)
        other.start()
        other.join(5)
    else:
        within(thread, close)

    assert thread.gone.wait(5)


def test_question_in_kazoos_loop_is_refused_at_once(zookeeper: ZooKeeperServer) -> None:
    transport = Transport(ZkSettings(hosts=zookeeper.hosts))
    link, refusals = ZkLink(ZkSettings(), transport), list[str]()
    link.call(sync())
    assert transport._thread is not None

    def ask() -> None:
        with pytest.raises(StoreUnavailable) as refused:
            link.call(sync())
        refusals.append(str(refused.value))

    within(transport._thread, ask)

    assert "set a flag" in refusals[0]
    link.close()


def test_thread_that_has_the_number_of_one_that_ended_may_wait(thread: NotedThread) -> None:
    """Numbers of threads are used again, and no answer comes by this one."""
    thread.connect()
    number = thread._ident
    assert number == thread.client.handler.loop_thread

    thread.request_close()
    thread.wait(SOON)

    eventually(lambda: number not in (thread._ident, thread.client.handler.loop_thread), "kept")


def test_transport_that_is_closed_while_it_begins_ends(zookeeper: ZooKeeperServer) -> None:
    """By another thread, which finds nothing to end yet."""
    transport = Transport(ZkSettings(hosts=zookeeper.hosts))
    link, opened = ZkLink(ZkSettings(), transport), list[ClientThread]()
    open_one = transport._open

    def open_and_close() -> ClientThread:
        opened.append(open_one())
        link.close()
        return opened[0]

    transport._open = open_and_close  # type: ignore[method-assign]
    with pytest.raises(StoreUnavailable, match="closed"):
        link.call(sync())

    assert opened[0].gone.wait(SOON)


@pytest.mark.parametrize("end", [end_blocking, end_async])
def test_transport_that_was_ended_is_collected(
    zookeeper: ZooKeeperServer, end: Callable[[Transport], Callable[[], None]]
) -> None:
    transport = Transport(ZkSettings(hosts=zookeeper.hosts))
    gone = weakref.ref(transport)

    end(transport)()
    del transport

    eventually(lambda: gc.collect() >= 0 and gone() is None, "it is kept")
