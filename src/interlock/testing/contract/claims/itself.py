"""A thread or task that would wait for itself for ever is told so at once."""

from __future__ import annotations

import pytest

from ....errors import AcquireTimeout, UsageError
from ..scope import only
from ..subjects import PERMITS
from ..world import World

ABOUT = ("mutex", *PERMITS)


async def test_waiting_for_what_the_waiter_holds_itself_is_refused_at_once(world: World) -> None:
    alice, lock, hold = await world.held()

    with pytest.raises(UsageError, match="would wait for itself"):
        await alice.acquire(lock)
    with pytest.raises(UsageError, match="would wait for itself"):
        async with alice.within(world.lock(world.client_of(lock))):
            pass

    hold.ensure()
    await alice.release(lock)
    assert await world.is_free()


async def test_waiting_for_itself_within_a_limit_ends_and_says_why(world: World) -> None:
    alice, lock, _ = await world.held()

    with pytest.raises(AcquireTimeout) as refused:
        await alice.acquire(lock, timeout=0.05)

    assert any("holds it already" in note for note in refused.value.__notes__)


async def test_a_lease_that_ends_by_itself_is_waited_for(world: World) -> None:
    alice, lock, hold = await world.held(lease=world.brief, renew=False)

    again = await alice.acquire(lock)

    assert hold.lost
    assert again.token > hold.token


async def test_what_another_actor_holds_is_waited_for(world: World) -> None:
    alice, lock, hold = await world.held()
    bob = world.actor()

    coming = bob.start(lock.acquire)
    await world.until(lambda: world.siblings(lock) == 1)
    await alice.release(hold)

    assert not (await coming).lost


async def test_what_was_lost_is_waited_for_where_another_has_it_now(world: World) -> None:
    alice, lock, hold = await world.held()
    await world.revoke(hold)
    await world.lost(hold)
    bob, his, _ = await world.held()

    coming = alice.start(lock.acquire)
    await world.until(lambda: world.siblings(lock) == 1)
    await bob.release(his)

    assert (await coming).token > hold.token


@only(kinds=PERMITS)
async def test_permits_that_others_hold_are_waited_for(world: World) -> None:
    alice, lock, _ = await world.held(permits=2)
    bob, his, theirs = await world.held()

    coming = alice.start(lock.acquire)
    await world.until(lambda: world.siblings(lock) == 1)
    await bob.release(theirs)

    assert not (await coming).lost
    with pytest.raises(UsageError, match="2 of the 2 permits"):
        await alice.acquire(lock)
    assert await bob.attempt(his) is None


@only(kinds=("semaphore",))
async def test_a_weight_that_cannot_fit_beside_ones_own_is_refused(world: World) -> None:
    alice, client = world.actor(), world.client()
    await alice.acquire(world.lock(client, permits=4, weight=2))

    await alice.acquire(world.lock(client, permits=4, weight=2))
    with pytest.raises(UsageError, match="4 of the 4 permits"):
        await alice.acquire(world.lock(client, permits=4, weight=3))
