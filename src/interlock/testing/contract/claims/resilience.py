"""What a client endures: many waiters at once, rude callbacks, and its own end."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any

import pytest

from ....errors import NotHeld, StoreUnavailable
from ..scope import only
from ..subjects import KINDS, PLAIN
from ..world import World


async def test_every_waiter_of_one_client_is_woken_promptly(world: World) -> None:
    names = [f"name {i}" for i in range(6)]
    alice, theirs, ours = world.actor(), world.client(), world.client()
    holds = [await alice.acquire(world.lock(theirs, name)) for name in names]
    waiters = [world.actor() for _ in names]
    coming = [
        actor.start(world.lock(ours, name).acquire)
        for actor, name in zip(waiters, names, strict=True)
    ]
    await world.until(lambda: world.told(ours).count("Parked") >= len(names))

    began = time.monotonic()
    for hold in holds:
        await alice.release(hold)
    await asyncio.gather(*coming)

    assert time.monotonic() - began < 1.0  # a lost lead would cost a poll cap


# Redisson keeps the queues of such fair locks, and the leases of such permits, under one key.
@only(kinds=tuple(set(KINDS) - {"fair_lock", "leased_semaphore"}))
async def test_a_name_and_the_same_name_in_braces_do_not_meet(world: World) -> None:
    alice, plain, _ = await world.held(name="a")
    bob, tagged, _ = await world.held(name="{a}")
    _, _, coming = await world.waiting(name="{a}")

    await alice.release(plain)

    assert await world.is_free("a")
    assert not coming.done()
    await bob.release(tagged)
    assert not (await coming).lost


async def test_what_was_granted_in_an_answer_that_was_lost_is_taken_once(world: World) -> None:
    alice, lock = world.actor(), world.lock()
    world.traffic(lock).losing.append(lock.name)

    hold = await alice.acquire(lock, timeout=5)

    assert world.traffic(lock).losing == []
    info = await world.look()
    assert info is not None
    assert [holder.owner for holder in info.holders] == [hold.owner]
    await alice.release(hold)
    assert await world.is_free()


async def test_what_was_released_in_an_answer_that_was_lost_is_free(world: World) -> None:
    alice, lock, hold = await world.held()
    world.traffic(lock).losing.append(lock.name)

    await alice.release(hold)

    assert world.traffic(lock).losing == []
    assert await world.is_free()
    assert await world.actor().attempt(world.lock()) is not None


@only(kinds=PLAIN)
async def test_a_callback_that_exits_does_not_end_the_keeping(world: World) -> None:
    client, alice = world.client(), world.actor()
    lost = await alice.acquire(world.lock(client, "lost"))
    kept = await alice.acquire(world.lock(client, "kept"))
    lost.on_lost(lambda _: sys.exit(1))

    await world.revoke(lost)
    await world.lost(lost)
    until = kept._lease.until

    await world.renewed(kept)
    assert kept._lease.until > until
    assert not kept.lost


@only(kinds=PLAIN)
async def test_what_is_released_says_so(world: World) -> None:
    alice, lock, hold = await world.held()

    await alice.release(lock)

    assert hold.expires_in == 0.0
    assert not hold.lost  # which is what happens without a release
    with pytest.raises(NotHeld, match="released"):
        hold.ensure()


@only(kinds=PLAIN)
async def test_nothing_is_kept_beyond_the_ceiling(world: World) -> None:
    _, _, hold = await world.held(lease=3.0, max_hold=0.4)
    told: list[Any] = []
    hold.on_lost(told.append)
    assert hold.expires_in <= 0.4

    await world.until(lambda: bool(told))

    assert hold._lease.cause is not None
    assert "allow no renewal" in hold._lease.cause


@only(kinds=PLAIN)
async def test_who_stands_behind_a_holder_gets_nothing_from_a_closed_client(
    world: World,
) -> None:
    client = world.client()
    alice, bob = world.actor(), world.actor()
    lock = world.lock(client)
    await alice.acquire(lock)
    coming = bob.start(lock.acquire)
    await world.until(lambda: world.standing(lock) == 1)

    await world.close(client)

    with pytest.raises(StoreUnavailable, match="closed"):
        await coming
    assert await world.is_free()


@only(kinds=PLAIN)
async def test_a_callback_that_nobody_would_await_is_refused(world: World) -> None:
    _, _, hold = await world.held()

    async def callback(lost: Any) -> None:
        raise AssertionError("never called")

    with pytest.raises(TypeError, match="plain function"):
        hold.on_lost(callback)
