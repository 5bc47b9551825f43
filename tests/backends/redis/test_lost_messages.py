"""What if the answer is lost right here?  Every single loss, in both worlds."""

from __future__ import annotations

from typing import Any

import pytest

from interlock import StoreError, StoreUnavailable
from tests.support.faults import FaultProxy
from tests.support.servers import RedisServer

from ...support.eventually import eventually
from ...support.worlds import World
from .watching import Monitor, litter, sha, tombs

pytestmark = pytest.mark.server

#: The links are the same for both kinds, so that the second has to prove its scripts only.
ROUNDS = {"lock": 200, "mutex": 50}


@pytest.fixture
def through(world: World, proxy: FaultProxy) -> Any:
    """A client behind the proxy."""
    return world.connect(f"redis://127.0.0.1:{proxy.port}")


def made(client: Any, kind: str, name: str = "k", **terms: Any) -> Any:
    return getattr(client, kind)(name, **terms)


def warm(world: World, lock: Any) -> None:
    """Teach the server the scripts, so that the next fault strikes a real execution."""
    hold = world.do(lock.acquire)
    world.do(hold.release)


def test_lost_reply_to_acquire_leaves_no_ghost(
    world: World, through: Any, proxy: FaultProxy, peek: Any, kind: str
) -> None:
    lock = made(through, kind)
    warm(world, lock)
    for _ in range(ROUNDS[kind]):
        proxy.lose_reply(sha(f"{kind}_attempt"))
        hold = world.do(lock.acquire)
        assert not hold.lost
        assert peek.pttl("k") > 0
        world.do(hold.release)
        assert not peek.exists("k")
    assert proxy.fired == ROUNDS[kind]
    assert litter(peek) == tombs(peek)


def test_failed_acquire_whose_reply_was_lost_leaves_nothing(
    world: World, through: Any, proxy: FaultProxy, peek: Any, kind: str
) -> None:
    lock = made(through, kind)
    warm(world, lock)
    for _ in range(50):
        proxy.lose_reply(sha(f"{kind}_attempt"))
        with pytest.raises(StoreUnavailable):
            world.do(lambda: lock.acquire(timeout=0))
        assert not peek.exists("k")
    assert proxy.fired == 50
    assert litter(peek) == tombs(peek)


def test_lost_request_is_asked_again(
    world: World, through: Any, proxy: FaultProxy, peek: Any, kind: str
) -> None:
    lock = made(through, kind)
    warm(world, lock)
    for verb in ("attempt", "release"):
        proxy.lose_request(sha(f"{kind}_{verb}"))
        hold = world.do(lock.acquire)
        assert peek.exists("k")
        world.do(hold.release)
        assert not peek.exists("k")
    assert proxy.fired == 2


def test_lost_reply_to_release_is_no_false_alarm(
    world: World, through: Any, proxy: FaultProxy, peek: Any, kind: str
) -> None:
    lock = made(through, kind)
    warm(world, lock)
    for _ in range(ROUNDS[kind]):
        hold = world.do(lock.acquire)
        proxy.lose_reply(sha(f"{kind}_release"))
        world.do(hold.release)  # neither NotHeld nor LockLost
        assert not peek.exists("k")
    assert proxy.fired == ROUNDS[kind]
    assert litter(peek) == tombs(peek)


def test_release_that_stays_unconfirmed_is_paid_by_the_keeper(
    world: World, through: Any, proxy: FaultProxy, peek: Any
) -> None:
    lock = through.lock("k", lease=30)
    hold = world.do(lock.acquire)
    proxy.refuse()
    proxy.cut()
    with pytest.raises(StoreError, match="the keeper tries it again"):
        world.do(hold.release)
    assert peek.exists("k")

    proxy.refuse(False)

    eventually(lambda: not peek.exists("k"), within=3)


def test_lost_reply_to_renew_never_adds_to_the_lease(
    world: World, through: Any, proxy: FaultProxy, peek: Any, kind: str
) -> None:
    hold = world.do(made(through, kind, lease=0.6).acquire)
    first_until = hold._lease.until
    eventually(lambda: hold._lease.until > first_until)  # the script is known from here on
    proxy.lose_reply(sha(f"{kind}_renew"))
    eventually(lambda: proxy.fired == 1)
    doubted_until = hold._lease.until
    longest = 0
    while hold._lease.until == doubted_until:
        longest = max(longest, peek.pttl("k"))
    assert not hold.lost
    assert 0 < longest <= 600
    world.do(hold.release)


def test_acquire_that_arrives_after_its_withdrawal_is_refused(
    world: World, through: Any, proxy: FaultProxy, peek: Any, redis_server: RedisServer
) -> None:
    lock = through.lock("k")
    warm(world, lock)
    with Monitor(redis_server.port) as monitor:
        proxy.hold_back(sha("lock_attempt"), 1.3)
        with pytest.raises(StoreUnavailable):
            world.do(lambda: lock.acquire(timeout=0))
        eventually(lambda: executions(monitor, "lock_attempt") == 1)
    assert not peek.exists("k")
    assert litter(peek) == tombs(peek) != set()


def test_acquire_that_arrives_again_after_the_release_is_refused(
    world: World, through: Any, proxy: FaultProxy, peek: Any, kind: str, redis_server: RedisServer
) -> None:
    lock = made(through, kind)
    warm(world, lock)
    with Monitor(redis_server.port) as monitor:
        proxy.hold_back(sha(f"{kind}_attempt"), 0.3, reset=True)
        hold = world.do(lock.acquire)  # asked again, on another connection
        world.do(hold.release)
        assert executions(monitor, f"{kind}_attempt") == 1
        eventually(lambda: executions(monitor, f"{kind}_attempt") == 2)
    assert not peek.exists("k")


def test_connection_cut_in_the_middle_of_a_reply_is_survived(
    world: World, through: Any, proxy: FaultProxy, peek: Any, kind: str
) -> None:
    lock = made(through, kind)
    warm(world, lock)
    for keep in range(1, 12):
        for verb in ("attempt", "release"):
            proxy.cut_reply(sha(f"{kind}_{verb}"), keep)
        hold = world.do(lock.acquire)
        assert peek.exists("k")
        world.do(hold.release)
        assert not peek.exists("k")
    assert proxy.fired >= 11


def executions(monitor: Monitor, name: str) -> int:
    """How often clients have asked for a script."""
    return sum(sha(name).decode() in seen.words for seen in monitor.sent())
