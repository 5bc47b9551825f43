"""Clients of redis-py and of valkey-py that the user brings along: of one server, by Sentinels, of
a cluster; in both worlds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
import redis
import redis.asyncio
import redis.asyncio.cluster
import redis.asyncio.sentinel
import redis.cluster
import redis.sentinel
import valkey
import valkey.asyncio
import valkey.asyncio.cluster
import valkey.asyncio.sentinel
import valkey.cluster
import valkey.sentinel

import interlock
from interlock import LockLost, StoreMisconfigured, StoreUnavailable, UsageError, aio
from interlock.backends.redis.transport.borrowed import read_cluster
from tests.support.clusters import RedisCluster
from tests.support.eventually import eventually
from tests.support.faults import FaultProxy
from tests.support.sentinels import SERVICE, SentinelFleet
from tests.support.servers import RedisServer, free_port

from ...support.worlds import World, check_works
from .test_replicas import calls
from .test_sentinel_failover import LEASE, begin_waiting, deposed, renew_now
from .watching import raw

pytestmark = pytest.mark.server

#: The clients of each library, for threads and for tasks.
CLUSTERS: dict[str, dict[str, Any]] = {
    "redis-py": {
        "threads": redis.cluster.RedisCluster,
        "tasks": redis.asyncio.cluster.RedisCluster,
    },
    "valkey-py": {
        "threads": valkey.cluster.ValkeyCluster,
        "tasks": valkey.asyncio.cluster.ValkeyCluster,
    },
}
SENTINELS: dict[str, dict[str, Any]] = {
    "redis-py": {"threads": redis.sentinel.Sentinel, "tasks": redis.asyncio.sentinel.Sentinel},
    "valkey-py": {"threads": valkey.sentinel.Sentinel, "tasks": valkey.asyncio.sentinel.Sentinel},
}
SERVERS: dict[str, dict[str, Any]] = {
    "redis-py": {"threads": redis.Redis, "tasks": redis.asyncio.Redis},
    "valkey-py": {"threads": valkey.Valkey, "tasks": valkey.asyncio.Valkey},
}


@pytest.fixture(params=sorted(CLUSTERS))
def library(request: pytest.FixtureRequest) -> str:
    """redis-py, then valkey-py."""
    chosen: str = request.param
    return chosen


@contextmanager
def lent(world: World, make: Callable[[], Any], *more: Any) -> Iterator[Any]:
    """A client that is made, and closed, where its world runs."""
    theirs = world.do(lambda: made(make))
    try:
        yield theirs
    finally:
        for client in list(world._clients):
            world.close_client(client)
        for each in (theirs, *more):
            world.do(each.close if world.name == "threads" else each.aclose)


def made(make: Callable[[], Any]) -> Any:
    """Tasks: a client is made inside of the loop, and awaiting it would initialise it."""
    theirs = make()
    return theirs if not hasattr(theirs, "__await__") else _unawaited(theirs)


async def _unawaited(theirs: Any) -> Any:
    return theirs


# --- one server ----------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"decode_responses": True, "db": 2, "protocol": 3}])
def test_a_client_of_one_server(
    world: World, library: str, redis_server: RedisServer, redis_url: str, options: dict[str, Any]
) -> None:
    kind = SERVERS[library][world.name]
    with lent(world, lambda: kind(port=redis_server.port, **options)) as theirs:
        check_works(world, lambda: world.connect(theirs))
        with raw(redis_server.port, db=options.get("db", 0)) as peek:
            assert peek.exists("interlock:tokens")


def test_what_goes_wrong_is_told_in_the_same_words(world: World, library: str) -> None:
    kind = SERVERS[library][world.name]
    with lent(world, lambda: kind(port=free_port())) as theirs:
        client = world.connect(theirs)
        with pytest.raises(StoreUnavailable, match="cannot reach redis://"):
            world.do(lambda: client.lock("k").acquire(blocking=False))
    with (
        RedisServer("--requirepass", "pw") as server,
        lent(world, lambda: kind(port=server.port, password="wrong")) as theirs,
    ):
        client = world.connect(theirs)
        with pytest.raises(StoreMisconfigured, match="refused the user name or password"):
            world.do(lambda: client.lock("k").acquire(blocking=False))


# --- by Sentinels --------------------------------------------------------------------------------


@contextmanager
def by_sentinels(world: World, library: str, ports: list[int], **options: Any) -> Iterator[Any]:
    """A client, of this world, that finds its primary by Sentinels on these ports."""
    kind = SENTINELS[library][world.name]
    sentinels = kind([("127.0.0.1", port) for port in ports], **options)
    with lent(world, lambda: sentinels.master_for(SERVICE), *sentinels.sentinels) as theirs:
        yield theirs


def test_a_client_by_sentinels(
    world: World, library: str, sentinel_fleet: SentinelFleet, sentinel_url: str
) -> None:
    ports = [each.port for each in sentinel_fleet.sentinels]
    with by_sentinels(world, library, ports, decode_responses=True, db=1) as theirs:
        check_works(world, lambda: world.connect(theirs))

        assert f"{sentinel_fleet.url}/1" in repr(world.connect(theirs))


def test_a_client_by_sentinels_waits_for_replicas_as_a_url_does(
    world: World, library: str, sentinel_fleet: SentinelFleet, sentinel_url: str
) -> None:
    ports = [each.port for each in sentinel_fleet.sentinels]
    with (
        sentinel_fleet.ask(sentinel_fleet.primary()) as peek,
        by_sentinels(world, library, ports) as theirs,
    ):
        for options, waits in (({}, 1), ({"replicas": 0}, 0), ({"replicas": 2}, 1)):
            peek.config_resetstat()
            hold = world.do(world.connect(theirs, **options).lock("k").acquire)
            assert calls(peek, "wait") == waits
            world.do(hold.release)


def test_a_client_by_sentinels_has_them_asked_once_a_second(
    world: World, library: str, sentinel_fleet: SentinelFleet, sentinel_url: str
) -> None:
    sentinel = sentinel_fleet.sentinels[0]
    with (
        FaultProxy(sentinel.port) as proxy,
        by_sentinels(world, library, [proxy.port]) as theirs,
    ):
        client = world.connect(theirs)
        world.do(world.do(client.lock("k").acquire).release)
        asked = proxy.accepted
        until = time.monotonic() + 3.5
        while time.monotonic() < until:
            world.do(world.do(client.lock("k").acquire).release)
        assert 2 <= proxy.accepted - asked <= 4


def test_a_client_by_sentinels_follows_a_failover(
    world: World, library: str, own_sentinels: SentinelFleet
) -> None:
    ports = [each.port for each in own_sentinels.sentinels]
    with by_sentinels(world, library, ports) as theirs:
        client = world.connect(theirs)
        hold = world.do(client.lock("k", lease=LEASE).acquire)
        waiting = begin_waiting(world, own_sentinels, theirs)
        old = own_sentinels.primary()
        old.kill()
        new = own_sentinels.promoted(old)

        first = hold._lease.until
        renew_now(world, client)
        assert eventually(lambda: hold._lease.until > first, within=10)
        world.do(hold.release)
        world.do(waiting.result(10).release)
        with own_sentinels.ask(new) as peek:
            assert not peek.exists("k")


def test_a_client_by_sentinels_leaves_an_old_primary_that_came_back(
    world: World, library: str
) -> None:
    """It takes writes, and its connections are open: only the Sentinels say that it is none."""
    with SentinelFleet(hurry=False) as fleet:
        ports = [each.port for each in fleet.sentinels]
        with by_sentinels(world, library, ports) as theirs:
            client = world.connect(theirs, replicas=0)
            world.do(world.do(client.lock("k").acquire).release)
            old, new = deposed(fleet)

            with fleet.ask(new) as peek:
                assert eventually(lambda: _takes(world, client, peek), within=5)
            assert fleet.role(old)[0] == b"master"


def _takes(world: World, client: Any, peek: Any) -> bool:
    """Whether a client takes a lock where a look from outside sees it."""
    hold = world.do(lambda: client.lock("k").acquire(timeout=5))
    seen = bool(peek.exists("k"))
    with suppress(LockLost):  # it may have been taken on the one, and given back on the other
        world.do(hold.release)
    return seen


def test_a_client_of_replicas_is_refused(
    world: World, library: str, sentinel_fleet: SentinelFleet
) -> None:
    kind = SENTINELS[library][world.name]
    sentinels = kind([("127.0.0.1", each.port) for each in sentinel_fleet.sentinels])
    with (
        lent(world, lambda: sentinels.slave_for(SERVICE), *sentinels.sentinels) as theirs,
        pytest.raises(UsageError, match="of replicas, which keep no locks: use master_for"),
    ):
        world.connect(theirs)


# --- of a cluster --------------------------------------------------------------------------------


@contextmanager
def of_cluster(world: World, library: str, cluster: RedisCluster, **options: Any) -> Iterator[Any]:
    kind = CLUSTERS[library][world.name]
    port = cluster.nodes[0].port
    with lent(world, lambda: kind(host="127.0.0.1", port=port, **options)) as theirs:
        yield theirs


@pytest.mark.filterwarnings("ignore:.*read_from_replicas:DeprecationWarning")
@pytest.mark.parametrize(
    "options", [{}, {"decode_responses": True, "read_from_replicas": True, "protocol": 3}]
)
def test_a_client_of_a_cluster(
    world: World, library: str, cluster: RedisCluster, cluster_url: str, options: dict[str, Any]
) -> None:
    with of_cluster(world, library, cluster, **options) as theirs:
        client = world.connect(theirs)
        holds = [world.do(client.lock(name).acquire) for name in ("a", "b", "c")]
        assert len({cluster.primary_of(name).port for name in ("a", "b", "c")}) > 1
        for name in ("a", "b", "c"):
            assert cluster.primary_of(name).ask("EXISTS", name)
        assert repr(client).count("127.0.0.1:") >= 1
        for hold in holds:
            world.do(hold.release)
        check_works(world, lambda: world.connect(theirs))
        assert world.do(lambda: theirs.get("nothing")) is None  # it is as useful as before


def test_a_client_of_a_cluster_that_knows_its_nodes_brings_them_along(
    world: World, library: str, cluster: RedisCluster, cluster_url: str
) -> None:
    cluster.await_told()
    with of_cluster(world, library, cluster) as theirs:
        world.do(lambda: theirs.get("nothing"))
        seeds = read_cluster(theirs).seeds

    assert {port for _, port in seeds} == {node.port for node in cluster.nodes}


def test_user_password_and_timeouts_come_along(
    world: World, library: str, cluster: RedisCluster, cluster_url: str
) -> None:
    for node in cluster.nodes:
        node.ask("ACL", "SETUSER", "u", "on", ">pw", "~*", "&*", "+@all")
    options = {"username": "u", "password": "pw", "socket_timeout": 3.5}
    try:
        with of_cluster(world, library, cluster, **options) as theirs:
            client = world.connect(theirs)
            world.do(client.lock("a").acquire)
            users = cluster.primary_of("a").ask("CLIENT", "LIST")
            assert "user=u" in str(users)
            assert client._session.link._limit == 3.5
    finally:
        for node in cluster.nodes:
            node.ask("ACL", "DELUSER", "u")


def test_addresses_are_mapped_as_the_client_maps_them(
    world: World, cluster: RedisCluster, cluster_url: str
) -> None:
    with FaultProxy(cluster.primary_of("a").port) as proxy:
        ours = ("127.0.0.1", cluster.primary_of("a").port)

        def remap(address: tuple[str, int]) -> tuple[str, int]:
            return ("127.0.0.1", proxy.port) if address == ours else address

        with of_cluster(world, "redis-py", cluster, address_remap=remap) as theirs:
            client = world.connect(theirs)
            before = proxy.accepted
            world.do(world.do(client.lock("a").acquire).release)
            assert proxy.accepted > before


def test_a_slot_that_moves_is_followed(
    world: World, library: str, cluster: RedisCluster, cluster_url: str
) -> None:
    with of_cluster(world, library, cluster) as theirs:
        client = world.connect(theirs)
        world.do(world.do(client.lock("moves").acquire).release)
        target = cluster.move_slot(cluster.nodes[0].ask("CLUSTER KEYSLOT", "moves"))
        hold = world.do(client.lock("moves").acquire)
        assert target.ask("EXISTS", "moves")
        world.do(hold.release)


def test_a_cluster_client_waits_for_replicas_as_a_url_does(
    world: World, library: str, cluster: RedisCluster, cluster_url: str
) -> None:
    with of_cluster(world, library, cluster) as theirs, cluster.primary_of("a").client() as peek:
        assert eventually(lambda: peek.info("replication")["connected_slaves"] == 1)
        for options, waits in (({}, 1), ({"replicas": 0}, 0)):
            peek.config_resetstat()
            hold = world.do(world.connect(theirs, **options).lock("a").acquire)
            assert calls(peek, "wait") == waits
            world.do(hold.release)


def test_a_cluster_client_of_the_other_world_is_refused(
    world: World, library: str, cluster: RedisCluster
) -> None:
    wrong: Any = aio.connect if world.name == "threads" else interlock.connect
    told = "blocking" if world.name == "threads" else "asyncio"
    with (
        of_cluster(world, library, cluster) as theirs,
        pytest.raises(UsageError, match=f"this is an? {told} client"),
    ):
        wrong(theirs)
