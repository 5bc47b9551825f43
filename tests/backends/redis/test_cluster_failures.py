"""Nodes of a cluster that die or freeze: what is held elsewhere lives on, and waiters go on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from interlock import OutcomeUnknown, StoreUnavailable
from interlock.backends.redis.cluster.slots import slot_of
from tests.support.clusters import RedisCluster, await_promotion
from tests.support.eventually import eventually

from ...support.worlds import World

#: Seconds from the death of a primary until its replica serves, at most, on a busy machine.
FAILOVER = 15.0


@pytest.fixture
def own_cluster() -> Iterator[RedisCluster]:
    """A cluster that a test may hurt; the nodes that live serve, though others do not."""
    with RedisCluster("--cluster-require-full-coverage", "no") as cluster:
        yield cluster


def names_on(cluster: RedisCluster, number: int) -> Iterator[str]:
    """Names that one of the primaries keeps."""
    port = cluster.nodes[number].port
    shares = {first: place[1] for first, _, place, *_ in cluster.nodes[0].ask("CLUSTER SLOTS")}
    for each in range(100_000):
        slot = slot_of(f"n{each}")
        if shares[max(first for first in shares if first <= slot)] == port:
            yield f"n{each}"


def test_a_primary_dies_and_its_replica_is_asked(world: World, own_cluster: RedisCluster) -> None:
    name = next(names_on(own_cluster, 1))
    client, other = world.connect(own_cluster.url), world.connect(own_cluster.url)
    hold = world.do(client.lock(name, lease=20).acquire)
    waiting = world.start(lambda: other.lock(name).acquire(timeout=60))
    time.sleep(0.5)  # the replica has it by then

    own_cluster.nodes[1].kill()

    await_promotion(own_cluster, slot_of(name), own_cluster.nodes[1])
    assert not hold.lost
    assert not waiting.done()
    world.do(hold.release)
    assert waiting.result(FAILOVER).token > hold.token


def test_while_a_primary_is_replaced_an_acquire_waits(
    world: World, own_cluster: RedisCluster
) -> None:
    name = next(names_on(own_cluster, 2))
    client = world.connect(own_cluster.url)
    world.do(world.do(client.lock(name).acquire).release)

    own_cluster.nodes[2].kill()

    world.do(world.do(lambda: client.lock(name).acquire(timeout=30)).release)
    own_cluster.nodes[2].start()
    assert world.do(lambda: client.lock(name).acquire(timeout=30))


def test_a_frozen_primary_delays_no_renewal_of_the_others(
    world: World, own_cluster: RedisCluster
) -> None:
    client = world.connect(own_cluster.url)
    healthy = [next(names_on(own_cluster, number)) for number in (0, 2)]
    frozen = next(names_on(own_cluster, 1))
    holds = [world.do(client.lock(name, lease=1.5).acquire) for name in healthy]
    lost = world.do(client.lock(frozen, lease=1.5).acquire)
    began = time.monotonic()

    own_cluster.nodes[1].pause()
    try:
        while time.monotonic() < began + 6.0:
            assert not any(hold.lost for hold in holds)
            time.sleep(0.05)
        assert lost.lost
        for hold in holds:
            world.do(hold.release)
    finally:
        own_cluster.nodes[1].resume()


def test_a_frozen_primary_is_left_when_it_was_replaced(
    world: World, own_cluster: RedisCluster
) -> None:
    name = next(names_on(own_cluster, 0))
    client = world.connect(own_cluster.url)
    world.do(world.do(client.lock(name).acquire).release)

    own_cluster.nodes[0].pause()
    try:
        hold: Any = None

        def had() -> bool:
            nonlocal hold
            try:
                hold = world.do(lambda: client.lock(name).acquire(timeout=2))
            except (StoreUnavailable, OutcomeUnknown):
                return False
            return True

        assert eventually(had, FAILOVER)
        world.do(hold.release)
    finally:
        own_cluster.nodes[0].resume()


def test_a_cluster_that_is_gone_is_told_at_once(world: World, own_cluster: RedisCluster) -> None:
    client = world.connect(own_cluster.url)
    world.do(world.do(client.lock("a").acquire).release)

    for node in own_cluster.nodes:
        node.kill()

    with pytest.raises((StoreUnavailable, OutcomeUnknown), match="node"):
        world.do(lambda: client.lock("a").acquire(blocking=False))


def test_names_are_not_listed_in_part(world: World, own_cluster: RedisCluster) -> None:
    client = world.connect(own_cluster.url)
    for number in range(3):
        world.do(client.lock(next(names_on(own_cluster, number))).acquire)
    assert len(world.do(client.locks)) == 3

    own_cluster.nodes[1].pause()
    try:
        with pytest.raises((StoreUnavailable, OutcomeUnknown), match="node"):
            world.do(client.locks)
    finally:
        own_cluster.nodes[1].resume()
