"""Locks over five servers of which some hang, are dead, or come back empty; in both worlds."""

from __future__ import annotations

import time
from typing import Any

import pytest

from interlock.backends.redis.redlock.locks import GUARD, MARKER, beside_key
from interlock.errors import OutcomeUnknown, StoreUnavailable
from tests.support.redlocks import RedlockServers

from ....support.worlds import World

pytestmark = pytest.mark.server


def holders(servers: RedlockServers, name: str = "name") -> int:
    """How many nodes vote for an owner of a name."""
    return sum(client.exists(name) for client in servers.clients)


def eventually(condition: Any) -> bool:
    deadline = time.monotonic() + 10
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return bool(condition())


def test_a_lock_is_held_by_all_nodes_and_given_back_on_all(
    world: World, kind: str, redlock_servers: RedlockServers, redlock_url: str
) -> None:
    client, other = world.connect(redlock_url), world.connect(redlock_url)

    hold = world.do(getattr(client, kind)("name").acquire)

    assert eventually(lambda: holders(redlock_servers) == 5)
    assert world.do(getattr(other, kind)("name").try_acquire) is None
    world.do(hold.release)
    assert eventually(lambda: holders(redlock_servers) == 0)


def test_tokens_grow_over_clients_and_nodes(
    world: World, kind: str, own_redlock: RedlockServers
) -> None:
    clients = [world.connect(own_redlock.url()) for _ in range(3)]
    tokens = []
    for number in range(12):
        hung = own_redlock[number % 5]
        hung.pause()
        hold = world.do(getattr(clients[number % 3], kind)("name", timeout=10).acquire)
        tokens.append(hold.token)
        world.do(hold.release)
        hung.resume()

    assert tokens == sorted(set(tokens))


def test_two_dead_nodes_do_not_matter(
    world: World, kind: str, own_redlock: RedlockServers
) -> None:
    client, other = world.connect(own_redlock.url()), world.connect(own_redlock.url())
    own_redlock[1].kill()
    own_redlock[3].kill()

    hold = world.do(getattr(client, kind)("name", lease=1.0).acquire)

    assert world.do(getattr(other, kind)("name").try_acquire) is None
    time.sleep(1.5)
    assert not hold.lost
    world.do(hold.release)
    world.do(world.do(getattr(other, kind)("name", timeout=5).acquire).release)


def test_three_dead_nodes_are_said_at_once_with_all_reasons(
    world: World, kind: str, own_redlock: RedlockServers
) -> None:
    client = world.connect(own_redlock.url())
    for number in (0, 2, 4):
        own_redlock[number].kill()

    began = time.monotonic()
    with pytest.raises(StoreUnavailable, match="3 of the 5 nodes of redlock") as caught:
        world.do(lambda: getattr(client, kind)("name").acquire(timeout=0))

    assert time.monotonic() - began < 1.5
    assert all(str(own_redlock[number].port) in str(caught.value) for number in (0, 2, 4))
    assert eventually(lambda: not any(own_redlock.clients[each].exists("name") for each in (1, 3)))


def test_three_nodes_that_hang_keep_a_caller_no_longer_than_it_may(
    world: World, own_redlock: RedlockServers
) -> None:
    client = world.connect(own_redlock.url())
    world.do(world.do(client.lock("name").acquire).release)
    for number in (0, 2, 4):
        own_redlock[number].pause()

    began = time.monotonic()
    with pytest.raises((OutcomeUnknown, StoreUnavailable), match="of the 5 nodes"):
        world.do(lambda: client.lock("name").acquire(timeout=0.5))

    assert time.monotonic() - began < 2.5


def test_a_majority_that_is_gone_loses_the_lock_before_its_lease_ends(
    world: World, own_redlock: RedlockServers
) -> None:
    client = world.connect(own_redlock.url())
    hold = world.do(client.lock("name", lease=1.5).acquire)
    began = time.monotonic()
    for number in (0, 2, 4):
        own_redlock[number].kill()

    assert eventually(lambda: hold.lost)
    assert time.monotonic() - began < 2.5


def test_a_renewal_heals_a_node_that_came_back(world: World, own_redlock: RedlockServers) -> None:
    client = world.connect(own_redlock.url())
    hold = world.do(client.lock("name", lease=0.9).acquire)
    own_redlock[2].kill()
    own_redlock[2].start()
    assert not own_redlock.clients[2].exists("name")

    assert eventually(lambda: own_redlock.clients[2].exists("name"))
    world.do(hold.release)
    assert eventually(lambda: holders(own_redlock) == 0)


def test_a_node_that_hung_gives_back_what_it_hears_late(
    world: World, kind: str, own_redlock: RedlockServers
) -> None:
    client = world.connect(own_redlock.url())
    world.do(world.do(getattr(client, kind)("name").acquire).release)
    own_redlock[2].pause()
    world.do(world.do(getattr(client, kind)("name").acquire).release)
    own_redlock[2].resume()

    assert eventually(lambda: own_redlock.clients[2].info("commandstats")["cmdstat_publish"])
    assert eventually(lambda: holders(own_redlock) == 0)


def test_nodes_that_have_just_started_do_not_vote(
    world: World, own_redlock: RedlockServers
) -> None:
    client = world.connect(own_redlock.url("longest_lease=2s"))
    lock = client.lock("name", lease=1.0)

    with pytest.raises(StoreUnavailable, match="5 have restarted; the first votes again in"):
        world.do(lambda: lock.acquire(timeout=0))

    began = time.monotonic()
    hold = world.do(lambda: lock.acquire(timeout=20))
    assert time.monotonic() - began < 5
    own_redlock[2].kill()
    own_redlock[2].start()
    time.sleep(0.8)
    # It is not healed yet: it may have voted for another owner before it has restarted.
    assert not own_redlock.clients[2].exists("name")
    assert eventually(lambda: own_redlock.clients[2].exists("name"))
    world.do(hold.release)


def test_a_node_that_came_back_with_its_records_does_not_vote_for_a_client_that_knew_it(
    world: World,
) -> None:
    with RedlockServers(3, "--appendonly", "yes", "--appendfsync", "always") as servers:
        for each in servers.clients:  # they have run for long enough
            each.set(MARKER, each.info("server")["run_id"])
        client, node = world.connect(servers.url("longest_lease=60s")), servers.clients[1]

        def guarded() -> bool:
            world.do(world.do(client.lock("name").acquire).release)
            return bool(node.exists(GUARD))

        assert not guarded()
        assert not guarded()
        assert eventually(lambda: not node.exists("name"))
        servers[1].kill()
        servers[1].start()
        before = node.hget(beside_key("name"), "token")

        assert eventually(guarded)
        assert node.hget(beside_key("name"), "token") == before


def test_a_mutex_is_shared_with_those_who_set_it_on_a_majority(
    world: World, redlock_servers: RedlockServers, redlock_url: str
) -> None:
    """As redsync and node-redlock do: SET NX PX, and compare before deleting."""
    client = world.connect(redlock_url)
    for node in redlock_servers.clients[:3]:
        assert node.set("name", "a random value", nx=True, px=30_000)

    assert world.do(client.mutex("name").try_acquire) is None
    waiting = world.start(lambda: client.mutex("name").acquire(timeout=10))
    for node in redlock_servers.clients[:3]:
        node.delete("name")

    hold = waiting.result(5)
    votes = [bool(node.set("name", "x", nx=True, px=1)) for node in redlock_servers.clients]
    assert sum(votes) <= 2
    world.do(hold.release)


def test_many_clients_hold_it_one_after_another(world: World, kind: str, redlock_url: str) -> None:
    """Votes are split again and again, and each of them is asked for anew at another moment."""
    order: list[Any] = []
    clients = [world.connect(redlock_url) for _ in range(4)]
    blocks = [world.hold_block(getattr(client, kind)("name", timeout=20)) for client in clients]
    for _ in blocks:
        entered = [block for block in blocks if block.entered.done()]
        while len(entered) == len(order):
            time.sleep(0.005)
            entered = [block for block in blocks if block.entered.done()]
        assert len(entered) == len(order) + 1
        (newest,) = [block for block in entered if block not in order]
        order.append(newest)
        newest.leave()
        newest.outcome.result(10)


@pytest.mark.parametrize("hung", [0, 1])
def test_nearly_all_free_locks_cost_one_round_trip(
    world: World, kind: str, own_redlock: RedlockServers, hung: int
) -> None:
    """A second one only where nodes have granted different tokens; each script counts itself."""
    client = world.connect(own_redlock.url())
    make = getattr(client, kind)
    world.do(world.do(make("first").acquire).release)
    for each in own_redlock.servers[:hung]:
        each.pause()
    for number in range(100):
        world.do(world.do(make(f"name{number % 7}").acquire).release)
    for each in own_redlock.servers[:hung]:
        each.resume()

    stats = [each.info("commandstats") for each in own_redlock.clients]
    calls = [each["cmdstat_evalsha"]["calls"] + each["cmdstat_eval"]["calls"] for each in stats]

    # Two for each lock on each node: taken and given back; and five rounds more at the most.
    assert sorted(calls)[2] <= 2 * 101 + 5 + 3


def test_a_release_wakes_a_waiter(world: World, kind: str, redlock_url: str) -> None:
    """Nearly each time: a wake is a hint, and may come while the waiter is just asking."""
    told: list[str] = []
    holder = world.connect(redlock_url)
    waiter = world.connect(redlock_url, observer=lambda event: told.append(type(event).__name__))
    for _ in range(10):
        hold = world.do(getattr(holder, kind)("name", timeout=10).acquire)
        waiting = world.start(lambda: getattr(waiter, kind)("name", timeout=10).acquire())
        assert eventually(lambda: "Parked" in told)
        world.do(hold.release)
        world.do(waiting.result(10).release)
        if "Woken" in told:
            return
        told.clear()
    pytest.fail("no release has woken a waiter")
