"""Who holds a lock may take it again; who holds a mutex or a permit may not."""

from __future__ import annotations

import pytest

from ....errors import AcquireTimeout, LockLost, NotHeld
from ..actors import Actor
from ..subjects import PERMITS, REENTRANT
from ..terms import only
from ..world import World


@only(kinds=REENTRANT)
async def test_reentering_asks_the_store_nothing(world: World) -> None:
    alice, lock, hold = await world.held()
    asked = world.watch(lock).about(lock.name)

    again = [await alice.acquire(lock) for _ in range(3)]
    tried = await alice.attempt(world.lock(lock.client))

    assert world.watch(lock).about(lock.name) == asked
    assert {each.token for each in [*again, tried] if each is not None} == {hold.token}
    assert tried is hold


@only(kinds=REENTRANT)
async def test_releases_are_counted_and_the_last_one_frees(world: World) -> None:
    alice, lock, hold = await world.held()
    asked = world.watch(lock).about(lock.name)
    await alice.acquire(lock)
    await alice.acquire(lock)

    await alice.release(lock)
    await alice.release(hold)

    assert await world.actor().attempt(world.lock()) is None
    assert world.watch(lock).about(lock.name) == asked
    await alice.release(lock)
    assert await world.actor().attempt(world.lock()) is not None
    with pytest.raises(NotHeld):
        await alice.release(lock)


@only(kinds=REENTRANT)
async def test_nested_blocks_free_the_lock_at_the_outermost(world: World) -> None:
    alice, lock = world.actor(), world.lock()

    async with alice.within(lock) as outer:
        async with alice.within(lock) as inner:
            assert inner is outer
        assert not await world.is_free()

    assert await world.is_free()


@only(kinds=REENTRANT)
async def test_another_actor_of_the_client_does_not_reenter(world: World) -> None:
    _, lock, _ = await world.held()

    assert await world.actor().attempt(lock) is None


@only(kinds=REENTRANT)
async def test_a_child_does_not_inherit_the_lock(world: World) -> None:
    alice, lock, _ = await world.held()

    child: Actor = await alice.do(world.actor)

    assert await child.attempt(lock) is None
    with pytest.raises(NotHeld):
        await child.release(lock)


@only(kinds=REENTRANT)
async def test_reentering_what_was_lost_says_so(world: World) -> None:
    alice, lock, hold = await world.held(lease=0.1, renew=False)
    await world.until(lambda: hold.lost)

    with pytest.raises(LockLost):
        await alice.acquire(lock)
    with pytest.raises(LockLost):
        await alice.release(hold)


@only(kinds=REENTRANT)
async def test_after_a_loss_was_reported_the_lock_can_be_taken_anew(world: World) -> None:
    alice, lock, hold = await world.held(lease=0.1, renew=False)
    await world.until(lambda: hold.lost)
    with pytest.raises(LockLost):
        await alice.release(hold)

    renewed = await alice.acquire(lock)

    assert renewed.token > hold.token
    assert not renewed.lost


@only(kinds=REENTRANT)
async def test_an_inner_release_of_what_was_lost_says_so(world: World) -> None:
    alice, lock, hold = await world.held(lease=2 * world.brief, renew=False)
    await alice.acquire(lock)
    await world.until(lambda: hold.lost)

    for _ in range(2):
        with pytest.raises(LockLost):
            await alice.release(lock)
    with pytest.raises(NotHeld):
        await alice.release(lock)


@only(kinds=("mutex", *PERMITS))
async def test_what_is_not_reentrant_is_refused_to_its_own_holder(world: World) -> None:
    alice, lock, hold = await world.held()

    assert await alice.attempt(lock) is None
    with pytest.raises(AcquireTimeout):
        await alice.acquire(lock, timeout=0.01)

    assert not hold.lost
    await alice.release(lock)
    assert await world.is_free()
