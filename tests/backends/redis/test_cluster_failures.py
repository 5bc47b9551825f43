"""Nodes of a cluster that die or freeze: what is held elsewhere lives on, and waiters go on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from interlock import OutcomeUnknown, StoreError, StoreUnavailable, aio
from interlock.backends.redis.cluster.routing import PRIMARIES
from interlock.backends.redis.cluster.slot_map import Address
from interlock.backends.redis.cluster.slots import IN_SLOTS, slot_of
from interlock.backends.redis.locks import RedisLocks
from interlock.backends.redis.transport import lazy
from interlock.drive import now
from interlock.steps import call, together
from tests.support.clusters import ClusterServer, RedisCluster, await_promotion
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


# --- a node that hangs while a connection to it is opened ----------------------------------------


@pytest.fixture
def slow_to_promote() -> Iterator[RedisCluster]:
    """A cluster in which a node may hang for long before it is replaced."""
    options = ("--cluster-require-full-coverage", "no", "--cluster-node-timeout", "60000")
    with RedisCluster(*options) as cluster:
        yield cluster


def test_a_frozen_primary_that_must_be_connected_anew_delays_no_renewal_of_the_others(
    world: World, slow_to_promote: RedisCluster
) -> None:
    """A password, TLS or a client_name makes opening a connection wait for an answer."""
    cluster = slow_to_promote
    client = world.connect(cluster.url + "?client_name=app")
    names = [next(names_on(cluster, number)) for number in (1, 0, 2)]
    first, _, last = [world.do(client.lock(name, lease=1.5).acquire) for name in names]
    cluster.nodes[0].ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")

    cluster.nodes[0].pause()
    try:
        began = time.monotonic()
        while time.monotonic() < began + 5.0:
            assert not (first.lost or last.lost)
            time.sleep(0.05)
    finally:
        cluster.nodes[0].resume()


def test_nodes_are_asked_though_another_hangs_while_it_is_connected(
    world: World, slow_to_promote: RedisCluster
) -> None:
    """Of the nodes that answer one is connected already and one is not."""
    cluster = slow_to_promote
    client = world.connect(cluster.url + "?client_name=app")
    names = [next(names_on(cluster, number)) for number in (0, 1, 2)]
    world.do(world.do(client.lock(names[2]).acquire).release)

    cluster.nodes[0].pause()
    try:
        until = now() + 1.0
        replies = world.do(lambda: client._session.run(looks(names, until)))
        assert now() < until + 1.0
    finally:
        cluster.nodes[0].resume()
    assert [isinstance(reply, StoreError) for reply in replies] == [True, False, False]


def looks(names: list[str], until: float) -> Any:
    """Look at each of these names, all at once."""
    locks = RedisLocks("here", IN_SLOTS)
    calls = [next(locks.look(name, until)) for name in names]
    return together(calls)  # type: ignore[arg-type]


def test_a_node_is_suspect_until_it_answers_whatever_the_others_say_of_it(
    world: World, slow_to_promote: RedisCluster
) -> None:
    cluster = slow_to_promote
    client = world.connect(cluster.url)
    slots = client._session.backend._nodes.slots
    frozen, other = (next(names_on(cluster, number)) for number in (0, 1))
    for name in (frozen, other):
        world.do(world.do(client.lock(name).acquire).release)
    place = Address("127.0.0.1", cluster.nodes[0].port)

    cluster.nodes[0].pause()
    try:
        with pytest.raises((StoreUnavailable, OutcomeUnknown)):
            world.do(lambda: client.lock(frozen).acquire(timeout=0.3))
        assert place in slots.suspects
        assert len(world.do(lambda: client._session.run(primaries(now() + 5.0)))) == 3
        assert place in slots.suspects
    finally:
        cluster.nodes[0].resume()
    world.do(world.do(lambda: client.lock(frozen).acquire(timeout=10)).release)
    assert not slots.suspects


def primaries(until: float) -> Any:
    """Ask for the map anew."""
    return call(PRIMARIES, (), (), until)


def test_a_node_that_does_not_answer_is_said_to_be_the_reason(
    world: World, slow_to_promote: RedisCluster
) -> None:
    cluster = slow_to_promote
    client = world.connect(cluster.url)
    name = next(names_on(cluster, 0))
    world.do(world.do(client.lock(name).acquire).release)

    cluster.nodes[0].pause()
    try:
        for timeout in (0.3, 0.3, 0.0, 0.05):
            with pytest.raises((StoreUnavailable, OutcomeUnknown)) as raised:
                world.do(partial(client.lock(name).acquire, timeout=timeout))
            assert type(raised.value).__name__ in ("StoreUnavailable", "OutcomeUnknown")
            assert f"node 127.0.0.1:{cluster.nodes[0].port}" in str(raised.value)
            assert "serves the slot" not in str(raised.value)
    finally:
        cluster.nodes[0].resume()


def test_nodes_that_hang_are_closed_side_by_side(
    slow_to_promote: RedisCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lazy, "CLOSING", 2.0)
    frozen = [slow_to_promote.nodes[number] for number in (0, 1, 2)]
    names = [next(names_on(slow_to_promote, number)) for number in (0, 1, 2)]
    try:
        assert asyncio.run(seconds_to_close(slow_to_promote.url, names, frozen)) < 3.5
    finally:
        for node in frozen:
            node.resume()


async def seconds_to_close(url: str, names: list[str], frozen: list[ClusterServer]) -> float:
    """How long it takes to close a client that has asked nodes which hang."""
    client = aio.connect(url)
    link = client._session.link
    for node in (None, *frozen):
        if node is not None:
            node.pause()
        asked = asyncio.ensure_future(client._session.run(looks(names, now() + 20.0)))
        await asyncio.wait((asked,), timeout=None if node is None else 0.1)
    began = now()
    await link.close()
    took = now() - began
    await client.close()
    return took
