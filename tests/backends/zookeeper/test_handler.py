"""A handler remembers why it could not open a connection, for each server; no ZooKeeper is
needed."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from interlock.backends.zookeeper.transport.handler import Handler
from interlock.backends.zookeeper.url import ZkSettings
from tests.support.servers import free_port

SECRET = "a-secret"


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    """A server that accepts every connection, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def handler(**settings: object) -> Handler:
    given = {"connect_timeout": 0.2, "username": "user", "password": SECRET, **settings}
    return Handler(ZkSettings(**given), lambda: None)  # type: ignore[arg-type]


def fail(closed: Handler, host: str, port: int) -> None:
    with pytest.raises(OSError):
        closed.create_connection((host, port), hostname=host)


def test_handler_that_has_tried_no_server_has_no_trouble() -> None:
    assert handler().trouble == ""


def test_server_that_refuses_is_named() -> None:
    closed, port = handler(), free_port()

    fail(closed, "127.0.0.1", port)

    assert closed.trouble == f"127.0.0.1:{port} refused the connection"


def test_server_is_named_as_it_was_given_and_not_by_its_address() -> None:
    closed, port = handler(), free_port()

    with pytest.raises(ConnectionRefusedError):
        closed.create_connection(("127.0.0.1", port), hostname="localhost")

    assert closed.trouble == f"localhost:{port} refused the connection"


def test_host_that_does_not_exist_is_named() -> None:
    closed = handler()

    closed.unknown("nowhere.invalid", 2181)

    assert closed.trouble == "nowhere.invalid:2181 is not the name of a host"


def test_server_that_is_silent_is_named(listening: socket.socket) -> None:
    closed, port = handler(tls=True), listening.getsockname()[1]

    fail(closed, "127.0.0.1", port)

    assert closed.trouble == f"127.0.0.1:{port} did not answer in time"


def test_address_of_version_6_is_told_from_its_port() -> None:
    closed = handler()

    closed.unknown("::1", 2181)

    assert closed.trouble.startswith("[::1]:2181 ")


def test_each_server_is_named_once_with_its_last_trouble() -> None:
    closed, first, second = handler(), free_port(), free_port()

    closed.unknown("127.0.0.1", first)
    fail(closed, "127.0.0.1", second)
    fail(closed, "127.0.0.1", first)

    assert sorted(closed.trouble.split("; ")) == sorted(
        f"127.0.0.1:{port} refused the connection" for port in (first, second)
    )


def test_server_that_lets_us_in_is_no_trouble_any_more(listening: socket.socket) -> None:
    opened, (host, port), other = handler(), listening.getsockname(), free_port()
    opened.unknown(host, port)
    fail(opened, host, other)

    opened.create_connection((host, port), hostname=host).close()

    assert opened.trouble == f"{host}:{other} refused the connection"


def test_trouble_tells_no_secrets(listening: socket.socket) -> None:
    closed = handler(tls=True)

    fail(closed, "127.0.0.1", free_port())
    fail(closed, "127.0.0.1", listening.getsockname()[1])

    assert SECRET not in closed.trouble
