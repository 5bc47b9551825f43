"""A cluster with TLS: every node is verified, by the name or address that it is announced by."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interlock import StoreMisconfigured
from tests.support.clusters import RedisCluster, TlsClusterServer
from tests.support.eventually import eventually
from tests.support.tls import Authority

from ...support.worlds import World, check_works
from .test_borrowed import CLUSTERS, lent
from .test_cluster import NAMES
from .test_sentinel_failover import renew_now

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"), "trusted")


def protected(authority: Authority, certificate: tuple[Path, Path], *options: str) -> RedisCluster:
    """Three primaries and their replicas that have this certificate."""
    return RedisCluster(
        *("--tls-ca-cert-file", str(authority.ca)),
        *("--tls-cert-file", str(certificate[0]), "--tls-key-file", str(certificate[1])),
        *options,
        kind=TlsClusterServer,
    )


@pytest.fixture(scope="module")
def by_address(authority: Authority) -> Iterator[RedisCluster]:
    """Nodes that are announced by their address, for which they have a certificate."""
    with protected(authority, authority.issue("address", "IP:127.0.0.1")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def by_name(authority: Authority) -> Iterator[RedisCluster]:
    """Nodes that are announced by a name, and have a certificate for that alone."""
    announced = (
        *("--cluster-announce-hostname", "localhost"),
        *("--cluster-preferred-endpoint-type", "hostname"),
    )
    with protected(authority, authority.issue("name", "DNS:localhost"), *announced) as cluster:
        hosts = [place[0] for _, _, place, *_ in cluster.nodes[0].ask("CLUSTER SLOTS")]
        assert hosts == [b"localhost"] * 3
        yield cluster


def url_of(cluster: RedisCluster, host: str, authority: Authority) -> str:
    seeds = ",".join(f"{host}:{node.port}" for node in cluster.nodes[:2])
    return f"rediss+cluster://{seeds}?ca_certs={authority.ca}"


@pytest.mark.parametrize("protocol", [2, 3])
def test_nodes_that_are_announced_by_address(
    world: World, by_address: RedisCluster, authority: Authority, protocol: int
) -> None:
    by_address.flush()
    url = f"{url_of(by_address, '127.0.0.1', authority)}&protocol={protocol}"
    check_works(world, lambda: world.connect(url))
    check_on_every_node(world, by_address, world.connect(url))


def check_on_every_node(world: World, cluster: RedisCluster, client: Any) -> None:
    holds = [world.do(client.lock(name, lease=30).acquire) for name in NAMES]
    assert {cluster.primary_of(name).number for name in NAMES} == {0, 1, 2}
    ends = [hold._lease.until for hold in holds]
    renew_now(world, client)
    assert eventually(lambda: all(h._lease.until > e for h, e in zip(holds, ends, strict=True)))
    for hold in holds:
        world.do(hold.release)


def test_nodes_that_are_announced_by_name(
    world: World, by_name: RedisCluster, authority: Authority
) -> None:
    by_name.flush()
    url = url_of(by_name, "localhost", authority)
    check_works(world, lambda: world.connect(url))
    check_on_every_node(world, by_name, world.connect(url))


def test_a_slot_that_moves_is_followed_by_name(
    world: World, by_name: RedisCluster, authority: Authority
) -> None:
    client = world.connect(url_of(by_name, "localhost", authority))
    world.do(world.do(client.lock("moves").acquire).release)
    target = by_name.move_slot(by_name.nodes[0].ask("CLUSTER KEYSLOT", "moves"))

    hold = world.do(lambda: client.lock("moves").acquire(timeout=5))
    assert target.ask("EXISTS", "moves")
    world.do(hold.release)


def test_nodes_that_are_announced_by_what_their_certificate_does_not_say_are_refused(
    world: World, authority: Authority
) -> None:
    with protected(authority, authority.issue("other", "DNS:localhost")) as cluster:
        client = world.connect(url_of(cluster, "localhost", authority))
        with pytest.raises(
            StoreMisconfigured, match=r"of node 127\.0\.0\.1:.* not trusted: IP addr"
        ):
            world.do(client.lock("k").acquire)


def test_a_cluster_of_an_unknown_authority_is_refused(
    world: World, by_address: RedisCluster, tmp_path: Path
) -> None:
    stranger = Authority(tmp_path, "stranger")
    client = world.connect(url_of(by_address, "127.0.0.1", stranger))

    with pytest.raises(StoreMisconfigured, match="not trusted"):
        world.do(client.lock("k").acquire)


def test_a_cluster_that_is_not_verified_by_choice(world: World, by_address: RedisCluster) -> None:
    url = f"rediss+cluster://localhost:{by_address.nodes[0].port}"

    world.do(world.do(world.connect(url, insecure_tls=True).lock("k").acquire).release)


@pytest.mark.parametrize("library", sorted(CLUSTERS))
def test_a_client_brings_its_certificates_along(
    world: World, by_address: RedisCluster, authority: Authority, library: str
) -> None:
    kind, port = CLUSTERS[library][world.name], by_address.nodes[0].port
    by_address.flush()

    def make() -> Any:
        return kind(host="127.0.0.1", port=port, ssl=True, ssl_ca_certs=str(authority.ca))

    with lent(world, make) as theirs:
        check_works(world, lambda: world.connect(theirs))
