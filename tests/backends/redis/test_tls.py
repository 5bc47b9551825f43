"""TLS: verified by default, and nothing in a URL can change that."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock import InterlockError, StoreMisconfigured
from tests.support.faults import FaultProxy
from tests.support.sentinels import SERVICE, SentinelServer
from tests.support.servers import RedisServer, free_port

from ...support.tls import Authority
from ...support.worlds import World, check_works

pytestmark = pytest.mark.server


class TlsServer(RedisServer):
    """A server with a TLS port beside the plain one."""

    def __init__(self, authority: Authority, certificate: tuple[Path, Path], clients: str) -> None:
        self.tls_port = free_port()
        super().__init__(
            *("--tls-port", str(self.tls_port), "--tls-auth-clients", clients),
            *("--tls-ca-cert-file", str(authority.ca)),
            *("--tls-cert-file", str(certificate[0]), "--tls-key-file", str(certificate[1])),
        )

    @property
    def url(self) -> str:
        return f"rediss://127.0.0.1:{self.tls_port}"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"), "trusted")


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"), "stranger")


@pytest.fixture(scope="module")
def server(authority: Authority) -> Iterator[TlsServer]:
    certificate = authority.issue("server", "IP:127.0.0.1,DNS:localhost")
    server = TlsServer(authority, certificate, "no")
    with server:
        yield server


@pytest.mark.parametrize("protocol", [2, 3])
def test_trusted_server_is_used(
    world: World, server: TlsServer, authority: Authority, protocol: int
) -> None:
    url = f"{server.url}?ca_certs={authority.ca}&protocol={protocol}"
    check_works(world, lambda: world.connect(url))


def test_server_of_an_unknown_authority_is_refused(world: World, server: TlsServer) -> None:
    """The default is the system's list of authorities, and ours is not on it."""
    with pytest.raises(StoreMisconfigured, match="not trusted"):
        world.do(world.connect(server.url).lock("k").acquire)


def test_server_of_the_wrong_authority_is_refused(
    world: World, server: TlsServer, stranger: Authority
) -> None:
    client = world.connect(f"{server.url}?ca_certs={stranger.ca}")
    with pytest.raises(StoreMisconfigured, match="not trusted"):
        world.do(client.lock("k").acquire)


def test_server_of_another_name_is_refused(world: World, authority: Authority) -> None:
    certificate = authority.issue("elsewhere", "DNS:elsewhere.example")
    with TlsServer(authority, certificate, "no") as server:
        client = world.connect(f"{server.url}?ca_certs={authority.ca}")
        with pytest.raises(StoreMisconfigured, match=r"not trusted.*127\.0\.0\.1"):
            world.do(client.lock("k").acquire)


def test_verification_is_switched_off_in_code_only_and_aloud(
    world: World, server: TlsServer, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "interlock"):
        check_works(world, lambda: world.connect(server.url, insecure_tls=True))
    assert any("not verified" in each.message for each in caplog.records)


def test_client_certificate_is_shown(world: World, authority: Authority) -> None:
    certificate = authority.issue("mutual", "IP:127.0.0.1")
    mine, key = authority.issue("client", "DNS:client")
    with TlsServer(authority, certificate, "yes") as server:
        url = f"{server.url}?ca_certs={authority.ca}&certfile={mine}&keyfile={key}"
        check_works(world, lambda: world.connect(url))


@pytest.fixture
def proxy(server: TlsServer) -> Iterator[FaultProxy]:
    with FaultProxy(server.tls_port) as proxy:
        yield proxy


@pytest.mark.parametrize("state", ["open", "new"])
def test_an_acquire_and_the_end_come_in_time_though_every_byte_is_late(
    proxy: FaultProxy, world: World, authority: Authority, state: str
) -> None:
    """Also the bytes of the TLS handshake."""
    client = world.connect(f"rediss://127.0.0.1:{proxy.port}?ca_certs={authority.ca}")
    if state == "open":
        world.do(world.do(client.lock("k").acquire).release)
    proxy.drip(0.1)
    began = time.monotonic()
    with pytest.raises(InterlockError):
        world.do(lambda: client.lock("k").acquire(timeout=0.5))
    assert time.monotonic() - began < 2.5
    began = time.monotonic()
    world.close_client(client)
    assert time.monotonic() - began < 2.5


# --- by way of a Sentinel ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sentinel(authority: Authority, server: TlsServer) -> Iterator[str]:
    """The URL of a server whose Sentinel speaks TLS with it, and with clients."""
    certificate, key = authority.issue("sentinel", "IP:127.0.0.1,DNS:localhost")
    port = free_port()
    settings = (
        f"tls-port {port}\ntls-auth-clients no\ntls-replication yes\n"
        f"tls-ca-cert-file {authority.ca}\ntls-cert-file {certificate}\ntls-key-file {key}\n"
        f"sentinel monitor {SERVICE} 127.0.0.1 {server.tls_port} 1\n"
    )
    with SentinelServer(settings):
        yield f"rediss+sentinel://127.0.0.1:{port}/{SERVICE}"


def test_trusted_sentinel_and_its_server_are_used(
    world: World, sentinel: str, authority: Authority
) -> None:
    check_works(world, lambda: world.connect(f"{sentinel}?ca_certs={authority.ca}"))
    check_works(world, lambda: world.connect(sentinel, insecure_tls=True))


def test_untrusted_sentinel_is_named(world: World, sentinel: str, stranger: Authority) -> None:
    client = world.connect(f"{sentinel}?ca_certs={stranger.ca}")
    with pytest.raises(StoreMisconfigured, match=r"certificate of Sentinel 127.0.0.1:\d+ is not"):
        world.do(client.lock("k").acquire)
