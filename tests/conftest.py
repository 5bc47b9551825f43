"""Servers and stores that the tests share."""

from __future__ import annotations

import gc
import itertools
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
import redis

from tests.support.clusters import RedisCluster
from tests.support.frames import ZkProxy
from tests.support.redlocks import RedlockServers
from tests.support.sentinels import SentinelFleet
from tests.support.servers import RedisServer
from tests.support.zookeepers import ZooKeeperServer

if TYPE_CHECKING:
    from tests.support.postgres import PostgresServer

_numbers = itertools.count(1)

# What starts the tests may ignore signals, as nohup does, and programs that tests start would
# inherit it.
for _number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
    if signal.getsignal(_number) is signal.SIG_IGN:
        _usual = signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL
        signal.signal(_number, _usual)


def pytest_collection_finish() -> None:
    """What pytest has collected stays to the end: tests that collect garbage need not go through
    it each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """One redis-server for every test that does not hurt it."""
    with RedisServer() as server:
        yield server


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """The URL of an empty database on the shared server."""
    with redis.Redis(port=redis_server.port) as client:
        client.flushall()
    return redis_server.url


@pytest.fixture
def own_redis() -> Iterator[RedisServer]:
    """A redis-server that a test may kill, pause or misconfigure."""
    with RedisServer() as server:
        yield server


@pytest.fixture(scope="session")
def sentinel_fleet() -> Iterator[SentinelFleet]:
    """Sentinels with their servers, for every test that does not hurt them; they are patient, so
    that a busy machine is no reason for a failover."""
    with SentinelFleet(down_after=20_000) as fleet:
        yield fleet


@pytest.fixture
def sentinel_url(sentinel_fleet: SentinelFleet) -> str:
    """The URL of an empty database on the primary that the shared Sentinels watch."""
    with sentinel_fleet.ask(sentinel_fleet.servers[0]) as client:
        client.flushall()
    return sentinel_fleet.url


@pytest.fixture
def own_sentinels() -> Iterator[SentinelFleet]:
    """Sentinels and servers that a test may kill, pause or misconfigure."""
    with SentinelFleet() as fleet:
        yield fleet


@pytest.fixture(scope="session")
def redlock_servers() -> Iterator[RedlockServers]:
    """Five servers for every test that does not hurt them."""
    with RedlockServers() as servers:
        yield servers


@pytest.fixture
def redlock_url(redlock_servers: RedlockServers) -> str:
    """The URL of five empty servers, which vote though they have just started."""
    redlock_servers.flush()
    return redlock_servers.url("restart_guard=off")


@pytest.fixture
def own_redlock() -> Iterator[RedlockServers]:
    """Five servers that a test may kill, pause or misconfigure."""
    with RedlockServers() as servers:
        yield servers


@pytest.fixture(scope="session")
def cluster() -> Iterator[RedisCluster]:
    """One Redis Cluster for every test that does not hurt it."""
    with RedisCluster() as cluster:
        yield cluster


@pytest.fixture
def cluster_url(cluster: RedisCluster) -> str:
    """The URL of the shared cluster, which is empty."""
    cluster.flush()
    return cluster.url


@pytest.fixture(scope="session")
def zookeeper() -> Iterator[ZooKeeperServer]:
    """One ZooKeeper for every test that does not hurt it."""
    with ZooKeeperServer() as server:
        yield server


@pytest.fixture
def zk_path() -> str:
    """A path on the shared ZooKeeper where nothing is yet, not even itself."""
    return f"/t{next(_numbers)}"


@pytest.fixture
def zk_url(zookeeper: ZooKeeperServer, zk_path: str) -> str:
    """The URL of that path."""
    return zookeeper.url(zk_path)


@pytest.fixture
def zk_proxy(zookeeper: ZooKeeperServer) -> Iterator[ZkProxy]:
    """A proxy before the shared ZooKeeper: `zk_proxy.url(zk_path)` is `zk_url` through it."""
    with ZkProxy(zookeeper.port) as proxy:
        yield proxy


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One PostgreSQL for every test that does not hurt it."""
    from tests.support.postgres import PostgresServer  # here, for those who have no psycopg

    with PostgresServer() as server:
        yield server
