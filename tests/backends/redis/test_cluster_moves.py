"""A slot that moves to another node while its locks are held, waited for, taken and given back."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from functools import partial
from typing import Any

import pytest

from interlock import StoreUnavailable
from interlock.backends.redis.cluster.slots import counter_of, slot_of
from tests.support.clusters import ClusterServer, RedisCluster
from tests.support.eventually import eventually

from ...support.worlds import World

NAME = "moving"
SLOT = slot_of(NAME)

#: How long a waiter sleeps at most, wake or no wake, and something for a busy machine.
POLL = 2.0 + 2.0

JAVA, CHANNEL = "11111111-1111-4111-8111-111111111111:1", "redisson_lock__channel:{moving}"


@pytest.fixture
def client(world: World, cluster_url: str) -> Any:
    """A client that knows where the name is."""
    client = world.connect(cluster_url)
    world.do(world.do(client.lock(NAME).acquire).release)
    return client


def waiter(world: World, url: str) -> Future[Any]:
    """The coming hold of another client, which waits."""
    waiting = world.start(lambda: world.connect(url).lock(NAME).acquire(timeout=20))
    time.sleep(0.3)
    assert not waiting.done()
    return waiting


# --- MOVED ---------------------------------------------------------------------------------------


def test_a_slot_that_has_moved_is_followed(
    world: World, cluster: RedisCluster, client: Any
) -> None:
    hold = world.do(client.lock(NAME).acquire)

    cluster.move_slot(SLOT)

    world.do(hold.release)
    assert world.do(lambda: client.lock(NAME).acquire(blocking=False)).token > hold.token


def test_a_hold_is_kept_though_its_slot_has_moved(
    world: World, cluster: RedisCluster, client: Any
) -> None:
    hold = world.do(client.lock(NAME, lease=1.5).acquire)

    cluster.move_slot(SLOT)

    time.sleep(2.0)  # longer than the lease lasts by itself
    assert not hold.lost
    world.do(hold.release)


def test_a_waiter_listens_where_its_slot_has_moved_to(
    world: World, cluster: RedisCluster, client: Any, cluster_url: str
) -> None:
    hold = world.do(client.lock(NAME).acquire)
    waiting = waiter(world, cluster_url)

    target = cluster.move_slot(SLOT)

    assert eventually(lambda: target.ask("PUBSUB", "CHANNELS", "interlock:wake:*"), POLL)
    world.do(hold.release)
    world.do(waiting.result(POLL).release)


def test_behind_java_a_waiter_listens_where_its_slot_has_moved_to(
    world: World, cluster: RedisCluster, client: Any, cluster_url: str
) -> None:
    cluster.owner(SLOT).ask("HSET", NAME, JAVA, 1)
    waiting = waiter(world, cluster_url)

    target = cluster.move_slot(SLOT)

    assert eventually(lambda: target.ask("PUBSUB", "SHARDNUMSUB", CHANNEL)[1] == 1, POLL)
    target.ask("DEL", NAME)
    target.ask("SPUBLISH", CHANNEL, "0")
    world.do(waiting.result(1.0).release)


# --- ASK and TRYAGAIN ----------------------------------------------------------------------------


def test_a_hold_is_kept_while_its_slot_moves(
    world: World, cluster: RedisCluster, client: Any
) -> None:
    """A renewal has one key: it is answered where the key is, at the source or, by ASK, at the
    target, which does not know the script."""
    hold = world.do(client.lock(NAME, lease=1.5).acquire)

    with cluster.moving(SLOT) as (source, target):
        time.sleep(1.5)
        assert not hold.lost
        target.ask("SCRIPT", "FLUSH")
        cluster.move_keys(SLOT, source, target)
        time.sleep(2.0)
        assert not hold.lost

    world.do(hold.release)


def test_a_lock_of_a_slot_that_moves_is_had_when_it_has_moved(
    world: World, cluster: RedisCluster, client: Any
) -> None:
    with cluster.moving(SLOT):
        taking = world.start(lambda: client.lock(NAME).acquire(timeout=20))
        time.sleep(0.5)
        assert not taking.done()

    world.do(taking.result(5).release)


def test_a_move_that_is_stuck_is_told_and_nothing_is_left(
    world: World, cluster: RedisCluster, client: Any
) -> None:
    refused = pytest.raises(StoreUnavailable, match="is moving this name to another node")
    with cluster.moving(SLOT) as (_, target), refused:
        world.do(lambda: client.lock(NAME).acquire(timeout=0.5))

    assert left_in_slot(target) == {counter_of(SLOT)}


def left_in_slot(node: ClusterServer) -> set[str]:
    return {str(key) for key in node.ask("CLUSTER GETKEYSINSLOT", SLOT, 100)}


def test_readers_whose_keys_lie_on_both_nodes_are_not_taken_for_dead(
    world: World, cluster: RedisCluster, client: Any
) -> None:
    reading = world.do(client.rwlock(NAME, lease=20).read().acquire)

    with cluster.moving(SLOT) as (source, target):
        source.ask("MIGRATE", "127.0.0.1", target.port, NAME, 0, 5000)  # without its reader's key
        with pytest.raises(StoreUnavailable, match="moving"):
            world.do(lambda: client.rwlock(NAME).write().acquire(timeout=0.5))

    assert world.do(lambda: client.rwlock(NAME).write().acquire(blocking=False)) is None
    assert not reading.lost
    world.do(reading.release)


# --- under contention ----------------------------------------------------------------------------


class Inside:
    """Counts who is inside at the same time, and how often one was."""

    def __init__(self) -> None:
        self._mutex, self._inside, self.most, self.visits = threading.Lock(), 0, 0, 0

    def enter(self) -> None:
        with self._mutex:
            self._inside, self.visits = self._inside + 1, self.visits + 1
            self.most = max(self.most, self._inside)

    def leave(self) -> None:
        with self._mutex:
            self._inside -= 1

    def visited(self, times: int) -> bool:
        return self.visits > times


def visits(world: World, lock: Any, inside: Inside, ended: threading.Event) -> Any:
    """Take a lock and give it back, again and again."""

    def visit() -> None:
        while not ended.is_set():
            with lock:
                inside.enter()
                inside.leave()

    async def visit_async() -> None:
        while not ended.is_set():
            async with lock:
                inside.enter()
                inside.leave()

    return visit if world.name == "threads" else visit_async


@pytest.mark.parametrize("kind", ["lock", "mutex", "fair_lock"])
def test_a_slot_moves_to_and_fro_under_contention(
    world: World, cluster: RedisCluster, cluster_url: str, kind: str
) -> None:
    inside, ended = Inside(), threading.Event()
    locks = [getattr(world.connect(cluster_url), kind)(NAME, timeout=20) for _ in range(4)]
    visiting = [world.start(visits(world, lock, inside, ended)) for lock in locks]
    try:
        for _ in range(4):
            seen = inside.visits
            with cluster.moving(SLOT):
                time.sleep(0.05)
            assert eventually(partial(inside.visited, seen + 4), 10), "it hangs"
    finally:
        ended.set()
    for each in visiting:
        each.result(20)

    assert inside.most == 1
    left = left_in_slot(cluster.owner(SLOT))
    assert {key for key in left if not key.startswith("interlock:tomb:")} == {counter_of(SLOT)}
