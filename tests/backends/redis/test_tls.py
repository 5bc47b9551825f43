"""TLS: verified by default, and nothing in a URL can change that."""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock import StoreMisconfigured
from interlock.testing.servers import RedisServer, free_port

from .worlds import World, check_works

pytestmark = pytest.mark.server


class Authority:
    """A certificate authority of our own, in a temporary folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        self.ca = folder / f"{name}.pem"
        self._openssl(
            *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
            *("-keyout", f"{name}.key", "-out", f"{name}.pem", "-days", "2"),
            *("-subj", f"/CN={name}", "-addext", "basicConstraints=critical,CA:TRUE"),
        )

    def issue(self, name: str, alternatives: str) -> tuple[Path, Path]:
        """A certificate for these host names and addresses, and its key."""
        (self._folder / f"{name}.ext").write_text(f"subjectAltName={alternatives}\n")
        self._openssl(
            *("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
            *("-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}"),
        )
        self._openssl(
            *("x509", "-req", "-in", f"{name}.csr", "-CA", self.ca.name, "-days", "2"),
            *("-CAkey", f"{self._name}.key", "-CAcreateserial", "-extfile", f"{name}.ext"),
            *("-out", f"{name}.pem"),
        )
        return self._folder / f"{name}.pem", self._folder / f"{name}.key"

    def _openssl(self, *words: str) -> None:
        command = ["openssl", *words]
        subprocess.run(command, cwd=self._folder, check=True, capture_output=True, timeout=20)


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
