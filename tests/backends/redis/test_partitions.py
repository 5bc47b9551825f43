"""A network that is silent, slow or dead on one side, in both worlds."""

from __future__ import annotations

import time
from typing import Any

import pytest

import interlock
from interlock import LockLost
from interlock.drive import now
from interlock.recipes.lock import POLL_CAP
from tests.support.faults import FaultProxy
from tests.support.servers import RedisServer

from ...support.eventually import eventually
from ...support.worlds import World
from .watching import sha

pytestmark = pytest.mark.server


@pytest.fixture
def through(world: World, proxy: FaultProxy) -> Any:
    """A client behind the proxy."""
    return world.connect(f"redis://127.0.0.1:{proxy.port}")


def losses_of(hold: Any) -> list[float]:
    """The instants at which the loss of a hold was reported."""
    instants: list[float] = []
    hold.on_lost(lambda _: instants.append(now()))
    return instants


def test_black_hole_longer_than_a_lease_is_reported_before_validity_ends(
    world: World, proxy: FaultProxy, peek: Any
) -> None:
    """Though the store could be asked for longer than that, and is being asked."""
    client = world.connect(f"redis://127.0.0.1:{proxy.port}?timeout=1.2")
    block = world.hold_block(client.lock("k", lease=1.2))
    hold = block.entered.result(5)
    eventually(lambda: peek.keys("interlock:client:*"))  # the keeper is at rest from here on
    reported = losses_of(hold)
    proxy.blackhole()

    eventually(lambda: reported, within=4)
    assert reported[0] <= hold._lease.until
    block.leave()
    proxy.blackhole(False)
    with pytest.raises(LockLost):
        block.outcome.result(5)


def test_black_hole_from_the_first_moment_is_reported_in_time(
    world: World, through: Any, proxy: FaultProxy
) -> None:
    """The keeper may be introducing itself just then; nobody's loss waits for that."""
    lock = through.lock("k", lease=0.5)
    proxy.hold_back(sha("client_introduce"), 3.0)
    hold = world.do(lock.acquire)
    reported = losses_of(hold)
    eventually(lambda: proxy.fired == 1)
    proxy.blackhole()

    eventually(lambda: reported, within=4)
    assert reported[0] <= hold._lease.until
    proxy.blackhole(False)


def test_loss_is_reported_in_time_though_no_connection_can_be_opened(world: World) -> None:
    """A handshake that hangs (here for want of an answer to AUTH) holds up nobody."""
    with RedisServer("--requirepass", "pw") as server, FaultProxy(server.port) as proxy:
        client = world.connect(f"redis://:pw@127.0.0.1:{proxy.port}")
        hold = world.do(client.lock("k", lease=0.6).acquire)
        reported = losses_of(hold)
        proxy.blackhole()
        proxy.cut()  # so that a new connection is needed

        eventually(lambda: reported, within=3)
        assert reported[0] <= hold._lease.until
        proxy.blackhole(False)
        with pytest.raises(LockLost):
            world.do(hold.release)


def test_failed_renewals_do_not_end_the_renewing(
    world: World, through: Any, proxy: FaultProxy
) -> None:
    hold = world.do(through.lock("k", lease=0.6).acquire)
    first = hold._lease.until
    eventually(lambda: hold._lease.until > first)
    for lose in (proxy.lose_reply, proxy.lose_request):
        before = hold._lease.until
        lose(sha("lock_renew"), times=2)
        eventually(lambda before=before: hold._lease.until > before)  # type: ignore[misc]
    assert proxy.fired == 4
    assert not hold.lost
    world.do(hold.release)


def test_silent_answer_for_one_hold_does_not_hold_up_another(
    proxy: FaultProxy, redis_url: str
) -> None:
    """One connection is silent, the others work: a new hold is renewed in time all the same."""
    with interlock.connect(f"redis://127.0.0.1:{proxy.port}") as client:
        proxy.hold_back(sha("lock_renew"), 4.0)
        client.lock("old", lease=3.0).acquire()
        eventually(lambda: proxy.fired == 1)
        hold = client.lock("new", lease=1.5).acquire()
        first = hold._lease.until
        eventually(lambda: hold._lease.until > first or hold.lost)
        assert not hold.lost


def test_unreachable_server_is_survived_within_a_lease(
    world: World, through: Any, proxy: FaultProxy, peek: Any
) -> None:
    hold = world.do(through.lock("k", lease=1.0).acquire)
    proxy.refuse()
    proxy.cut()
    first = hold._lease.until
    time.sleep(0.45)  # past the first renewal
    assert hold._lease.until == first
    proxy.refuse(False)

    eventually(lambda: hold._lease.until > first)
    assert not hold.lost
    world.do(hold.release)
    assert not peek.exists("k")


def test_waiter_whose_wake_connection_died_silently_gets_the_free_lock(
    world: World, proxy: FaultProxy, redis_url: str, peek: Any
) -> None:
    client = world.connect(f"redis://127.0.0.1:{proxy.port}?protocol=2")
    hold = world.do(world.connect(redis_url).lock("k").acquire)
    waiting = world.start(client.lock("k").acquire)
    eventually(lambda: peek.zcard("interlock:queue:{k}") == 1)
    proxy.half_open(b"SUBSCRIBE")
    released = time.monotonic()
    world.do(hold.release)

    got = waiting.result(10)
    assert time.monotonic() - released < POLL_CAP + 0.5
    world.do(got.release)


def test_waiter_whose_every_connection_died_silently_gets_the_free_lock(
    world: World, proxy: FaultProxy, redis_url: str, peek: Any
) -> None:
    client = world.connect(f"redis://127.0.0.1:{proxy.port}?timeout=0.5")
    hold = world.do(world.connect(redis_url).lock("k").acquire)
    waiting = world.start(client.lock("k").acquire)
    eventually(lambda: peek.zcard("interlock:queue:{k}") == 1)
    proxy.half_open()
    released = time.monotonic()
    world.do(hold.release)

    got = waiting.result(10)
    assert time.monotonic() - released < POLL_CAP + 0.5 + 0.5
    world.do(got.release)


def test_slow_network_is_slow_and_nothing_else(
    world: World, through: Any, proxy: FaultProxy, redis_url: str, peek: Any
) -> None:
    proxy.delay(up=0.05, down=0.05)
    lock, near = through.lock("k", lease=1.0), world.connect(redis_url).lock("k")
    hold = world.do(lock.acquire)
    first = hold._lease.until
    waiting = world.start(near.acquire)
    eventually(lambda: hold._lease.until > first)
    assert not waiting.done()
    world.do(hold.release)
    near_hold = waiting.result(5)
    assert near_hold.token > hold.token
    far_again = world.start(lock.acquire)
    eventually(lambda: peek.zcard("interlock:queue:{k}") == 1)
    world.do(near_hold.release)
    world.do(far_again.result(5).release)
