"""Who holds a lock may take it again; who holds a mutex or a permit may not."""

from __future__ import annotations

from typing import Any

import pytest

from ....errors import AcquireTimeout, LockLost, NotHeld
from ....recipes.self_wait import stacked
from ..actors import Actor
from ..scope import only
from ..subjects import PERMITS, REENTRANT
from ..world import BLOCKING, World


@only(kinds=REENTRANT)
async def test_reentering_asks_the_store_nothing(world: World) -> None:
    alice, lock, hold = await world.held()
    asked = world.traffic(lock).about(lock.name)

    again = [await alice.acquire(lock) for _ in range(3)]
    tried = await alice.attempt(world.lock(world.client_of(lock)))

    assert world.traffic(lock).about(lock.name) == asked
    assert {each.token for each in [*again, tried] if each is not None} == {hold.token}
    assert tried is hold


@only(kinds=REENTRANT)
async def test_releases_are_counted_and_the_last_one_frees(world: World) -> None:
    alice, lock, hold = await world.held()
    asked = world.traffic(lock).about(lock.name)
    await alice.acquire(lock)
    await alice.acquire(lock)

    await alice.release(lock)
    await alice.release(hold)

    assert await world.actor().attempt(world.lock()) is None
    assert world.traffic(lock).about(lock.name) == asked
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


@only(kinds=REENTRANT, faces=(BLOCKING,))  # the block of a task is cancelled before it could
async def test_a_block_that_has_lost_its_lock_cannot_enter_it_again(world: World) -> None:
    alice, lock, tokens = world.actor(), world.lock(lease=0.1, renew=False), [0]

    with pytest.raises(LockLost):
        async with alice.within(lock) as hold:
            tokens.append(hold.token)
            await world.until(lambda: hold.lost)
            for _ in range(2):
                with pytest.raises(LockLost):
                    await alice.acquire(lock)

    assert (await alice.acquire(lock)).token > tokens[-1] > 0


async def test_a_hold_that_was_lost_and_never_released_is_in_nobodys_way(world: World) -> None:
    alice, lock, hold = await world.held(lease=0.1, renew=False)
    await world.until(lambda: hold.lost)

    again = await alice.acquire(world.lock(world.client_of(lock)), timeout=5)

    assert again.token > hold.token
    with pytest.raises(LockLost):
        await alice.release(hold)
    again.ensure()
    await world.until(lambda: world.told(lock).count("Lost") == 1)
    await alice.release(again)


async def test_losing_and_taking_again_for_ever_leaves_one_hold_behind(world: World) -> None:
    alice, lock = world.actor(), world.lock()
    for _ in range(4):
        hold = await alice.acquire(lock, timeout=5)
        await world.revoke(hold)
        await world.lost(hold)

    last = await alice.acquire(lock)  # without any limit

    assert await alice.do(lambda: len(list(stacked(lock._session.holds.current[lock._key])))) == 2
    await world.until(lambda: world.told(lock).count("Lost") == 4)
    await alice.release(last)
    with pytest.raises(LockLost):
        await alice.release(lock)  # of the hold before it
    with pytest.raises(NotHeld):
        await alice.release(lock)


@only(kinds=("lock", "mutex"))
async def test_a_late_release_by_the_lock_is_that_of_the_hold_that_was_lost(world: World) -> None:
    alice, lock, hold = await world.held()
    await world.revoke(hold)
    await world.lost(hold)

    async with alice.within(world.lock(world.client_of(lock))) as anew:
        with pytest.raises(LockLost) as late:
            await alice.release(lock)
        anew.ensure()

    assert late.value.token == hold.token
    assert await world.is_free()


@only(kinds=("rwlock",))
async def test_a_late_release_of_a_read_is_told_that_it_was_lost(world: World) -> None:
    alice, client = world.actor(), world.client()
    cache = client.rwlock("claim")
    read: Any = await alice.acquire(cache.read())
    await world.revoke(read)
    await world.lost(read)
    write: Any = await alice.acquire(cache.write())

    with pytest.raises(LockLost):
        await alice.release(cache.read())

    write.ensure()
    await alice.release(cache.write())


@only(kinds=REENTRANT)
async def test_after_a_loss_was_reported_the_lock_can_be_taken_anew(world: World) -> None:
    alice, lock, hold = await world.held(lease=0.1, renew=False)
    await world.until(lambda: hold.lost)
    with pytest.raises(LockLost):
        await alice.release(hold)

    renewed = await alice.acquire(world.lock(world.client_of(lock)))

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
