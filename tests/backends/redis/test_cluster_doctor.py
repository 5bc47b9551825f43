"""What makes locks in a cluster unsafe: each primary is looked at, and each replica."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from interlock import Finding
from interlock.backends.redis.cluster import doctor as cluster_doctor
from interlock.backends.redis.doctor import EXAMINE
from interlock.backends.redis.doctor import asked as plain
from interlock.backends.redis.scripts import remade
from interlock.steps import Call
from tests.support.clusters import ClusterServer, RedisCluster
from tests.support.faults import FaultProxy

from ...support.eventually import eventually
from ...support.worlds import World
from .test_borrowed import of_cluster

pytestmark = pytest.mark.server


def findings(world: World, url: str, code: str) -> list[Finding]:
    client = world.connect(url)
    return [each for each in world.do(client.doctor) if each.code == code]


def primary_ports(cluster: RedisCluster) -> list[int]:
    """Where the nodes are that serve slots; tests that ran before may have moved them."""
    return sorted({primary[1] for _, _, primary, *_ in cluster.nodes[0].ask("CLUSTER SLOTS")})


@contextmanager
def configured(node: ClusterServer, **settings: str) -> Iterator[None]:
    """A node with other settings for a while."""
    before = {word: node.ask("CONFIG", "GET", word) for word in settings}
    for word, value in settings.items():
        node.ask("CONFIG", "SET", word, value)
    try:
        yield
    finally:
        for word, said in before.items():
            values = said.values() if isinstance(said, dict) else said[1::2]
            node.ask("CONFIG", "SET", word, *values)


def test_each_primary_whose_replicas_confirm_nothing_is_named(
    world: World, cluster: RedisCluster, cluster_url: str
) -> None:
    primaries = {f"127.0.0.1:{port}" for port in primary_ports(cluster)}
    named = findings(world, f"{cluster_url}?replicas=0", "replicas")

    assert {word for each in named for word in primaries if word in each.node} == primaries
    assert {each.severity for each in named} == {"warning"}
    assert findings(world, cluster_url, "replicas") == []


def test_a_primary_that_evicts_is_logged_once_though_no_lock_is_there(
    world: World, cluster: RedisCluster, cluster_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    ports = primary_ports(cluster)
    node = next(
        each for each in cluster.nodes if each.port in ports and each != cluster.primary_of("a")
    )
    with configured(node, **{"maxmemory": "64mb", "maxmemory-policy": "allkeys-lfu"}):
        client = world.connect(cluster_url)
        hold = world.do(client.lock("a").acquire)
        eventually(lambda: client._session._checkup._made)
        world.do(hold.release)
    lines = [line.getMessage() for line in caplog.records if line.name == "interlock.connect"]

    assert len(lines) == 1
    assert f"127.0.0.1:{node.port}" in lines[0]


@pytest.mark.parametrize("number", range(6))
def test_a_node_that_evicts_is_named_primary_or_replica(
    world: World, cluster: RedisCluster, cluster_url: str, number: int
) -> None:
    node = cluster.nodes[number]
    with configured(node, **{"maxmemory": "64mb", "maxmemory-policy": "allkeys-lfu"}):
        # After the tests of other files the nodes may not have named all replicas again.
        (finding,) = eventually(lambda: findings(world, cluster_url, "eviction"))

    assert f"node 127.0.0.1:{node.port} of" in finding.message


def shifted(monkeypatch: pytest.MonkeyPatch, port: int, seconds: int) -> None:
    """Let the clock of one node be ahead, as far as it is asked."""
    text = EXAMINE.text.replace("time[1] *", f"(time[1] + {seconds}) *")
    assert text != EXAMINE.text
    ahead = remade(EXAMINE, text)

    def asked(until: float, node: Any = None) -> Call:
        call = plain(until, node)
        return call._replace(operation=ahead) if node.port == port else call

    monkeypatch.setattr(cluster_doctor, "asked", asked)


@pytest.mark.parametrize(
    ("seconds", "severity", "harm"),
    [
        (30, "serious", "it frees locks so much too early"),
        (-30, "warning", "tokens may be smaller"),
    ],
)
def test_a_replica_whose_clock_is_another(
    world: World,
    cluster: RedisCluster,
    cluster_url: str,
    monkeypatch: pytest.MonkeyPatch,
    seconds: int,
    severity: str,
    harm: str,
) -> None:
    ports = primary_ports(cluster)
    replica = next(node for node in cluster.nodes if node.port not in ports)
    shifted(monkeypatch, replica.port, seconds)
    (finding,) = findings(world, cluster_url, "clocks")

    assert finding.severity == severity
    assert harm in finding.message
    assert f"127.0.0.1:{replica.port}" in finding.message


def test_names_of_all_nodes_are_looked_at(
    world: World, cluster: RedisCluster, cluster_url: str
) -> None:
    client = world.connect(cluster_url)
    names = [name for each in ("a", "b", "c", "d") for name in (each, f"{{{each}}}")]
    assert len({cluster.primary_of(name) for name in names}) > 1
    holds = [world.do(client.lock(name).acquire) for name in names]
    found = findings(world, cluster_url, "names")
    for hold in holds:
        world.do(hold.release)

    assert len(found) == 4


def test_nodes_that_a_client_has_mapped_elsewhere_are_looked_at_there(
    world: World, cluster: RedisCluster, cluster_url: str
) -> None:
    primary = cluster.primary_of("a")
    replica = cluster.replica_of(primary)
    with FaultProxy(primary.port) as proxy:
        ours = ("127.0.0.1", primary.port)

        def remap(address: tuple[str, int]) -> tuple[str, int]:
            return ("127.0.0.1", proxy.port) if address == ours else address

        with of_cluster(world, "redis-py", cluster, address_remap=remap) as theirs:
            client = world.connect(theirs)
            settings = {"maxmemory": "64mb", "maxmemory-policy": "allkeys-lfu"}
            with configured(primary, **settings), configured(replica, **settings):
                found = [each.node for each in world.do(client.doctor) if each.code == "eviction"]

    assert len(found) == 2
    for port in (proxy.port, replica.port):
        assert any(f"127.0.0.1:{port}" in node for node in found)
