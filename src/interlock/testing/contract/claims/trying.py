"""A try answers what the store says, or what this client knows: not what a sibling asks."""

from __future__ import annotations

import asyncio
from typing import Any

from ..actors import AnyLock
from ..scope import only
from ..subjects import PERMITS
from ..world import World

CROWD = 16


async def tries(world: World, lock: AnyLock) -> list[Any]:
    """What a crowd of one client gets that tries all at once."""
    crowd = [world.actor() for _ in range(CROWD)]
    return await asyncio.gather(*(actor.attempt(lock) for actor in crowd))


@only(kinds=PERMITS)
async def test_every_try_gets_one_of_many_free_permits(world: World) -> None:
    lock = world.lock(permits=100)
    first = await world.actor().attempt(lock)

    for _ in range(3):
        assert None not in await tries(world, lock)

    assert first is not None


@only(kinds=("rwlock",))
async def test_every_try_to_read_gets_in_while_siblings_ask(world: World) -> None:
    client = world.client()

    for _ in range(3):
        assert None not in await tries(world, client.rwlock("claim").read())


async def test_one_of_many_tries_gets_what_one_alone_can_hold(world: World) -> None:
    lock = world.lock()

    for _ in range(3):
        (got,) = [each for each in await tries(world, lock) if each is not None]
        await world.actor().release(got)

    assert await world.is_free()


async def test_a_try_knows_that_a_sibling_holds(world: World) -> None:
    _, lock, _ = await world.held()

    assert await world.actor().attempt(lock) is None
    info = await world.look()
    assert info is not None and info.waiters == 0
