"""What the other primitives cost on the wire."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.frames import ZkProxy

from ...support.eventually import eventually
from ...support.worlds import World
from .metering import ACQUIRE, RELEASE, Meter

pytestmark = pytest.mark.server

PERMITS: dict[str, Callable[[Any], Any]] = {
    "mutex": lambda client: client.mutex("k"),
    "semaphore": lambda client: client.semaphore("k", permits=1),
    "leased_semaphore": lambda client: client.leased_semaphore("k", permits=1),
}

every_permit = pytest.mark.parametrize("make", PERMITS.values(), ids=PERMITS)


@pytest.fixture
def meter(world: World, zk_proxy: ZkProxy, zk_path: str, peek: Any) -> Meter:
    return Meter(world, zk_proxy, zk_path, peek)


# --- readers and writers ------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["read", "write"])
def test_free_side_is_two_requests_in_one_round_trip_and_its_release_one(
    world: World, meter: Meter, mode: str
) -> None:
    side = meter.used(getattr(meter.client().rwlock("k"), mode)())
    hold = world.do(side.acquire)
    assert meter.spent() == (ACQUIRE, 1)
    world.do(hold.release)
    assert meter.spent() == (RELEASE, 1)


def test_downgrade_is_one_round_trip(world: World, meter: Meter) -> None:
    hold = world.do(meter.client().rwlock("k").write().acquire)
    meter.spent()
    world.do(hold.downgrade)
    requests, trips = meter.spent()
    assert (requests[0], requests.count("create2"), requests.count("delete")) == ("create2", 1, 1)
    assert trips == 1
    world.do(hold.release)
    assert meter.spent() == (RELEASE, 1)


# --- permits ------------------------------------------------------------------------------------


@every_permit
def test_free_permit_is_six_requests_in_two_round_trips_and_its_release_one(
    world: World, meter: Meter, make: Callable[[Any], Any]
) -> None:
    """Nobody awaits the last one: the next in line may ask from then on."""
    face = meter.used(make(meter.client()))
    eventually(lambda: meter.requests in ([], RELEASE))
    meter.spent()
    hold = world.do(face.acquire)
    eventually(lambda: meter.requests[-1] == "delete")
    requests, trips = meter.spent()
    assert requests[:2] == requests[3:5] == ACQUIRE
    assert (len(requests), trips - requests.count("delete")) == (6, 2)
    world.do(hold.release)
    assert meter.spent() == (RELEASE, 1)


@pytest.mark.parametrize(
    ("kind", "most"), [("mutex", 3), ("semaphore", 5), ("leased_semaphore", 5)]
)
def test_first_use_of_permits_is_a_few_round_trips_more(
    world: World, meter: Meter, kind: str, most: int
) -> None:
    world.do(PERMITS[kind](meter.client()).acquire)
    eventually(lambda: meter.requests[-1] == "delete")
    requests, trips = meter.spent()
    assert trips - requests.count("delete") == most


@every_permit
def test_try_that_fails_leaves_the_line_in_a_third_round_trip(
    world: World, meter: Meter, zk_url: str, make: Callable[[Any], Any]
) -> None:
    client, hold = meter.client(), world.do(make(world.connect(zk_url)).acquire)
    assert world.do(lambda: make(client).acquire(blocking=False)) is None
    requests, trips = meter.spent()
    assert (len(requests), requests[5:], trips) == (7, ["delete", "delete"], 3)
    world.do(hold.release)


# --- latches ------------------------------------------------------------------------------------


def test_latch_that_is_down_is_passed_in_one_round_trip(world: World, meter: Meter) -> None:
    world.do(meter.client().latch("k").wait)
    assert meter.spent() == (["getChildren", "getData"], 1)


def test_latch_is_set_in_one_round_trip_and_in_two_where_its_directory_is_new(
    world: World, meter: Meter
) -> None:
    latch = meter.client().latch("k")
    world.do(lambda: latch.start(1))
    assert meter.spent()[1] == 2
    world.do(latch.count_down)
    meter.spent()
    world.do(lambda: latch.start(2))
    assert meter.spent() == (["create2", "getChildren"], 1)


def test_latch_is_counted_down_in_two_round_trips(world: World, meter: Meter) -> None:
    latch = meter.client().latch("k")
    world.do(lambda: latch.start(2))
    meter.spent()
    world.do(latch.count_down)
    assert meter.spent() == (["getChildren", "getData", "setData", "getData"], 2)
    world.do(latch.count_down)
    assert meter.spent() == (["getChildren", "getData", "delete", "getData"], 2)
