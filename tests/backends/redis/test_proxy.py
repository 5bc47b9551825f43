"""The fault proxy itself: a fault that does not happen proves nothing."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.support.faults import FaultProxy
from tests.support.servers import RedisServer

from ...support.eventually import eventually
from .watching import raw

pytestmark = pytest.mark.server


class Talk:
    """A bare connection through a proxy."""

    def __init__(self, proxy: FaultProxy) -> None:
        self._socket = socket.create_connection(("127.0.0.1", proxy.port), timeout=5)

    def say(self, line: str) -> None:
        self._socket.sendall(f"{line}\r\n".encode())

    def hear(self, within: float = 5.0) -> bytes:
        self._socket.settimeout(within)
        return self._socket.recv(4096)

    def ask(self, line: str) -> bytes:
        self.say(line)
        return self.hear()

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def talk(proxy: FaultProxy) -> Iterator[Talk]:
    talk = Talk(proxy)
    yield talk
    talk.close()


@pytest.fixture
def value(redis_server: RedisServer, redis_url: str) -> Iterator[object]:
    """Asks the server, behind the proxy's back, what is in a key."""
    with raw(redis_server.port) as client:
        yield lambda: client.get("key")


def test_everything_passes_by_default(talk: Talk, proxy: FaultProxy) -> None:
    assert talk.ask("SET key 1") == b"+OK\r\n"
    assert proxy.connections == 1


def test_lost_request_is_not_executed(talk: Talk, proxy: FaultProxy, value: object) -> None:
    proxy.lose_request(b"SET")
    with pytest.raises(ConnectionResetError):
        talk.ask("SET key 1")
    assert callable(value) and value() is None
    assert proxy.fired == 1


def test_lost_reply_is_executed(talk: Talk, proxy: FaultProxy, value: object) -> None:
    proxy.lose_reply(b"SET")
    with pytest.raises(ConnectionResetError):
        talk.ask("SET key 1")
    assert callable(value) and value() == "1"


def test_other_requests_are_spared(talk: Talk, proxy: FaultProxy) -> None:
    proxy.lose_reply(b"SET")
    assert talk.ask("PING") == b"+PONG\r\n"
    proxy.forget()
    assert talk.ask("SET key 1") == b"+OK\r\n"
    assert proxy.fired == 0


def test_reply_is_cut_in_the_middle(talk: Talk, proxy: FaultProxy) -> None:
    proxy.cut_reply(b"PING", keep=3)
    talk.say("PING")
    assert talk.hear() == b"+PO"
    assert talk.hear() == b""


def test_request_is_delivered_late_though_the_client_has_gone(
    talk: Talk, proxy: FaultProxy, value: object
) -> None:
    proxy.hold_back(b"SET", 0.2)
    talk.say("SET key 1")
    talk.close()
    assert callable(value) and value() is None
    eventually(lambda: value() == "1")


def test_delay_is_a_delay(talk: Talk, proxy: FaultProxy) -> None:
    proxy.delay(up=0.1, down=0.1)
    began = time.monotonic()
    assert talk.ask("PING") == b"+PONG\r\n"
    assert time.monotonic() - began >= 0.2


def test_black_hole_swallows_and_later_delivers(talk: Talk, proxy: FaultProxy) -> None:
    proxy.blackhole()
    talk.say("PING")
    with pytest.raises(TimeoutError):
        talk.hear(within=0.1)
    proxy.blackhole(False)
    assert talk.hear() == b"+PONG\r\n"


def test_half_open_connection_is_silent_for_ever(talk: Talk, proxy: FaultProxy) -> None:
    assert talk.ask("PING") == b"+PONG\r\n"
    proxy.half_open()
    talk.say("PING")
    with pytest.raises(TimeoutError):
        talk.hear(within=0.1)
    other = Talk(proxy)
    assert other.ask("PING") == b"+PONG\r\n"
    other.close()


def test_half_open_chooses_by_what_was_said(talk: Talk, proxy: FaultProxy) -> None:
    other = Talk(proxy)
    assert (talk.ask("PING"), other.ask("ECHO 1")) == (b"+PONG\r\n", b"$1\r\n1\r\n")
    proxy.half_open(b"ECHO")
    other.say("PING")
    with pytest.raises(TimeoutError):
        other.hear(within=0.1)
    assert talk.ask("PING") == b"+PONG\r\n"
    other.close()


def test_cut_resets_and_refuse_keeps_out(talk: Talk, proxy: FaultProxy) -> None:
    talk.ask("PING")
    proxy.refuse()
    proxy.cut()
    with pytest.raises(ConnectionResetError):
        talk.hear()
    with pytest.raises(ConnectionResetError), closing(Talk(proxy)) as refused:
        refused.hear()
    assert proxy.connections == 0


def test_replies_drip_byte_by_byte(talk: Talk, proxy: FaultProxy) -> None:
    proxy.drip(0.01)

    assert [talk.ask("PING"), *(talk.hear() for _ in range(6))] == [
        bytes([each]) for each in b"+PONG\r\n"
    ]
    proxy.drip()
    assert talk.ask("PING") == b"+PONG\r\n"
