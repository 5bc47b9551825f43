"""Connections of a client to nodes of a cluster that serve nothing any more."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import interlock
from interlock import aio
from interlock.backends.redis.cluster.routing import MAP_AGE
from interlock.backends.redis.cluster.slots import slot_of
from interlock.drive import now
from tests.support.clusters import ClusterServer, RedisCluster
from tests.support.eventually import eventually

from .test_cluster_failures import FAILOVER, names_on, own_cluster

__all__ = ["own_cluster"]

#: Threads that hold at the same time, so that each has a connection.
CROWD = 8


def hold_together(client: interlock.Client, names: list[str]) -> None:
    """Hold each name in a thread of its own, all at once."""
    together = threading.Barrier(len(names))

    def hold(name: str) -> None:
        together.wait()
        with client.lock(name, timeout=FAILOVER):
            together.wait()

    threads = [threading.Thread(target=hold, args=(name,)) for name in names]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


def connections(node: ClusterServer, name: str) -> int:
    """How many connections with this name a node has."""
    with node.client() as peek:
        return sum(each["name"] == name for each in peek.client_list())


def test_a_primary_that_is_demoted_keeps_no_crowd_of_idle_connections(
    own_cluster: RedisCluster,
) -> None:
    some = names_on(own_cluster, 1)
    names = [next(some) for _ in range(CROWD)]
    primary, replica = own_cluster.nodes[1], own_cluster.replica_of(own_cluster.nodes[1])
    with interlock.connect(f"{own_cluster.url}?client_name=crowd") as client:
        hold_together(client, names)
        assert connections(primary, "crowd") >= CROWD - 1
        for demoted, promoted in ((primary, replica), (replica, primary)):
            fail_over(own_cluster, client, promoted, slot_of(names[0]))
            hold_together(client, names)
            # One may have been asked for the map, as any node.
            assert connections(demoted, "crowd") <= 1
            assert connections(promoted, "crowd") >= CROWD - 1


def test_a_primary_that_is_demoted_keeps_no_connection_of_a_task_client(
    own_cluster: RedisCluster,
) -> None:
    """Neither of one that holds nor of one that waits, which hears of it when it asks again."""
    name = next(names_on(own_cluster, 1))
    primary, replica = own_cluster.nodes[1], own_cluster.replica_of(own_cluster.nodes[1])

    async def scene() -> None:
        url = f"{own_cluster.url}?client_name=crowd"
        async with aio.connect(url) as client, aio.connect(url) as other:
            hold = await client.lock(name, lease=60).acquire()
            waiting = asyncio.ensure_future(other.lock(name).acquire(timeout=FAILOVER))
            await asyncio.to_thread(eventually, lambda: connections(primary, "crowd") == 2)
            await asyncio.to_thread(fail_over, own_cluster, client, replica, slot_of(name))
            await hold.release()
            await (await waiting).release()
            await asyncio.to_thread(eventually, lambda: connections(primary, "crowd") == 0)

    asyncio.run(scene())


def fail_over(cluster: RedisCluster, client: Any, replica: ClusterServer, slot: int) -> None:
    """Promote a replica; what the client knows of the nodes is too old by then."""
    backend: Any = client._session.backend
    replica.ask("CLUSTER", "FAILOVER")
    eventually(lambda: cluster.owner(slot) is replica, FAILOVER)
    eventually(lambda: now() > backend._nodes.slots.learnt_at + MAP_AGE)
