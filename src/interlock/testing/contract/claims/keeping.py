"""A lease is kept as long as it should be, and no longer."""

from __future__ import annotations

import asyncio

import pytest

from ....drive import now
from ....errors import LockLost
from ..scope import only
from ..subjects import PLAIN
from ..world import World


@only(kinds=PLAIN)
async def test_a_short_lease_is_kept_for_many_times_its_length(world: World) -> None:
    alice, hers, hold = await world.held(lease=world.brief)
    bob, his = world.actor(), world.lock()

    end = now() + 2.5 * world.brief
    while now() < end:
        assert await bob.attempt(his) is None
        assert not hold.lost
        await asyncio.sleep(0.01)

    await alice.release(hers)
    assert await bob.attempt(his) is not None


async def test_a_lease_that_is_not_renewed_ends_by_itself(world: World) -> None:
    _, _, hold = await world.held(lease=0.3, renew=False)
    began = hold._lease.acquired

    _, _, theirs = await world.held()

    assert hold.lost
    assert theirs._lease.acquired - began < 3
    assert theirs.token > hold.token


@only(kinds=PLAIN)
async def test_keeping_ends_at_its_ceiling(world: World) -> None:
    _, _, hold = await world.held(lease=0.5, max_hold=0.5)

    await world.until(lambda: hold.lost)

    assert 0.5 < now() - hold._lease.acquired < 2.5
    assert await world.actor().acquire(world.lock(), timeout=1) is not None


@only(kinds=PLAIN)
async def test_a_released_hold_is_neither_kept_nor_lost(world: World) -> None:
    alice, lock, hold = await world.held(lease=0.8)
    heard: list[object] = []
    hold.on_lost(heard.append)

    await alice.release(hold)
    await world.until(lambda: now() > hold._lease.until)

    assert heard == []
    assert world.told(lock) == ["Granted", "Released"]
    assert await world.is_free()


@only(kinds=PLAIN)
async def test_a_store_out_of_reach_for_a_while_does_not_end_the_keeping(world: World) -> None:
    _, lock, hold = await world.held(lease=1.2)

    world.traffic(lock).cut = True
    await world.until(lambda: world.traffic(lock).refused > 1)  # the keeper has asked in vain
    world.traffic(lock).cut = False
    await world.until(lambda: world.told(lock).count("Renewed") > 1)

    assert not hold.lost


@only(kinds=PLAIN)
async def test_silence_is_a_loss_while_the_store_still_keeps_others_out(world: World) -> None:
    _, lock, hold = await world.held(lease=2)
    heard: list[float] = []
    hold.on_lost(lambda _: heard.append(now()))

    world.traffic(lock).cut = True
    await world.until(lambda: bool(heard))

    assert heard[0] < hold._lease.until
    with pytest.raises(LockLost, match="renewal"):
        hold.ensure()


async def test_a_holder_hears_soon_that_its_lock_was_taken_away(world: World) -> None:
    _, _, hold = await world.held(lease=0.9)

    await world.revoke(hold)
    _, _, theirs = await world.held()
    await world.until(lambda: hold.lost)

    assert now() - theirs._lease.acquired < 1.5
    assert not theirs.lost


async def test_many_holds_are_kept_by_one(world: World) -> None:
    alice, client = world.actor(), world.client()
    names = [f"claim:{number}" for number in range(40)]
    holds = [await alice.acquire(world.lock(client, name, lease=0.9)) for name in names]
    trips = world.traffic(client).trips

    # Four times a third of the lease: longer than any of them lasts by itself.
    await world.until(lambda: world.told(client).count("Renewed") >= 160)

    assert not any(hold.lost for hold in holds)
    # Four times all of them: a few trips each time, far from one for each hold.
    assert world.traffic(client).trips - trips <= 30
    bob, other = world.actor(), world.client()
    for name in names[::10]:
        assert await bob.attempt(world.lock(other, name)) is None


@only(kinds=PLAIN)
async def test_silence_suspends_a_hold_until_an_answer_comes(world: World) -> None:
    _, lock, hold = await world.held(lease=1.5)
    told = world.told

    world.traffic(lock).cut = True
    await world.until(lambda: hold.suspended)
    assert not hold.lost
    assert told(lock)[-1] == "Suspended"
    world.traffic(lock).cut = False
    await world.until(lambda: told(lock)[-1] == "Renewed")

    assert not hold.suspended
    assert told(lock).count("Suspended") == 1  # however often it was asked in vain
