"""A majority of servers that know nothing of each other: one that hangs holds up no other."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from statistics import median
from typing import Any

import pytest

import interlock
from interlock import aio
from interlock.events import Event, Parked
from interlock.recipes.majority import MOMENT
from tests.support.eventually import eventually
from tests.support.redlocks import RedlockServers

from ...support.worlds import World

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def three() -> Iterator[RedlockServers]:
    with RedlockServers(3) as servers:
        yield servers


@pytest.fixture
def servers(three: RedlockServers) -> Iterator[RedlockServers]:
    three.flush()
    yield three
    for server in three.servers:
        server.resume()


def clients(world: World, servers: RedlockServers, **options: Any) -> list[Any]:
    urls = (f"redis://127.0.0.1:{each.port}" for each in servers.servers)
    return [world.connect(url, **options) for url in urls]


def majority(world: World, several: list[Any], name: str = "job", **terms: Any) -> Any:
    make = interlock.majority_of if world.name == "threads" else aio.majority_of
    return make(*(client.lock(name, lease=10) for client in several), **terms)


def pair(world: World, several: list[Any]) -> tuple[float, int]:
    """How long it takes to take a majority, and how many members it has; it is given back."""
    began = time.monotonic()
    block = world.hold_block(majority(world, several, timeout=5))
    held = block.entered.result(10)
    took = time.monotonic() - began
    block.leave()
    block.outcome.result(10)
    return took, len(held.holds)


def test_all_members_are_taken(world: World, servers: RedlockServers) -> None:
    several = clients(world, servers)

    assert [pair(world, several)[1] for _ in range(20)] == [3] * 20


def test_member_that_hangs_costs_a_moment_and_then_nothing(
    world: World, servers: RedlockServers
) -> None:
    several = clients(world, servers)
    pair(world, several)
    servers[1].pause()

    first, *others = [pair(world, several) for _ in range(12)]

    assert first[0] < MOMENT + 1
    assert {members for _, members in others} == {2}
    assert median(took for took, _ in others) < MOMENT / 5


def test_member_that_hung_is_taken_again_and_nothing_is_left_of_what_it_missed(
    world: World, servers: RedlockServers
) -> None:
    several = clients(world, servers)
    pair(world, several)
    servers[1].pause()
    for _ in range(5):
        pair(world, several)

    servers[1].resume()

    eventually(lambda: pair(world, several)[1] == 3, within=5)
    eventually(lambda: not servers.clients[1].exists("job"), within=5)
    assert all(client._session.schedule.pending() == [] for client in several)


def test_member_that_hung_while_the_first_connection_is_opened_holds_up_none(
    world: World, servers: RedlockServers
) -> None:
    several = clients(world, servers)
    servers[0].pause()

    took, members = pair(world, several)

    assert members == 2
    assert took < MOMENT + 1


def test_waiter_is_woken(world: World, servers: RedlockServers) -> None:
    told: list[Event] = []
    several, others = clients(world, servers), clients(world, servers, observer=told.append)
    block = world.hold_block(majority(world, several))
    block.entered.result(10)
    waiting = world.hold_block(majority(world, others, timeout=20))
    eventually(lambda: any(isinstance(event, Parked) for event in told))
    began = time.monotonic()

    block.leave()
    held = waiting.entered.result(10)

    assert time.monotonic() - began < 1.0
    assert len(held.holds) >= 2
    waiting.leave()
    waiting.outcome.result(10)


def test_contenders_have_it_one_at_a_time(world: World, servers: RedlockServers) -> None:
    """Each in its own thread or task, with clients of its own."""
    inside, most, done = 0, 0, 0
    guard = threading.Lock()

    def work() -> None:
        nonlocal inside, most, done
        several = clients(world, servers)
        for _ in range(5):
            block = world.hold_block(majority(world, several, timeout=30))
            block.entered.result(40)
            with guard:
                inside += 1
                most = max(most, inside)
            with guard:
                inside -= 1
                done += 1
            block.leave()
            block.outcome.result(10)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert (most, done) == (1, 20)


def test_members_may_be_of_any_stores(
    world: World, servers: RedlockServers, tmp_path: Any
) -> None:
    redis = f"redis://127.0.0.1:{servers[0].port}"
    urls = (redis, f"sqlite:///{tmp_path}/locks.db", "memory://mixed")
    several = [world.connect(url) for url in urls]

    assert [pair(world, several)[1] for _ in range(5)] == [3] * 5
    servers[0].pause()
    assert {pair(world, several)[1] for _ in range(3)} == {2}
