"""What was given back at an old primary is given back at the new one, in both worlds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from interlock import AcquireTimeout
from tests.support.sentinels import SentinelFleet

from ...support.eventually import eventually
from ...support.worlds import World

pytestmark = pytest.mark.server

QUEUE = "interlock:queue:{k}"

#: A lease that nothing here waits for.
LEASE = 600.0

#: What a client may take that has just found the new primary.
SOON = 5.0

KINDS: dict[str, Callable[[Any], Any]] = {
    "lock": lambda client: client.lock("a", lease=LEASE),
    "fenced lock": lambda client: client.fenced_lock("b", lease=LEASE),
    "mutex": lambda client: client.mutex("c", lease=LEASE),
    "fair lock": lambda client: client.fair_lock("d", lease=LEASE),
    "semaphore": lambda client: client.semaphore("e", permits=2, weight=2, lease=LEASE),
    "leased semaphore": lambda client: client.leased_semaphore("f", permits=1, lease=LEASE),
    "writer": lambda client: client.rwlock("g", lease=LEASE).write(),
}


def kept(fleet: SentinelFleet) -> dict[bytes, tuple[bytes, int]]:
    """Every key of the primary, and how long it lasts."""
    with fleet.ask(fleet.primary()) as peek:
        return {key: (peek.dump(key), max(peek.pttl(key), 0)) for key in peek.scan_iter()}


def fail_over_with(fleet: SentinelFleet, keys: dict[bytes, tuple[bytes, int]]) -> None:
    """Let another server become the primary, which has heard of nothing since these were kept."""
    old = fleet.primary()
    old.kill()
    with fleet.ask(fleet.promoted(old)) as peek:
        for key, (value, left) in keys.items():
            peek.restore(key, left, value, replace=True)


def test_a_lock_that_was_given_back_at_the_old_primary_is_free_at_the_new_one(
    world: World, own_sentinels: SentinelFleet
) -> None:
    fleet = own_sentinels
    client, other = world.connect(fleet.url), world.connect(fleet.url)
    reader = client.rwlock("h", lease=LEASE).read()
    holds = [world.do(lock.acquire) for lock in (reader, *(of(client) for of in KINDS.values()))]
    keys = kept(fleet)
    for each in holds:
        world.do(each.release)
    fail_over_with(fleet, keys)

    world.do(lambda: client.lock("another").acquire(timeout=SOON))
    taken = [world.start(of(other).acquire) for of in KINDS.values()]
    taken.append(world.start(other.rwlock("h").write().acquire))
    for each in taken:
        world.do(each.result(SOON).release)


def test_a_waiter_that_gave_up_at_the_old_primary_does_not_wait_at_the_new_one(
    world: World, own_sentinels: SentinelFleet
) -> None:
    fleet = own_sentinels
    client, other = world.connect(fleet.url), world.connect(fleet.url)
    hold = world.do(other.lock("k", lease=LEASE).acquire)
    waiting = world.start(lambda: client.lock("k").acquire(timeout=1))
    with fleet.ask(fleet.primary()) as peek:
        eventually(lambda: peek.zcard(QUEUE) == 1)
    keys = kept(fleet)
    with pytest.raises(AcquireTimeout):
        waiting.result(SOON)
    fail_over_with(fleet, keys)

    world.do(lambda: client.lock("another").acquire(timeout=SOON))
    with fleet.ask(fleet.primary()) as peek:
        eventually(lambda: peek.zcard(QUEUE) == 0)
        assert peek.hkeys("k") == [hold.owner.encode()]
