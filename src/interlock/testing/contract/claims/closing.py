"""What becomes of holds and waiters when their client is closed."""

from __future__ import annotations

import asyncio
from unittest.mock import patch

import pytest

from ....errors import StoreUnavailable
from ....session import keeper
from ..world import World


async def test_a_closed_client_has_released_what_it_held(world: World) -> None:
    _, lock, hold = await world.held()
    _, _, coming = await world.waiting()

    await world.close(world.client_of(lock))

    assert (await coming).token > hold.token


async def test_a_hold_of_a_closed_client_is_lost(world: World) -> None:
    _, lock, hold = await world.held()

    await world.close(world.client_of(lock))

    assert await world.is_free()
    assert hold.lost


async def test_closing_twice_changes_nothing(world: World) -> None:
    client = world.client()
    await world.actor().acquire(world.lock(client))
    await world.close(client)
    _, _, theirs = await world.held()

    await world.close(client)

    assert not await world.is_free()
    assert not theirs.lost


async def test_a_closed_client_takes_no_lock(world: World) -> None:
    alice, client = world.actor(), world.client()
    await world.close(client)

    with pytest.raises(StoreUnavailable, match="closed"):
        await alice.acquire(world.lock(client), timeout=1)

    assert await world.is_free()


async def test_closing_ends_the_waiting_of_its_actors(world: World) -> None:
    alice, hers, _ = await world.held()
    _, lock, coming = await world.waiting()

    with patch.object(keeper, "GRACE", 0.05):  # nothing is on its way
        await world.close(world.client_of(lock))

    with pytest.raises(StoreUnavailable, match="closed"):
        async with asyncio.timeout(1):
            await asyncio.shield(coming)
    await alice.release(hers)
    assert await world.actor().attempt(world.lock()) is not None
