"""Servers that fall silent, or are not there yet: nobody waits longer than promised."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from interlock import OutcomeUnknown, StoreUnavailable
from interlock.drive import now
from interlock.events import Parked, Troubled
from interlock.model import guard
from tests.support.frames import ZkProxy
from tests.support.zookeepers import ZooKeeperServer

from ...support.metronome import lateness
from ...support.worlds import OVERRUN, Timed, World
from .scenes import Recorder, eventually, queue

pytestmark = pytest.mark.server

NAMES = "abcdefgh"


@pytest.mark.parametrize("number", [2, 8])
def test_multilock_ends_in_time_when_the_servers_fall_silent(
    zk_proxy: ZkProxy, world: World, zk_path: str, zk_url: str, peek: Any, number: int
) -> None:
    names, recorder = NAMES[:number], Recorder()
    client = world.connect(f"{zk_proxy.url(zk_path)}?session_timeout=60", observer=recorder)
    hold = world.do(world.connect(zk_url).lock(names[-1]).acquire)
    world.do(world.do(client.lock("first").acquire).release)
    waiting = Timed(world, lambda: client.multilock(*names).acquire(timeout=0.5))
    recorder.hear(Parked)

    zk_proxy.silence()

    assert waiting.fails() < 0.5 + OVERRUN
    zk_proxy.silence(False)
    for name in names[:-1]:
        eventually(lambda name=name: queue(peek, name) == [], f"a node of {name} was left")  # type: ignore[misc]
    world.do(hold.release)


def test_multihold_is_released_in_the_time_of_one_when_the_servers_fall_silent(
    zk_proxy: ZkProxy, world: World, zk_path: str, peek: Any
) -> None:
    client = world.connect(f"{zk_proxy.url(zk_path)}?session_timeout=60")
    multihold = world.do(client.multilock(*NAMES).acquire)
    zk_proxy.silence()

    assert Timed(world, multihold.release).fails(StoreUnavailable, OutcomeUnknown) < 5.5

    zk_proxy.silence(False)
    for name in NAMES:
        eventually(lambda name=name: queue(peek, name) == [], f"a node of {name} was left")  # type: ignore[misc]


def test_multihold_is_released_in_one_burst(
    zk_proxy: ZkProxy, world: World, zk_path: str, peek: Any
) -> None:
    client = world.connect(f"{zk_proxy.url(zk_path)}?session_timeout=60")
    multihold = world.do(client.multilock(*NAMES).acquire)
    zk_proxy.delay(up=0.5, down=0.5)
    began = time.monotonic()

    world.do(multihold.release)

    assert 1 <= time.monotonic() - began < 2  # two bursts would take so long
    assert [queue(peek, name) for name in NAMES] == [[]] * len(NAMES)


def test_silence_is_told_to_each_of_many_groups_before_its_validity_ends(
    zk_proxy: ZkProxy, world: World, zk_path: str
) -> None:
    """Each length of lease, and each kind, is renewed by itself."""
    client = world.connect(f"{zk_proxy.url(zk_path)}?session_timeout=60")
    makers = [client.lock, client.mutex, client.rwlock, client.leased_semaphore]

    def take(number: int) -> Any:
        terms = {"permits": 1} if number % 4 == 3 else {}
        lock = makers[number % 4](f"k{number}", lease=2.0 + number / 50, **terms)
        return world.do((lock.write() if number % 4 == 2 else lock).acquire)

    def scene() -> float:
        holds = [take(number) for number in range(40)]
        heard: dict[str, float] = {}
        for hold in holds:
            hold.on_lost(lambda lost: heard.setdefault(lost.name, now()))
        first = holds[-1]._lease.until
        eventually(lambda: holds[-1]._lease.until > first, "it was not kept")
        zk_proxy.silence()
        eventually(lambda: len(heard) == len(holds), "not all of them were told")
        zk_proxy.silence(False)
        late: list[float] = [heard[hold.name] - hold._lease.until for hold in holds]
        return max(late)

    assert lateness(scene, guard(2.0) / 2) < 0


# --- servers that are not there yet ---------------------------------------------------------


@pytest.fixture
def own() -> Iterator[ZooKeeperServer]:
    """A server that this test may hurt."""
    with ZooKeeperServer() as server:
        yield server


@pytest.mark.parametrize("way", ["lock", "latch"])
def test_waiter_gets_it_from_a_server_that_comes_up_meanwhile(
    world: World, own: ZooKeeperServer, way: str
) -> None:
    recorder = Recorder()
    client = world.connect(f"{own.url()}?connect_timeout=500ms", observer=recorder)
    own.stop()
    action = client.lock("k").acquire if way == "lock" else client.latch("k").wait
    waiting = world.start(lambda: action(timeout=60))
    recorder.hear(Troubled, 2)
    assert not waiting.done()

    own.start()

    got = waiting.result(60)
    assert got is True if way == "latch" else got.expires_in > 0


def test_server_that_is_not_there_is_an_error_when_the_timeout_is_over(
    world: World, own: ZooKeeperServer
) -> None:
    client = world.connect(f"{own.url()}?connect_timeout=500ms")
    own.stop()

    waiting = Timed(world, lambda: client.lock("k").acquire(timeout=1.5))

    assert 1.5 <= waiting.fails(StoreUnavailable) < 1.5 + OVERRUN
    assert Timed(world, lambda: client.lock("k").acquire(timeout=0)).fails() < OVERRUN
