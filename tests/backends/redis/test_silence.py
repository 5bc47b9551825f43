"""A server that falls silent, or is not there yet: nobody waits longer than promised."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

import pytest

import interlock
from interlock import OutcomeUnknown, StoreUnavailable, aio
from interlock.drive import now
from interlock.model import guard
from tests.support.faults import FaultProxy
from tests.support.servers import RedisServer

from ...support.eventually import eventually
from ...support.metronome import lateness
from ...support.worlds import OVERRUN, Timed, World
from .watching import Monitor

pytestmark = pytest.mark.server

NAMES = "abcdefgh"
QUEUE = "interlock:queue:{%s}"


@pytest.fixture
def through(world: World, proxy: FaultProxy) -> Any:
    """A client behind the proxy."""
    return world.connect(f"redis://127.0.0.1:{proxy.port}")


def several(world: World, *locks: Any, need: str = "all_of") -> Any:
    """Several locks as one."""
    return getattr(interlock if world.name == "threads" else aio, need)(*locks)


def gone(peek: Any, names: str) -> bool:
    return not any(peek.exists(name) for name in names)


# --- several locks ------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [2, 4, 8])
def test_multilock_ends_in_time_when_the_server_falls_silent(
    world: World, through: Any, proxy: FaultProxy, redis_url: str, peek: Any, number: int
) -> None:
    names = NAMES[:number]
    hold = world.do(world.connect(redis_url).lock(names[-1]).acquire)
    locks = through.multilock(*names, lease=60)
    waiting = Timed(world, lambda: locks.acquire(timeout=0.5))
    eventually(lambda: peek.zcard(QUEUE % names[-1]) == 1)

    proxy.blackhole()

    assert waiting.fails() < 0.5 + OVERRUN
    proxy.blackhole(False)
    eventually(lambda: gone(peek, names[:-1]), within=10)  # the keeper pays what is owed
    world.do(hold.release)


def test_multilock_ends_in_time_when_the_server_is_stopped(
    world: World, own_redis: RedisServer
) -> None:
    client, other = world.connect(own_redis.url), world.connect(own_redis.url)
    world.do(other.lock("h").acquire)
    locks = client.multilock(*NAMES, lease=60)
    with Monitor(own_redis.port) as monitor:
        waiting = Timed(world, lambda: locks.acquire(timeout=0.5))
        eventually(lambda: any(QUEUE % "h" in seen.words for seen in monitor.commands()))

    own_redis.pause()

    assert waiting.fails() < 0.5 + OVERRUN
    own_redis.resume()


def test_multihold_is_released_in_the_time_of_one_when_the_server_falls_silent(
    world: World, through: Any, proxy: FaultProxy, peek: Any
) -> None:
    multihold = world.do(through.multilock(*NAMES, lease=60).acquire)
    proxy.blackhole()

    assert Timed(world, multihold.release).fails(StoreUnavailable, OutcomeUnknown) < 5.5

    proxy.blackhole(False)
    eventually(lambda: gone(peek, NAMES), within=10)


def test_multihold_is_released_in_one_round_trip(
    world: World, through: Any, proxy: FaultProxy
) -> None:
    locks = through.multilock(*NAMES)
    world.do(world.do(locks.acquire).release)  # from now on the server knows the scripts
    multihold = world.do(locks.acquire)
    proxy.delay(up=0.5, down=0.5)
    began = time.monotonic()

    world.do(multihold.release)

    assert 1 <= time.monotonic() - began < 2  # two would take so long, eight four times that


def test_locks_of_two_stores_end_in_time_when_one_of_them_is_stopped(
    world: World, own_redis: RedisServer, redis_url: str, peek: Any
) -> None:
    """And what the other one holds is given back, by itself and not by its lease."""
    here, away = world.connect(redis_url), world.connect(own_redis.url)
    world.do(world.do(away.lock("first").acquire).release)
    locks = several(world, *(here.lock(name) for name in NAMES[:4]), away.lock("z"))
    own_redis.pause()

    for timeout in (0, 0.5):
        waiting = Timed(world, lambda timeout=timeout: locks.acquire(timeout=timeout))  # type: ignore[misc]
        assert waiting.fails() < timeout + OVERRUN
        assert gone(peek, NAMES[:4])
    own_redis.resume()


@pytest.mark.parametrize("stopped", [1, 2])
def test_majority_ends_in_time_when_stores_are_stopped(world: World, stopped: int) -> None:
    with RedisServer() as one, RedisServer() as two, RedisServer() as three:
        servers = (one, two, three)
        clients = [world.connect(server.url) for server in servers]
        for client in clients:
            world.do(world.do(client.lock("first").acquire).release)
        locks = several(world, *(each.lock("k") for each in clients), need="majority_of")
        for server in servers[:stopped]:
            server.pause()

        for timeout in (0, 0.5):
            taking = Timed(world, lambda timeout=timeout: locks.acquire(timeout=timeout))  # type: ignore[misc]
            if stopped == 1:
                multihold = taking.outcome.result(timeout + OVERRUN)
                assert Timed(world, multihold.release).outcome.result(5.5) is None
            else:
                assert taking.fails() < timeout + OVERRUN
        for server in servers[:stopped]:
            server.resume()


# --- many groups --------------------------------------------------------------------------------


def test_silence_is_told_to_each_of_many_groups_before_its_validity_ends(
    world: World, through: Any, proxy: FaultProxy
) -> None:
    """Each length of lease, and each kind, is renewed by itself."""
    makers = [through.lock, through.mutex, through.fair_lock, through.fenced_lock]

    def scene() -> float:
        holds = [
            world.do(makers[number % 4](f"k{number}", lease=1.0 + number / 50).acquire)
            for number in range(40)
        ]
        heard: dict[str, float] = {}
        for hold in holds:
            hold.on_lost(lambda lost: heard.setdefault(lost.name, now()))
        first = holds[-1]._lease.until
        eventually(lambda: holds[-1]._lease.until > first)  # all of them are being kept
        proxy.blackhole()
        eventually(lambda: len(heard) == len(holds), within=10)
        proxy.blackhole(False)
        late: list[float] = [heard[hold.name] - hold._lease.until for hold in holds]
        return max(late)

    assert lateness(scene, guard(1.0) / 2) < 0


# --- late answers -------------------------------------------------------------------------------


@pytest.mark.parametrize("delay", [0.4, 0.9])
@pytest.mark.parametrize("timeout", [0, 0.2])
def test_acquire_ends_in_time_however_late_each_answer_is(
    world: World, through: Any, proxy: FaultProxy, redis_url: str, delay: float, timeout: float
) -> None:
    world.do(world.do(through.lock("first").acquire).release)
    hold = world.do(world.connect(redis_url).lock("k").acquire)
    proxy.delay(up=delay / 2, down=delay / 2)

    acquire = through.lock("k").acquire

    assert Timed(world, lambda: acquire(timeout=timeout)).fails() < timeout + OVERRUN
    proxy.delay()
    world.do(hold.release)


@pytest.mark.parametrize("protocol", [2, 3])
def test_acquire_ends_in_time_though_it_cannot_listen(
    world: World, proxy: FaultProxy, redis_url: str, protocol: int
) -> None:
    client = world.connect(f"redis://127.0.0.1:{proxy.port}?protocol={protocol}")
    world.do(world.do(client.lock("first").acquire).release)
    hold = world.do(world.connect(redis_url).lock("k").acquire)
    proxy.hold_back(b"SUBSCRIBE", 6.0)

    waiting = Timed(world, lambda: client.lock("k").acquire(timeout=0.2))

    assert waiting.fails() < 0.2 + OVERRUN
    assert proxy.fired == 1
    world.do(hold.release)


# --- a server that is not there yet --------------------------------------------------------------


WAYS: dict[str, Callable[[Any], Any]] = {
    "lock": lambda client: client.lock("k").acquire(timeout=20),
    "semaphore": lambda client: client.semaphore("k", permits=2).acquire(timeout=20),
    "read": lambda client: client.rwlock("k").read().acquire(timeout=20),
    "latch": lambda client: client.latch("k").wait(timeout=20),
    "multilock": lambda client: client.multilock("k", "l").acquire(timeout=20),
}


@pytest.mark.parametrize("way", WAYS)
def test_waiter_gets_it_from_a_server_that_comes_up_meanwhile(
    world: World, own_redis: RedisServer, caplog: pytest.LogCaptureFixture, way: str
) -> None:
    client = world.connect(own_redis.url)
    own_redis.kill()
    waiting = world.start(lambda: WAYS[way](client))
    eventually(lambda: warnings(caplog))
    time.sleep(0.3)  # it is not only tried twice
    assert not waiting.done()

    own_redis.start()

    got = waiting.result(20)
    assert got is True if way == "latch" else got.expires_in > 0
    assert len(warnings(caplog)) == 1
    if way != "latch":
        world.do(got.release)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What was said to people about waiting."""
    return [
        each.getMessage()
        for each in list(caplog.records)
        if each.name == "interlock.lock" and each.levelno == logging.WARNING
    ]


def test_wrong_port_is_said_at_once_and_is_an_error_at_the_end(
    world: World, own_redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    client = world.connect(own_redis.url)
    own_redis.kill()
    waiting = Timed(world, lambda: client.lock("orders").acquire(timeout=1.5))
    said = eventually(lambda: warnings(caplog), within=1)[0]

    assert "lock 'orders'" in said
    assert own_redis.url.removesuffix("/") in said
    assert "Connection refused" in said or "refused" in said or "111" in said
    assert "goes on trying for 1.5 s" in said
    assert 1.5 <= waiting.fails(StoreUnavailable) < 1.5 + OVERRUN
    assert len(warnings(caplog)) == 1


def test_try_is_refused_by_a_server_that_is_not_there_at_once(
    world: World, own_redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    client = world.connect(own_redis.url)
    own_redis.kill()

    for way in ({"timeout": 0}, {"blocking": False}):
        trying = Timed(world, lambda way=way: client.lock("k").acquire(**way))  # type: ignore[misc]
        assert trying.fails(StoreUnavailable) < 0.5
    assert warnings(caplog) == []
