"""Semaphores: as many hold it as there are permits, and how many there are can change."""

from __future__ import annotations

import asyncio
import re
import time
from typing import Any

import pytest

from ....errors import NotHeld, StoreMisconfigured
from ..actors import Actor, AnyLock
from ..scenes.permits import WRONG_NUMBERS, available, set_permits
from ..subjects import PERMITS
from ..world import World

ABOUT = PERMITS


# --- as many as there are permits -------------------------------------------------------------


async def test_no_more_than_its_permits_are_held_at_once(world: World) -> None:
    held = [await world.held(permits=3) for _ in range(3)]

    assert await world.actor().attempt(world.lock()) is None
    actor, semaphore, _ = held[1]
    await actor.release(semaphore)
    assert await world.actor().attempt(world.lock()) is not None
    assert await world.actor().attempt(world.lock()) is None


async def test_a_crowd_never_holds_more_than_its_permits(world: World) -> None:
    clients, inside, most = [world.client() for _ in range(2)], [0], [0]

    async def pass_through(actor: Actor, semaphore: AnyLock) -> None:
        for _ in range(4):
            async with actor.within(semaphore):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                await asyncio.sleep(0)
                inside[0] -= 1

    crowd = [world.lock(client, permits=3) for client in clients for _ in range(4)]
    await asyncio.gather(*(pass_through(world.actor(), each) for each in crowd))

    assert 1 <= most[0] <= 3
    assert await available(world) == 3
    assert await world.is_free()


async def test_one_actor_may_take_two(world: World) -> None:
    alice, semaphore, first = await world.held(permits=3)

    second = await alice.acquire(semaphore)

    assert first.owner != second.owner
    assert await available(world) == 1
    await alice.release(semaphore)
    await alice.release(first)
    assert await available(world) == 3
    with pytest.raises(NotHeld):
        await alice.release(semaphore)


async def test_actors_of_a_client_hold_permits_side_by_side(world: World) -> None:
    _, semaphore, _ = await world.held(permits=2)

    assert await world.actor().attempt(semaphore) is not None
    assert await world.actor().attempt(semaphore) is None
    assert await available(world) == 0


async def test_a_permit_has_an_id_of_its_own(world: World) -> None:
    alice, client = world.actor(), world.client()
    semaphore = world.lock(client, permits=20)
    mine: list[Any] = [await alice.acquire(semaphore) for _ in range(10)]
    theirs: list[Any] = [(await world.held())[2] for _ in range(5)]

    ids = [permit.id for permit in (*mine, *theirs)]

    assert len(set(ids)) == 15
    assert all(re.fullmatch("[0-9a-f]{32}", each) for each in ids)
    assert len({permit.token for permit in (*mine, *theirs)}) == 15


async def test_what_is_free_can_be_asked(world: World) -> None:
    onlooker, seen = world.actor(), world.lock(permits=2)

    async def seen_now() -> tuple[int, bool]:
        return await available(world, seen), await onlooker.do(seen.locked)

    assert await seen_now() == (2, False)
    alice, semaphore, _ = await world.held(permits=2)
    assert await seen_now() == (1, False)
    await world.held()
    assert await seen_now() == (0, True)
    await alice.release(semaphore)
    assert await seen_now() == (1, False)


# --- how many there are -----------------------------------------------------------------------


async def test_permits_are_set_by_who_comes_first(world: World) -> None:
    _, semaphore, _ = await world.held(permits=2)

    await world.held(permits=9)

    assert await world.actor().attempt(world.lock(permits=9)) is None
    assert await world.actor().attempt(semaphore) is None
    info = await world.look()
    assert info is not None
    assert (info.permits, info.available) == (2, 0)


async def test_permits_stay_as_they_were_set_when_nobody_holds_any(world: World) -> None:
    alice, semaphore, _ = await world.held(permits=2)
    await alice.release(semaphore)

    await world.held(permits=9)

    assert await available(world) == 1


async def test_permits_that_nobody_has_set_are_refused(world: World) -> None:
    bob, unset = world.actor(), world.lock(permits=None)

    with pytest.raises(StoreMisconfigured, match="permits="):
        await bob.acquire(unset, timeout=5)
    with pytest.raises(StoreMisconfigured, match="permits="):
        await bob.attempt(unset)

    await set_permits(world, 1)
    assert await bob.attempt(unset) is not None


async def test_permits_that_nobody_has_set_are_refused_in_the_same_words_by_whoever_asks(
    world: World,
) -> None:
    bob, unset = world.actor(), world.lock(permits=None)
    semaphore: Any = unset
    said: list[str] = []

    for ask in (semaphore.available, semaphore.locked, semaphore.acquire):
        with pytest.raises(StoreMisconfigured, match="permits=") as refused:
            await bob.do(ask)
        said.append(str(refused.value))

    assert len(set(said)) == 1
    assert await world.look() is None
    await set_permits(world, 0)
    assert await bob.do(semaphore.available) == 0
    assert await bob.do(semaphore.locked) is True
    assert await bob.attempt(unset) is None


async def test_more_permits_let_in_who_waits_at_once(world: World) -> None:
    await world.held()
    waiting = [await world.waiting() for _ in range(3)]

    began = time.monotonic()
    await set_permits(world, 3)
    await asyncio.gather(*(coming for _, _, coming in waiting[:2]))

    assert time.monotonic() - began < 1  # by themselves they would ask again after a second
    assert not waiting[2][2].done()
    actor, semaphore, _ = waiting[0]
    await actor.release(semaphore)
    await waiting[2][2]
    assert await available(world) == 0


async def test_fewer_permits_leave_the_holders_theirs(world: World) -> None:
    held = [await world.held(permits=3) for _ in range(3)]

    await set_permits(world, 1)

    assert not any(hold.lost for _, _, hold in held)
    for actor, semaphore, _ in held:
        assert await available(world) == 0
        assert await world.actor().attempt(world.lock()) is None
        await actor.release(semaphore)
    assert await available(world) == 1


async def test_no_permits_at_all_let_nobody_in(world: World) -> None:
    await set_permits(world, 0)

    assert await world.actor().attempt(world.lock(permits=5)) is None
    _, _, coming = await world.waiting()
    await set_permits(world, 1)
    assert not (await coming).lost


async def test_setting_the_same_again_changes_nothing(world: World) -> None:
    alice, semaphore, _ = await world.held(permits=2)

    for _ in range(3):
        await set_permits(world, 2)

    assert await available(world) == 1
    await alice.release(semaphore)
    assert await available(world) == 2


async def test_wrong_numbers_are_refused_before_anything_is_sent(world: World) -> None:
    client = world.client()
    semaphore: Any = world.lock(client)
    for number in WRONG_NUMBERS:
        with pytest.raises((ValueError, TypeError), match="permits"):
            world.lock(client, permits=number)
    for number in WRONG_NUMBERS[1:]:
        with pytest.raises((ValueError, TypeError), match="permits"):
            await world.actor().do(semaphore.set_permits, number)

    assert world.traffic(client).requests == []
