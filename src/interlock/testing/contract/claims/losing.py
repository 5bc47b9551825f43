"""A lease that ended is reported to its holder, and harms no other client."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest

from ....drive import now
from ....errors import LockLost
from ..actors import AnyHold
from ..scope import only
from ..subjects import PLAIN
from ..world import World, session_of


async def ended(world: World, hold: AnyHold) -> None:
    """Let the lease of a hold that is not renewed come to its end."""
    await world.until(lambda: hold.lost)


async def test_a_late_release_does_not_free_the_next_holder(world: World) -> None:
    alice, hers, hold = await world.held(lease=0.1, renew=False)
    await ended(world, hold)
    bob, his, theirs = await world.held()

    with pytest.raises(LockLost) as late:
        await alice.release(hers)

    assert late.value.name == "claim"
    assert late.value.token == hold.token
    info = await world.look()
    assert info is not None
    assert info.holders[0].owner == theirs.owner
    await bob.release(his)


@only(kinds=PLAIN)
async def test_a_late_release_of_a_shared_lock_object_does_not_free_the_next_holder(
    world: World,
) -> None:
    lock = world.lock(lease=0.1, renew=False)
    alice, bob = world.actor(), world.actor()
    hold = await alice.acquire(lock)
    await ended(world, hold)
    theirs = await bob.acquire(world.lock(world.client_of(lock)))

    with pytest.raises(LockLost):
        await alice.release(lock)

    info = await world.look()
    assert info is not None
    assert info.holders[0].owner == theirs.owner
    assert not theirs.lost


@only(kinds=PLAIN)
async def test_leaving_a_block_after_a_loss_says_so(world: World) -> None:
    alice, lock = world.actor(), world.lock(lease=0.1, renew=False)

    with pytest.raises(LockLost):
        async with alice.within(lock) as hold:
            await ended(world, hold)

    assert await alice.attempt(lock) is not None


async def test_a_loss_does_not_hide_the_exception_of_the_body(world: World) -> None:
    alice, hers, hold = await world.held()

    with pytest.raises(ZeroDivisionError) as raised:
        async with alice.within(hold):
            await world.revoke(hold)
            raise ZeroDivisionError

    assert any("lost" in note for note in raised.value.__notes__)
    assert await alice.attempt(hers) is not None


@only(kinds=PLAIN)
async def test_a_lost_hold_says_so_in_every_way(world: World) -> None:
    _, _, hold = await world.held(lease=0.1, renew=False)
    await ended(world, hold)

    assert hold.expires_in == 0
    assert "lost" in repr(hold)
    with pytest.raises(LockLost) as lost:
        hold.ensure()
    assert lost.value.token == hold.token


@only(kinds=PLAIN)
async def test_a_hold_is_lost_by_the_clock_whether_or_not_anybody_noticed(world: World) -> None:
    _, _, hold = await world.held(lease=20)

    # As if the process had slept: nothing of it has run in the meantime, not even a keeper.
    with patch.object(session_of(hold), "clock", lambda: now() + 20):
        assert hold.lost
        assert hold.expires_in == 0
        with pytest.raises(LockLost, match="clock"):
            hold.ensure()

    assert not hold.lost


@only(kinds=PLAIN)
async def test_a_release_after_the_validity_has_passed_says_so(world: World) -> None:
    alice, _, hold = await world.held(lease=20)

    # The store would still take it back: its lease is longer than what we trusted.
    with patch.object(session_of(hold), "clock", lambda: now() + 20), pytest.raises(LockLost):
        await alice.release(hold)

    assert await world.is_free()


@only(kinds=PLAIN)
async def test_callbacks_hear_of_a_loss_once(world: World) -> None:
    _, lock, hold = await world.held(lease=0.1, renew=False)
    heard: list[Any] = []
    hold.on_lost(lambda _: 1 / 0)
    hold.on_lost(heard.append)

    await world.until(lambda: "Lost" in world.told(lock))
    await world.until(lambda: bool(heard))

    assert heard == [hold]
    hold.on_lost(heard.append)
    assert heard == [hold, hold]


async def test_a_loss_that_the_release_finds_is_told_once(world: World) -> None:
    alice, lock, hold = await world.held(lease=20)
    heard: list[Any] = []
    hold.on_lost(heard.append)

    # As if the process had slept: the keeper has not run in the meantime.
    with patch.object(session_of(hold), "clock", lambda: now() + 20), pytest.raises(LockLost):
        await alice.release(hold)

    assert heard == [hold]
    assert hold.lost
    assert world.told(lock) == ["Granted", "Lost"]


@only(kinds=PLAIN)
async def test_a_known_loss_is_raised_though_the_store_is_out_of_reach(world: World) -> None:
    alice, lock, hold = await world.held(lease=0.3, renew=False)
    await world.until(lambda: hold.lost)
    world.traffic(lock).cut = True

    with pytest.raises(LockLost):
        await alice.release(hold)


@only(kinds=("lock", "semaphore"))  # where siblings wait in the local queue, and where they ask
async def test_a_sibling_gets_what_was_lost(world: World) -> None:
    _, lock, hold = await world.held(lease=0.6, renew=False)
    coming = world.actor().start(lock.acquire)
    await world.until(lambda: world.siblings(lock) == 1 or hold.lost)

    theirs = await coming

    assert hold.lost
    assert theirs.token > hold.token
