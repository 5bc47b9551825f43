"""A block gives back what it took itself, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from ....errors import NotHeld
from ..scenes.multiholds import NAMES, left, three
from ..scenes.permits import available
from ..scope import only
from ..subjects import PERMITS
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


async def test_a_block_leaves_what_was_taken_anew_inside_of_it(world: World) -> None:
    """As `threading.Condition.wait` does it: released in the block, and taken again."""
    alice, lock = world.actor(), world.lock()

    async with alice.within(lock):
        await alice.release(lock)
        assert await world.is_free()
        await alice.acquire(lock)

    assert await world.is_free()


async def test_a_block_left_by_another_actor_gives_back_what_it_entered(world: World) -> None:
    """As that of a generator that is closed elsewhere."""
    alice, bob, lock = world.actor(), world.actor(), world.lock()
    prefix = world.pick("__", "__a")
    await alice.do(getattr(lock, f"{prefix}enter__"))

    await bob.do(getattr(lock, f"{prefix}exit__"), None, None, None)

    assert await world.is_free()


async def test_what_ends_a_block_is_not_hidden_by_a_release_inside_of_it(world: World) -> None:
    alice, lock = world.actor(), world.lock()

    with pytest.raises(KeyError) as ended:
        async with alice.within(lock) as hold:
            await alice.release(hold)
            raise KeyError("of the body")

    assert any("not held" in note for note in ended.value.__notes__)


@only(kinds=("multilock",))
async def test_a_block_of_several_leaves_what_was_taken_anew_inside_of_it(world: World) -> None:
    alice, locks = world.actor(), three(world)

    async with alice.within(locks):
        await alice.release(locks)
        await alice.acquire(locks)

    assert await left(world) == set()


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
    holds, hold = [], lock._session.holds.current.get(lock._key)
    while hold is not None:
        holds.append(hold)
        hold = hold.outer
    return holds


@only(kinds=("multilock",))
async def test_a_block_gives_back_its_own_multihold(world: World) -> None:
    alice, locks = world.actor(), three(world)

    async with alice.within(locks):
        inner = await alice.do(locks.acquire)

    inner.ensure()
    assert await left(world) == set(NAMES)
    await alice.release(inner)
    assert await left(world) == set()


@only(kinds=("multilock",))
async def test_multiholds_inside_of_multiholds_leave_no_callbacks(world: World) -> None:
    alice, locks = world.actor(), three(world)
    outer = await alice.do(locks.acquire)

    for _ in range(5):
        async with alice.within(locks):
            pass

    assert [len(hold._lease._callbacks) for hold in outer.holds] == [1, 1, 1]
    await alice.release(outer)


@only(kinds=("multilock",))
async def test_a_member_that_was_released_by_itself_is_missed(world: World) -> None:
    alice, locks = world.actor(), three(world)
    multihold = await alice.do(locks.acquire)

    await alice.release(multihold.holds[0])

    assert multihold.lost
    with pytest.raises(NotHeld):
        multihold.ensure()
    with pytest.raises(NotHeld):
        await alice.release(multihold)
    assert await left(world) == set()


@only(kinds=("majority_of",))
async def test_a_majority_can_be_entered_again_without_the_member_it_has_lost(
    world: World,
) -> None:
    alice, locks = world.actor(), three(world)
    async with alice.within(locks) as multihold:
        await world.revoke(multihold.holds[1])
        await world.lost(multihold.holds[1])

        async with alice.within(locks) as again:
            assert len(again.holds) == 2
        multihold.ensure()


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
    await settled(latch.start(20_000))
    trips = world.traffic(client).trips

    assert await settled(client.revoke("claim")) is not None

    assert world.traffic(client).trips - trips <= 3
    assert await settled(latch.wait(timeout=0))
