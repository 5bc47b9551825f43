"""Replicas of a cluster that confirm grants and renewals, in both worlds: when they are asked,
what a caller is told when too few of them answer, and what a failover leaves."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
import redis

from interlock import LockLost, StoreMisconfigured, StoreUnavailable, UsageError
from interlock.backends.redis.cluster.slots import slot_of
from interlock.backends.redis.transport import handshakes
from tests.support.clusters import (
    NODE_TIMEOUT,
    ClusterServer,
    RedisCluster,
    await_promotion,
    replicas_told,
)
from tests.support.eventually import eventually

from ...support.worlds import World
from .test_cluster_failures import FAILOVER, names_on, own_cluster
from .test_replicas import calls, paused
from .test_sentinel_failover import renew_now

pytestmark = pytest.mark.server

__all__ = ["own_cluster"]


@pytest.fixture(scope="module")
def replicated() -> Iterator[RedisCluster]:
    """A cluster whose replicas tests may pause."""
    with RedisCluster("--cluster-require-full-coverage", "no") as cluster:
        yield cluster


@pytest.fixture
def peek(replicated: RedisCluster) -> Iterator[Any]:
    """A plain client of the node of "k", which is empty and whose replica keeps up."""
    node = replicated.primary_of("k")
    replicated.flush()
    with node.client() as client:
        assert eventually(lambda: client.wait(1, 100) == 1, 20)
        client.config_resetstat()
        yield client


def replica(cluster: RedisCluster, name: str) -> ClusterServer:
    return cluster.replica_of(cluster.primary_of(name))


# --- when they are asked -------------------------------------------------------------------------


def test_one_replica_is_usual_and_none_a_choice(
    world: World, replicated: RedisCluster, peek: Any
) -> None:
    for options, waits in (({}, 1), ({"replicas": 0}, 0), ({"replicas": 1}, 1)):
        peek.config_resetstat()
        hold = world.do(world.connect(replicated.url, **options).lock("k").acquire)
        assert calls(peek, "wait") == waits
        world.do(hold.release)
        assert calls(peek, "wait") == waits


def test_the_url_says_how_many(world: World, replicated: RedisCluster, peek: Any) -> None:
    world.do(world.connect(f"{replicated.url}?replicas=0").lock("k").acquire)

    assert calls(peek, "wait") == 0


def test_what_was_not_granted_is_not_confirmed(
    world: World, replicated: RedisCluster, peek: Any
) -> None:
    client, other = world.connect(replicated.url), world.connect(replicated.url)
    hold = world.do(client.lock("k").acquire)
    assert world.do(other.lock("k").try_acquire) is None
    world.do(client.lock("k").locked)
    world.do(hold.release)

    assert calls(peek, "wait") == 1


def test_renewals_of_a_node_are_confirmed_together(
    world: World, replicated: RedisCluster, peek: Any
) -> None:
    client = world.connect(replicated.url)
    tagged = [f"{{k}}{number}" for number in range(20)]
    holds = [world.do(client.lock(name, lease=1.5).acquire) for name in tagged]
    granted = calls(peek, "wait")
    assert granted == 20

    renew_now(world, client)
    firsts = [hold._lease.until for hold in holds]
    assert eventually(lambda: all(h._lease.until > f for h, f in zip(holds, firsts, strict=True)))
    assert calls(peek, "wait") - granted <= 3


def test_a_renewal_of_a_slot_on_its_way_is_confirmed_where_it_goes(
    world: World, replicated: RedisCluster, peek: Any
) -> None:
    client = world.connect(replicated.url)
    hold = world.do(client.lock("k", lease=30).acquire)
    with replicated.moving(slot_of("k")) as (source, target), target.client() as other:
        replicated.move_keys(slot_of("k"), source, target)
        other.config_resetstat()
        first = hold._lease.until
        renew_now(world, client)
        assert eventually(lambda: hold._lease.until > first)
        assert calls(other, "asking") >= 1
        assert calls(other, "wait") >= 1
    world.do(hold.release)


def test_a_number_of_replicas_that_is_none_is_refused(world: World) -> None:
    with pytest.raises(UsageError, match="replicas"):
        world.connect("redis+cluster://localhost", replicas=-1)
    with pytest.raises(UsageError, match="replicas"):
        world.connect("redis+cluster://localhost?replicas=x")


# --- when too few of them answer -----------------------------------------------------------------


@pytest.mark.parametrize("kind", ["lock", "mutex", "fair_lock", "fenced_lock"])
def test_a_grant_that_too_few_have_is_withdrawn(
    world: World, replicated: RedisCluster, peek: Any, kind: str
) -> None:
    client = world.connect(replicated.url, replicas=2)
    with pytest.raises(StoreUnavailable) as refused:
        world.do(lambda: getattr(client, kind)("k").acquire(timeout=0))

    assert "1 of 2 replicas of node 127.0.0.1:" in str(refused.value)
    assert "the grant of lock 'k'" in str(refused.value)
    assert eventually(lambda: not peek.exists("k"))


def test_a_silent_replica_costs_its_node_a_second_and_no_other_node_anything(
    world: World, replicated: RedisCluster, peek: Any
) -> None:
    client = world.connect(replicated.url)
    number = replicated.primary_of("k").number
    elsewhere = next(names_on(replicated, (number + 1) % 3))
    for name in ("k", elsewhere):
        world.do(world.do(client.lock(name).acquire).release)
    with paused(replica(replicated, "k")):
        began = time.monotonic()
        refused = world.start(lambda: client.lock("k").acquire(timeout=0.5))
        world.do(world.do(client.lock(elsewhere).acquire).release)
        assert time.monotonic() - began < 0.9
        with pytest.raises(StoreUnavailable, match="0 of 1 replicas"):
            refused.result(5)
        assert time.monotonic() - began < 2.5
        waiting = world.start(lambda: client.lock("k").acquire(timeout=20))
        time.sleep(0.3)
        assert not waiting.done()

    world.do(waiting.result(20).release)
    assert not peek.exists("k")


def test_a_lease_that_is_not_confirmed_is_lost_before_it_ends(
    world: World, replicated: RedisCluster, peek: Any
) -> None:
    block = world.hold_block(world.connect(replicated.url).lock("k", lease=1.5))
    hold = block.entered.result(5)
    with paused(replica(replicated, "k")):
        assert eventually(lambda: hold.suspended or hold.lost, within=3)
        assert eventually(lambda: hold.lost, within=3)
    block.leave()
    with pytest.raises(LockLost):
        block.outcome.result(5)


def test_a_user_that_may_not_wait_is_told_and_leaves_nothing(
    world: World, replicated: RedisCluster, peek: Any
) -> None:
    for node in replicated.nodes:
        node.ask("ACL", "SETUSER", "u", "on", ">pw", "~*", "&*", "+@all", "-wait")
    client = world.connect(replicated.url.replace("://", "://u:pw@"), replicas=1)
    with pytest.raises(StoreMisconfigured, match="denies this user"):
        world.do(client.lock("k").acquire)
    assert not peek.exists("k")


# --- a primary that shows none -------------------------------------------------------------------


def test_a_primary_that_shows_no_replica_is_not_believed_while_the_cluster_sees_one(
    world: World, replicated: RedisCluster, peek: Any
) -> None:
    """As an old primary, which its replicas have left."""
    primary, follower = replicated.primary_of("k"), replica(replicated, "k")
    replicated.await_told()
    with patience(replicated, 5000), ended(replicated, follower):
        eventually(lambda: not primary.ask("ROLE")[2])
        lock = world.connect(replicated.url).lock("k")
        with pytest.raises(StoreUnavailable) as refused:
            world.do(lambda: lock.acquire(timeout=0))
        assert not primary.ask("EXISTS", "k")

        with patience(replicated, 300):  # now the other nodes see it, too
            world.do(world.do(lambda: lock.acquire(timeout=20)).release)
        assert follower.port not in replicas_told(primary)

    assert "0 of 1 replicas of node 127.0.0.1:" in str(refused.value)
    assert "the map of the cluster 1 that are up" in str(refused.value)
    assert "say replicas=0" in str(refused.value)


@contextmanager
def patience(cluster: RedisCluster, milliseconds: int) -> Iterator[None]:
    """After how long a silent node has failed."""
    _be_patient(cluster, milliseconds)
    try:
        yield
    finally:
        _be_patient(cluster, NODE_TIMEOUT)


def _be_patient(cluster: RedisCluster, milliseconds: int) -> None:
    for node in cluster.nodes:
        with suppress(redis.ConnectionError):
            node.ask("CONFIG", "SET", "cluster-node-timeout", milliseconds)


@contextmanager
def ended(cluster: RedisCluster, node: ClusterServer) -> Iterator[None]:
    """A replica that is dead for a while."""
    node.kill()
    try:
        yield
    finally:
        node.start()
        cluster.await_ready()


# --- failovers -----------------------------------------------------------------------------------


def test_what_a_replica_has_confirmed_outlives_its_primary(
    world: World, own_cluster: RedisCluster
) -> None:
    client, other = world.connect(own_cluster.url), world.connect(own_cluster.url)
    name = next(names_on(own_cluster, 1))
    with own_cluster.nodes[1].client() as primary:
        assert eventually(lambda: primary.wait(1, 100) == 1, 20)
    hold = world.do(client.lock(name, lease=30).acquire)
    waiting = world.start(lambda: other.lock(name).acquire(timeout=60))

    own_cluster.nodes[1].kill()  # at once: the replica has it, because it has said so

    await_promotion(own_cluster, slot_of(name), own_cluster.nodes[1])
    assert own_cluster.nodes[4].ask("EXISTS", name)
    assert not hold.lost
    assert not waiting.done()
    world.do(hold.release)
    world.do(waiting.result(FAILOVER).release)  # by a primary that has no replica any more


def test_what_no_replica_has_is_no_grant_though_the_primary_dies(
    world: World, own_cluster: RedisCluster
) -> None:
    client = world.connect(own_cluster.url)
    name = next(names_on(own_cluster, 1))
    with own_cluster.nodes[1].client() as primary:
        assert eventually(lambda: primary.wait(1, 100) == 1, 20)
    world.do(world.do(client.lock(name).acquire).release)

    with paused(own_cluster.nodes[4]):
        asking = world.start(lambda: client.lock(name).acquire(timeout=60))
        assert eventually(lambda: own_cluster.nodes[1].ask("EXISTS", name))
        own_cluster.nodes[1].kill()
        time.sleep(0.2)
        assert not asking.done()

    hold = asking.result(60)
    assert own_cluster.nodes[4].ask("EXISTS", name)
    world.do(hold.release)


def test_replicas_that_come_later_are_counted_on_connections_that_are_open(
    world: World, own_cluster: RedisCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handshakes, "RECOUNT", 0.2)
    primary, follower = own_cluster.nodes[1], own_cluster.nodes[4]
    follower.kill()
    assert eventually(lambda: not primary.ask("ROLE")[2], 20)
    client = world.connect(own_cluster.url)
    lock = client.lock(next(names_on(own_cluster, 1)))
    with primary.client() as peek:
        world.do(world.do(lock.acquire).release)
        assert calls(peek, "wait") == 0
        follower.start()
        assert eventually(lambda: peek.wait(1, 100) == 1, 20)
        peek.config_resetstat()

        def confirmed() -> bool:
            world.do(world.do(lock.acquire).release)
            return calls(peek, "wait") > 0

        assert eventually(confirmed, 5)
