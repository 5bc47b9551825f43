"""What locks cost on the wire: which requests, and how often a client waits for an answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import pytest

from interlock import aio
from interlock.events import Event, Parked
from interlock.testing.frames import ZkProxy

from ..redis.test_cost import nested
from ..redis.watching import eventually
from ..redis.worlds import World

pytestmark = pytest.mark.server

#: Seconds of delay on the wire, to and fro: requests that go together are told apart by it.
DELAY = 0.01

ACQUIRE, RELEASE = ["create2", "getChildren"], ["delete"]

TASKS = 1000


class Meter:
    """Counts from one look to the next."""

    def __init__(self, proxy: ZkProxy) -> None:
        self._proxy = proxy
        proxy.delay(up=DELAY, down=DELAY)
        proxy.mark()

    @property
    def requests(self) -> list[str]:
        """What was sent since the last look."""
        return self._proxy.requests

    def spent(self) -> tuple[list[str], int]:
        """The requests since the last look, and how many round trips they were."""
        seen = self._proxy.requests, self._proxy.round_trips()
        self._proxy.mark()
        return seen


@pytest.fixture
def introduced(world: World, zk_proxy: ZkProxy, zk_path: str, peek: Any) -> Callable[..., Any]:
    """Make clients that have said who they are; their talk passes the proxy."""

    def make(session: float = 60.0, **options: Any) -> Any:
        url = f"{zk_proxy.url(zk_path)}?session_timeout={session}"
        client = world.connect(url, **options)
        world.do(world.do(client.lock("warm").acquire).release)
        eventually(lambda: peek.exists(f"/interlock:clients/{client.identity}"))
        return client

    return make


@pytest.fixture
def client(introduced: Callable[..., Any]) -> Any:
    return introduced()


@pytest.fixture
def stranger(world: World, zk_url: str) -> Any:
    """Another client, whose talk is not counted."""
    return world.connect(zk_url)


@pytest.fixture
def meter(client: Any, zk_proxy: ZkProxy) -> Meter:
    return Meter(zk_proxy)


def used(world: World, face: Any) -> Any:
    """Make the directories of a name, as whoever comes first does."""
    world.do(world.do(face.acquire).release)
    return face


# --- locks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["lock", "fair_lock", "fenced_lock"])
def test_free_lock_is_two_requests_in_one_round_trip_and_its_release_one(
    world: World, client: Any, meter: Meter, kind: str
) -> None:
    lock = used(world, getattr(client, kind)("k"))
    meter.spent()
    hold = world.do(lock.acquire)
    assert meter.spent() == (ACQUIRE, 1)
    world.do(hold.release)
    assert meter.spent() == (RELEASE, 1)


def test_first_use_of_a_name_is_two_round_trips(world: World, client: Any, meter: Meter) -> None:
    world.do(client.lock("far/away").acquire)
    requests, trips = meter.spent()
    assert trips == 2
    assert [each for each in requests if each != "createContainer"] == ACQUIRE * 2


def test_try_that_fails_takes_its_node_away_in_a_second_round_trip(
    world: World, client: Any, stranger: Any, meter: Meter
) -> None:
    hold = world.do(stranger.lock("k").acquire)
    assert world.do(lambda: client.lock("k").acquire(blocking=False)) is None
    assert meter.spent() == ([*ACQUIRE, *RELEASE], 2)
    world.do(hold.release)


def test_reentering_sends_nothing(world: World, client: Any, meter: Meter) -> None:
    lock = used(world, client.lock("k"))
    meter.spent()
    world.do(lambda: nested(world, lock))
    assert meter.spent() == ([*ACQUIRE, *RELEASE], 2)


def test_waiting_is_one_round_trip_more_and_a_wake_another(
    world: World, introduced: Callable[..., Any], stranger: Any, zk_proxy: ZkProxy
) -> None:
    events: list[Event] = []
    client = introduced(observer=events.append)
    hold = world.do(stranger.lock("k").acquire)
    meter = Meter(zk_proxy)

    waiting = world.start(client.lock("k").acquire)
    eventually(lambda: any(isinstance(event, Parked) for event in events))
    assert meter.spent() == ([*ACQUIRE, "getData", "getChildren"], 2)

    world.do(hold.release)
    mine = waiting.result(5)
    assert meter.spent() == (["getData", "getChildren"], 1)
    world.do(mine.release)
    assert meter.spent() == (RELEASE, 1)


def test_waiter_alone_is_told(
    world: World, introduced: Callable[..., Any], stranger: Any, zk_proxy: ZkProxy
) -> None:
    """The second in the line sleeps while the first one is served."""
    hold = world.do(stranger.lock("k").acquire)
    parked: list[str] = []
    first, second = (
        introduced(observer=lambda event, who=who: _note(parked, event, who)) for who in "ab"
    )
    coming = [world.start(first.lock("k").acquire)]
    eventually(lambda: parked == ["a"])
    coming.append(world.start(second.lock("k").acquire))
    eventually(lambda: parked == ["a", "b"])
    meter = Meter(zk_proxy)

    world.do(hold.release)
    mine = coming[0].result(5)
    assert meter.spent() == (["getData", "getChildren"], 1)
    world.do(mine.release)
    world.do(coming[1].result(5).release)


def _note(parked: list[str], event: Event, who: str) -> None:
    if isinstance(event, Parked):
        parked.append(who)


@pytest.mark.parametrize("holds", [1, 10])
def test_keeping_is_one_request_in_a_third_of_a_session_however_many_are_held(
    world: World, introduced: Callable[..., Any], zk_proxy: ZkProxy, holds: int
) -> None:
    client = introduced(session=3)
    held = [world.do(client.lock(f"k{i}").acquire) for i in range(holds)]
    zk_proxy.mark()

    eventually(lambda: zk_proxy.requests.count("sync") == 3, within=10)

    # Each is looked at once, and watched from then on.
    assert zk_proxy.requests == ["sync", *["getData"] * holds, "sync", "sync"]
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
    world: World, client: Any, meter: Meter, capsys: pytest.CaptureFixture[str]
) -> None:
    """How long it takes depends on the machine, so that is only told."""
    lock = used(world, client.lock("k"))
    meter.spent()
    took = []
    for _ in range(10):
        began = time.perf_counter()
        hold = world.do(lock.acquire)
        took.append(time.perf_counter() - began)
        assert meter.spent() == (ACQUIRE, 1)
        world.do(hold.release)
        meter.spent()
    with capsys.disabled():
        print(f"\n{world.name}: {median(took) / (2 * DELAY):.2f} delays for an acquire")  # noqa: T201


# --- readers and writers ------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["read", "write"])
def test_free_side_is_two_requests_in_one_round_trip_and_its_release_one(
    world: World, client: Any, meter: Meter, mode: str
) -> None:
    side = used(world, getattr(client.rwlock("k"), mode)())
    meter.spent()
    hold = world.do(side.acquire)
    assert meter.spent() == (ACQUIRE, 1)
    world.do(hold.release)
    assert meter.spent() == (RELEASE, 1)


def test_downgrade_is_one_round_trip(world: World, client: Any, meter: Meter) -> None:
    hold = world.do(client.rwlock("k").write().acquire)
    meter.spent()
    world.do(hold.downgrade)
    requests, trips = meter.spent()
    assert (requests[0], requests.count("create2"), requests.count("delete")) == ("create2", 1, 1)
    assert trips == 1
    world.do(hold.release)
    assert meter.spent() == (RELEASE, 1)


# --- latches ------------------------------------------------------------------------------------


def test_latch_that_is_down_is_passed_in_one_round_trip(
    world: World, client: Any, meter: Meter
) -> None:
    world.do(client.latch("k").wait)
    assert meter.spent() == (["getChildren", "getData"], 1)


def test_latch_is_set_in_one_round_trip_where_its_directory_is_known(
    world: World, client: Any, meter: Meter
) -> None:
    latch = client.latch("k")
    world.do(lambda: latch.set(1))
    assert meter.spent()[1] == 2
    world.do(latch.count_down)
    meter.spent()
    world.do(lambda: latch.set(2))
    assert meter.spent() == (["create2", "getChildren"], 1)


def test_latch_is_counted_down_in_two_round_trips(world: World, client: Any, meter: Meter) -> None:
    latch = client.latch("k")
    world.do(lambda: latch.set(2))
    meter.spent()
    world.do(latch.count_down)
    assert meter.spent() == (["getChildren", "getData", "setData", "getData"], 2)
    world.do(latch.count_down)
    assert meter.spent() == (["getChildren", "getData", "delete", "getData"], 2)
