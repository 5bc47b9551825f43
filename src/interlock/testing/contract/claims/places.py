"""Who waits where: in the store's queue, or in the local queue of its client."""

from __future__ import annotations

import asyncio
from typing import Any

from ..actors import Actor, AnyLock
from ..scope import only
from ..world import World, settled


async def line_up(world: World, lock: AnyLock, number: int) -> list[tuple[Actor, Any]]:
    """So many actors of one client wait, one after another."""
    waiters: list[tuple[Actor, Any]] = []
    for _ in range(number):
        actor = world.actor()
        waiters.append((actor, actor.start(lock.acquire)))
        await world.until(lambda: world.siblings(lock) == len(waiters))
    return waiters


@only(kinds=("fair_lock",))
async def test_each_waiter_of_a_fair_lock_has_a_place_of_its_own(world: World) -> None:
    alice, hers, _ = await world.held()
    many = world.lock()
    waiters = await line_up(world, many, 4)
    bob, _, coming = await world.waiting()
    waiters.append((bob, coming))
    info = await world.look()
    served: list[int] = []

    async def pass_on(number: int) -> None:
        actor, coming = waiters[number]
        hold = await coming
        served.append(number)
        await actor.release(hold)

    passing = [asyncio.create_task(pass_on(number)) for number in range(5)]
    await alice.release(hers)
    await asyncio.gather(*passing)

    assert info is not None and info.waiters == 5
    assert served == [0, 1, 2, 3, 4]
    assert await world.is_free()


@only(kinds=("fair_lock",))
async def test_a_waiter_of_a_fair_lock_that_gives_up_leaves_its_siblings_in_place(
    world: World,
) -> None:
    alice, hers, _ = await world.held()
    lock = world.lock()
    waiting = await line_up(world, lock, 1)
    impatient = world.actor().start(lock.acquire, timeout=1.5)
    await world.until(lambda: world.siblings(lock) == 2)
    waiting += [(bob := world.actor(), bob.start(lock.acquire))]
    await world.until(lambda: world.siblings(lock) == 3)

    await asyncio.wait((impatient,))
    assert impatient.exception() is not None
    await alice.release(hers)

    for actor, coming in waiting:
        await actor.release(await coming)
    assert await world.is_free()


async def test_a_client_counts_its_own_waiters(world: World) -> None:
    alice, client = world.actor(), world.client()
    lock = world.lock(client)
    await alice.acquire(lock)
    waiters = await line_up(world, lock, 3)

    info: Any = await settled(client.inspect("claim"))
    (listed,) = await settled(client.locks("claim"))

    assert (info.waiters, listed.waiters) == (3, 3)
    await alice.release(lock)
    for actor, coming in waiters:
        await actor.release(await coming)
