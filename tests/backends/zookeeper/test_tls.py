"""TLS: verified by default, and nothing in a URL can change that."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock import StoreMisconfigured, StoreUnavailable
from tests.support.servers import free_port
from tests.support.zookeepers import ZooKeeperServer

from ...support.tls import Authority
from ...support.worlds import World, check_works

pytestmark = pytest.mark.server

#: What the server needs for TLS and its own jar does not ask for.
JARS = tuple(f"/usr/share/java/{jar}.jar" for jar in ("netty-codec", "netty-resolver"))


class TlsServer(ZooKeeperServer):
    """A server with a TLS port beside the plain one."""

    def __init__(self, authority: Authority, certificate: tuple[Path, Path], clients: str) -> None:
        self.tls_port = free_port()
        both = certificate[0].with_suffix(".both.pem")
        both.write_text(certificate[1].read_text() + certificate[0].read_text())
        settings = {
            "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
            "secureClientPort": self.tls_port,
            "secureClientPortAddress": "127.0.0.1",
            "ssl.clientAuth": clients,
            "ssl.keyStore.location": both,
            "ssl.keyStore.type": "PEM",
            "ssl.trustStore.location": authority.ca,
            "ssl.trustStore.type": "PEM",
        }
        super().__init__(settings=settings)

    def _command_line(self) -> list[str]:
        command = super()._command_line()
        classes = command.index("-cp") + 1
        command[classes] = ":".join((command[classes], *JARS))
        return command

    def secure(self, path: str, host: str = "127.0.0.1") -> str:
        return f"zks://{host}:{self.tls_port}{path}"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"), "trusted")


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"), "stranger")


@pytest.fixture(scope="module")
def server(authority: Authority) -> Iterator[TlsServer]:
    certificate = authority.issue("server", "IP:127.0.0.1,DNS:localhost")
    with TlsServer(authority, certificate, "none") as server:
        yield server


@pytest.fixture(scope="module")
def elsewhere(authority: Authority) -> Iterator[TlsServer]:
    """A server that shows the certificate of another host, and wants to see one."""
    certificate = authority.issue("elsewhere", "DNS:elsewhere.example")
    with TlsServer(authority, certificate, "need") as server:
        yield server


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_trusted_server_is_used(
    world: World, server: TlsServer, authority: Authority, zk_path: str, host: str
) -> None:
    url = f"{server.secure(zk_path, host)}?ca_certs={authority.ca}"
    check_works(world, lambda: world.connect(url))


def test_password_goes_with_it(
    world: World, server: TlsServer, authority: Authority, zk_path: str
) -> None:
    url = f"{server.secure(zk_path)}?ca_certs={authority.ca}".replace("://", "://user:pw@")
    check_works(world, lambda: world.connect(url))
    with pytest.raises(StoreMisconfigured, match="denies this client"):
        world.do(world.connect(server.url(zk_path)).lock("k").acquire)


def test_server_of_an_unknown_authority_is_refused(
    world: World, server: TlsServer, zk_path: str
) -> None:
    """The default is the system's list of authorities, and ours is not on it."""
    client = world.connect(server.secure(zk_path))
    for _ in range(2):
        with pytest.raises(StoreMisconfigured, match="not trusted"):
            world.do(client.lock("k").acquire)


def test_server_of_the_wrong_authority_is_refused(
    world: World, server: TlsServer, stranger: Authority, zk_path: str
) -> None:
    client = world.connect(f"{server.secure(zk_path)}?ca_certs={stranger.ca}")
    with pytest.raises(StoreMisconfigured, match="not trusted"):
        world.do(client.lock("k").acquire)


def test_server_of_another_name_is_refused(
    world: World, elsewhere: TlsServer, authority: Authority, zk_path: str
) -> None:
    client = world.connect(f"{elsewhere.secure(zk_path)}?ca_certs={authority.ca}")
    with pytest.raises(StoreMisconfigured, match=r"not trusted.*127\.0\.0\.1"):
        world.do(client.lock("k").acquire)


def test_server_that_is_not_trusted_is_passed_over(
    world: World, server: TlsServer, elsewhere: TlsServer, authority: Authority, zk_path: str
) -> None:
    hosts = f"127.0.0.1:{elsewhere.tls_port},127.0.0.1:{server.tls_port}"
    url = f"zks://{hosts}{zk_path}?ca_certs={authority.ca}"
    check_works(world, lambda: world.connect(url))


def test_file_that_is_missing_is_told(world: World, server: TlsServer, zk_path: str) -> None:
    client = world.connect(f"{server.secure(zk_path)}?ca_certs=/nowhere/ca.pem")
    with pytest.raises(StoreMisconfigured, match=r"file of certificates .* cannot be read"):
        world.do(client.lock("k").acquire)


def test_server_without_tls_is_told_to_be_out_of_reach(
    world: World, server: TlsServer, authority: Authority
) -> None:
    url = f"zks://127.0.0.1:{server.port}?ca_certs={authority.ca}&connect_timeout=0.2"
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        world.do(world.connect(url).lock("k", timeout=0.5).acquire)


def test_verification_is_switched_off_in_code_only_and_aloud(
    world: World, server: TlsServer, zk_path: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "interlock"):
        check_works(world, lambda: world.connect(server.secure(zk_path), insecure_tls=True))
    assert any("not verified" in each.message for each in caplog.records)


def test_client_certificate_is_shown(
    world: World, elsewhere: TlsServer, authority: Authority, zk_path: str
) -> None:
    mine, key = authority.issue("client", "DNS:client")
    url = f"{elsewhere.secure(zk_path)}?certfile={mine}&keyfile={key}"
    check_works(world, lambda: world.connect(url, insecure_tls=True, acl="creator"))


def test_server_that_wants_a_certificate_is_out_of_reach_without_one(
    world: World, elsewhere: TlsServer, zk_path: str
) -> None:
    url = f"{elsewhere.secure(zk_path)}?connect_timeout=0.5"
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        world.do(world.connect(url, insecure_tls=True).lock("k", timeout=0.5).acquire)
