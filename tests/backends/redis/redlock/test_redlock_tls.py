"""Redlock over TLS and over unix sockets, in both worlds; and a majority of such servers."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import interlock
from interlock import StoreMisconfigured, aio
from interlock.backends.redis.transport.openings import end_socket
from tests.support.servers import RedisServer, free_port

from ....support.tls import Authority
from ....support.worlds import World, check_works

pytestmark = pytest.mark.server


class Servers:
    """Three servers that speak TLS, and listen on a socket of this machine as well."""

    def __init__(self, folder: Path, authority: Authority) -> None:
        certificate, key = authority.issue("server", "IP:127.0.0.1,DNS:localhost")
        self.ports = [free_port() for _ in range(3)]
        self.paths = [folder / f"{each}.sock" for each in range(3)]
        self.ca = authority.ca
        self.servers = [
            RedisServer(
                *("--tls-port", str(port), "--tls-auth-clients", "no", "--unixsocket", str(path)),
                *("--tls-ca-cert-file", str(authority.ca), "--requirepass", "secret"),
                *("--tls-cert-file", str(certificate), "--tls-key-file", str(key)),
            )
            for port, path in zip(self.ports, self.paths, strict=True)
        ]

    def tls(self, password: str = "secret", query: str = "") -> str:
        places = ",".join(f"127.0.0.1:{port}" for port in self.ports)
        return f"redlocks://:{password}@{places}?restart_guard=off{query}"

    def trusted(self) -> str:
        return self.tls(query=f"&ca_certs={self.ca}")

    def unix(self) -> str:
        return f"redlock+unix://:secret@{','.join(map(str, self.paths))}?restart_guard=off"

    def single(self) -> list[str]:
        """The servers by themselves: two over TLS, one by its socket."""
        over_tls = [
            f"rediss://:secret@127.0.0.1:{port}?ca_certs={self.ca}" for port in self.ports[:2]
        ]
        return [*over_tls, f"unix://:secret@{self.paths[2]}"]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    folder = tmp_path_factory.mktemp("redlock")
    several = Servers(folder, Authority(folder, "trusted"))
    with ExitStack() as stack:
        for server in several.servers:
            stack.enter_context(server)
        yield several


@pytest.mark.parametrize("way", ["trusted", "unix"])
def test_nodes_vote(world: World, servers: Servers, way: str) -> None:
    url = getattr(servers, way)()

    check_works(world, lambda: world.connect(url))
    assert "secret" not in repr(world.connect(url))


@pytest.mark.parametrize("way", ["trusted", "unix"])
def test_node_that_hangs_holds_up_none(world: World, servers: Servers, way: str) -> None:
    url = getattr(servers, way)()
    servers.servers[1].pause()
    try:
        check_works(world, lambda: world.connect(url))
    finally:
        servers.servers[1].resume()


def test_socket_that_another_thread_ends_keeps_tls(servers: Servers) -> None:
    """Else what its user sends in that moment could be read on the way."""
    context = ssl.create_default_context(cafile=str(servers.ca))
    with (
        socket.create_connection(("127.0.0.1", servers.ports[0])) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as sock,
    ):
        end_socket(sock)

        assert sock.version() is not None
        assert sock.recv(1) == b""


def test_certificates_are_verified(world: World, servers: Servers) -> None:
    client = world.connect(servers.tls())

    with pytest.raises(StoreMisconfigured, match=r"certificate of rediss://127\.0\.0\.1"):
        world.do(client.lock("x", timeout=2).acquire)


def test_program_may_do_without_verification(
    world: World, servers: Servers, caplog: pytest.LogCaptureFixture
) -> None:
    check_works(world, lambda: world.connect(servers.tls(), insecure_tls=True))

    assert "are not verified" in caplog.text


def test_wrong_password_is_told(world: World, servers: Servers) -> None:
    client = world.connect(servers.tls(password="wrong", query=f"&ca_certs={servers.ca}"))

    with pytest.raises(StoreMisconfigured, match="user name or password"):
        world.do(client.lock("x", timeout=2).acquire)


def test_majority_of_them_is_taken_at_once(world: World, servers: Servers) -> None:
    make: Any = interlock.majority_of if world.name == "threads" else aio.majority_of
    several = [world.connect(url) for url in servers.single()]
    locks = make(*(client.lock("job") for client in several), timeout=5)
    servers.servers[0].pause()
    try:
        block = world.hold_block(locks)
        assert len(block.entered.result(10).holds) == 2
        block.leave()
        block.outcome.result(10)
    finally:
        servers.servers[0].resume()
