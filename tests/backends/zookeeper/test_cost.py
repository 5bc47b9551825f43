"""What a lock costs on the wire: which requests, and how often a client waits for an answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import pytest

from interlock import aio
from interlock.events import Event, Parked
from tests.support.frames import ZkProxy

from ...support.eventually import eventually
from ...support.worlds import World, nested
from .metering import ACQUIRE, DELAY, RELEASE, Meter

pytestmark = pytest.mark.server

TASKS = 1000


@pytest.fixture
def meter(world: World, zk_proxy: ZkProxy, zk_path: str, peek: Any) -> Meter:
    return Meter(world, zk_proxy, zk_path, peek)


@pytest.fixture
def stranger(world: World, zk_url: str) -> Any:
    """Another client, whose talk is not counted."""
    return world.connect(zk_url)


@pytest.mark.parametrize("kind", ["lock", "fair_lock", "fenced_lock"])
def test_free_lock_is_two_requests_in_one_round_trip_and_its_release_one(
    world: World, meter: Meter, kind: str
) -> None:
    lock = meter.used(getattr(meter.client(), kind)("k"))
    hold = world.do(lock.acquire)
    assert meter.spent() == (ACQUIRE, 1)
    world.do(hold.release)
    assert meter.spent() == (RELEASE, 1)


def test_first_use_of_a_name_is_two_round_trips(world: World, meter: Meter) -> None:
    world.do(meter.client().lock("far/away").acquire)
    requests, trips = meter.spent()
    assert trips == 2
    assert [each for each in requests if each != "createContainer"] == ACQUIRE * 2


def test_try_that_fails_takes_its_node_away_in_a_second_round_trip(
    world: World, stranger: Any, meter: Meter
) -> None:
    client, hold = meter.client(), world.do(stranger.lock("k").acquire)
    assert world.do(lambda: client.lock("k").acquire(blocking=False)) is None
    assert meter.spent() == ([*ACQUIRE, *RELEASE], 2)
    world.do(hold.release)


def test_reentering_sends_nothing(world: World, meter: Meter) -> None:
    lock = meter.used(meter.client().lock("k"))
    world.do(lambda: nested(world, lock))
    assert meter.spent() == ([*ACQUIRE, *RELEASE], 2)


# --- waiting ------------------------------------------------------------------------------------


def test_waiting_is_one_round_trip_more_and_a_wake_another(
    world: World, stranger: Any, meter: Meter
) -> None:
    events: list[Event] = []
    client, hold = meter.client(observer=events.append), world.do(stranger.lock("k").acquire)

    waiting = world.start(client.lock("k").acquire)
    eventually(lambda: any(isinstance(event, Parked) for event in events))
    assert meter.spent() == ([*ACQUIRE, "getData", "getChildren"], 2)

    world.do(hold.release)
    mine = waiting.result(5)
    assert meter.spent() == (["getData", "getChildren"], 1)
    world.do(mine.release)
    assert meter.spent() == (RELEASE, 1)


def test_whoever_is_not_the_next_hears_nothing_of_a_release(
    world: World, stranger: Any, meter: Meter
) -> None:
    hold, parked = world.do(stranger.lock("k").acquire), list[str]()
    first, second = (meter.client(observer=noting(parked, who)) for who in "ab")
    coming = [world.start(first.lock("k").acquire)]
    eventually(lambda: parked == ["a"])
    coming.append(world.start(second.lock("k").acquire))
    eventually(lambda: parked == ["a", "b"])
    meter.spent()

    world.do(hold.release)
    mine = coming[0].result(5)
    assert meter.spent() == (["getData", "getChildren"], 1)
    world.do(mine.release)
    world.do(coming[1].result(5).release)


def noting(parked: list[str], who: str) -> Any:
    """An observer that notes when its client goes to sleep."""
    return lambda event: parked.append(who) if isinstance(event, Parked) else None


# --- many ---------------------------------------------------------------------------------------


def test_keeping_ten_is_one_request_in_a_third_of_a_session(
    world: World, meter: Meter, zk_proxy: ZkProxy
) -> None:
    client = meter.client(session=9)
    zk_proxy.delay()  # those that are taken at about the same time are kept together
    coming = [world.start(client.lock(f"k{i}").acquire) for i in range(10)]
    held = [each.result(5) for each in coming]
    meter.spent()

    eventually(lambda: meter.requests.count("sync") == 2, within=15)

    # Each is looked at once, and watched from then on.
    assert meter.requests == ["sync", *["getData"] * 10, "sync"]
    for hold in held:
        world.do(hold.release)


def test_thousand_tasks_on_one_lock_cost_three_requests_each_and_one_connection(
    zk_proxy: ZkProxy, zk_path: str
) -> None:
    async def crowd() -> None:
        async with aio.connect(zk_proxy.url(zk_path)) as client, asyncio.TaskGroup() as group:
            for _ in range(TASKS):
                group.create_task(one(client))

    async def one(client: Any) -> None:
        async with client.lock("k"):
            pass

    asyncio.run(crowd())

    sent = [name for name in zk_proxy.requests if name in (*ACQUIRE, *RELEASE)]
    assert 3 * TASKS <= len(sent) <= 3 * TASKS + 10
    assert zk_proxy.connects == 1


def test_far_server_is_waited_for_once(
    world: World, meter: Meter, record_property: Callable[[str, object], None]
) -> None:
    """How long it takes depends on the machine as well, so that is only told."""
    lock, took = meter.used(meter.client().lock("k")), []
    for _ in range(10):
        began = time.perf_counter()
        hold = world.do(lock.acquire)
        took.append(time.perf_counter() - began)
        assert meter.spent() == (ACQUIRE, 1)
        world.do(hold.release)
        meter.spent()
    record_property("delays", median(took) / (2 * DELAY))
