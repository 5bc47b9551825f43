"""A door remembers why it could not open a connection, for each server; no ZooKeeper is needed."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from interlock.backends.zookeeper.doors import Door
from interlock.backends.zookeeper.settings import Settings
from interlock.testing.servers import free_port

SECRET = "a-secret"


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    """Somebody who lets everybody in, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def door(**settings: object) -> Door:
    given = {"connect_timeout": 0.2, "username": "user", "password": SECRET, **settings}
    return Door(Settings(**given), lambda: None)  # type: ignore[arg-type]


def fail(closed: Door, host: str, port: int) -> None:
    with pytest.raises(OSError):
        closed.create_connection((host, port), hostname=host)


def test_door_that_nobody_has_tried_has_no_trouble() -> None:
    assert door().trouble == ""


def test_server_that_refuses_is_named() -> None:
    closed, port = door(), free_port()

    fail(closed, "127.0.0.1", port)

    assert closed.trouble == f"127.0.0.1:{port} refused the connection"


def test_server_is_named_as_it_was_given_and_not_by_its_address() -> None:
    closed, port = door(), free_port()

    with pytest.raises(ConnectionRefusedError):
        closed.create_connection(("127.0.0.1", port), hostname="localhost")

    assert closed.trouble == f"localhost:{port} refused the connection"


def test_host_that_does_not_exist_is_named() -> None:
    closed = door()

    closed.unknown("nowhere.invalid", 2181)

    assert closed.trouble == "nowhere.invalid:2181 is not the name of a host"


def test_server_that_is_silent_is_named(listening: socket.socket) -> None:
    closed, port = door(tls=True), listening.getsockname()[1]

    fail(closed, "127.0.0.1", port)

    assert closed.trouble == f"127.0.0.1:{port} did not answer in time"


def test_address_of_version_6_is_told_from_its_port() -> None:
    closed = door()

    closed.unknown("::1", 2181)

    assert closed.trouble.startswith("[::1]:2181 ")


def test_each_server_is_named_once_with_its_last_trouble() -> None:
    closed, first, second = door(), free_port(), free_port()

    closed.unknown("127.0.0.1", first)
    fail(closed, "127.0.0.1", second)
    fail(closed, "127.0.0.1", first)

    assert sorted(closed.trouble.split("; ")) == sorted(
        f"127.0.0.1:{port} refused the connection" for port in (first, second)
    )


def test_server_that_lets_us_in_is_no_trouble_any_more(listening: socket.socket) -> None:
    opened, (host, port), other = door(), listening.getsockname(), free_port()
    opened.unknown(host, port)
    fail(opened, host, other)

    opened.create_connection((host, port), hostname=host).close()

    assert opened.trouble == f"{host}:{other} refused the connection"


def test_trouble_tells_no_secrets(listening: socket.socket) -> None:
    closed = door(tls=True)

    fail(closed, "127.0.0.1", free_port())
    fail(closed, "127.0.0.1", listening.getsockname()[1])

    assert SECRET not in closed.trouble
