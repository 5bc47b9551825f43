"""A block gives back what it took itself, and nobody else's."""

from __future__ import annotations

from typing import Any

import pytest

from ....errors import NotHeld
from ..scenes.bundles import NAMES, left, three
from ..scenes.permits import available
from ..subjects import PERMITS
from ..terms import only
from ..world import World, settled

WEIGHTY = ("semaphore",)


@only(kinds=PERMITS)
async def test_a_block_gives_back_its_own_permit(world: World) -> None:
    alice, client = world.actor(), world.client()
    semaphore = world.lock(client, permits=3)

    async with alice.within(semaphore) as mine:
        other = await alice.acquire(world.lock(client))

    with pytest.raises(NotHeld):
        mine.ensure()
    other.ensure()
    assert await available(world) == 2
    await alice.release(other)
    assert await available(world) == 3


@only(kinds=WEIGHTY)
async def test_a_block_gives_back_as_much_as_it_took(world: World) -> None:
    alice, client = world.actor(), world.client()

    async with alice.within(world.lock(client, permits=4, weight=3)):
        light = world.lock(client)
        await alice.acquire(light)

    assert await available(world) == 3
    await alice.release(light)
    assert await available(world) == 4


@only(kinds=PERMITS)
async def test_permits_given_back_in_any_order_leave_nothing_in_the_book(world: World) -> None:
    alice, semaphore = world.actor(), world.lock(permits=4)
    window = [await alice.acquire(semaphore) for _ in range(4)]

    for _ in range(20):
        await alice.release(window.pop(0))
        window.append(await alice.acquire(semaphore))
    assert await alice.do(lambda: len(chain(semaphore))) == 4
    for hold in window:
        await alice.release(hold)

    assert await alice.do(lambda: chain(semaphore)) == []


def chain(lock: Any) -> list[Any]:
    """The holds of a name that the running thread or task has."""
    holds, hold = [], lock.client.books.mine.get(lock.key)
    while hold is not None:
        holds.append(hold)
        hold = hold.outer
    return holds


@only(kinds=("multilock",))
async def test_a_block_gives_back_its_own_bundle(world: World) -> None:
    alice, several = world.actor(), three(world)

    async with alice.within(several):
        inner = await alice.do(several.acquire)

    inner.ensure()
    assert await left(world) == set(NAMES)
    await alice.release(inner)
    assert await left(world) == set()


@only(kinds=("multilock",))
async def test_bundles_inside_of_bundles_leave_no_callbacks(world: World) -> None:
    alice, several = world.actor(), three(world)
    outer = await alice.do(several.acquire)

    for _ in range(5):
        async with alice.within(several):
            pass

    assert [len(hold._callbacks) for hold in outer.holds] == [1, 1, 1]
    await alice.release(outer)


@only(kinds=("multilock",))
async def test_a_member_that_was_released_by_itself_is_missed(world: World) -> None:
    alice, several = world.actor(), three(world)
    bundle = await alice.do(several.acquire)

    await alice.release(bundle.holds[0])

    assert bundle.lost
    with pytest.raises(NotHeld):
        bundle.ensure()
    with pytest.raises(NotHeld):
        await alice.release(bundle)
    assert await left(world) == set()


@only(kinds=("majority_of",))
async def test_a_majority_can_be_entered_again_without_the_member_it_has_lost(
    world: World,
) -> None:
    alice, several = world.actor(), three(world)
    async with alice.within(several) as bundle:
        await world.revoke(bundle.holds[1])
        await world.lost(bundle.holds[1])

        async with alice.within(several) as again:
            assert len(again.holds) == 2
        bundle.ensure()


@only(kinds=("rwlock",))
async def test_leaving_a_tried_write_goes_on_reading(world: World) -> None:
    alice, client = world.actor(), world.client()
    cache = client.rwlock("claim")

    async with alice.within(cache.write().attempt()):
        hold = await alice.acquire(cache.read())

    assert hold.mode == "read"  # type: ignore[union-attr]
    reading = await world.actor().attempt(world.client().rwlock("claim").read())
    assert reading is not None


@only(kinds=("latch",))
async def test_a_latch_that_is_revoked_opens_at_once(world: World) -> None:
    client = world.client()
    latch = client.latch("claim")
    await settled(latch.set(20_000))
    trips = world.watch(client).trips

    assert await settled(client.revoke("claim")) is not None

    assert world.watch(client).trips - trips <= 3
    assert await settled(latch.wait(timeout=0))
