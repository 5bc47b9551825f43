"""Ten thousand held locks: one inhabitant of the background keeps them all."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest

from interlock.api.connect import find_backend
from interlock.session import keeper
from interlock.testing.contract.world import ASYNCIO, BLOCKING, ClientFace, World

MANY, LEASE, ROUNDS = 10_000, 6.0, 2

#: Holds that one trip to the store renews at least, on average.
FULL = 100


def inhabitants() -> int:
    """Threads, and tasks of this loop."""
    return threading.active_count() + len(asyncio.all_tasks())


async def take_all(world: World, client: Any) -> list[Any]:
    """Let one actor take every lock."""
    locks = [world.lock(client, f"many:{number}", lease=LEASE) for number in range(MANY)]

    def take() -> list[Any]:
        return [lock.acquire() for lock in locks]

    async def take_async() -> list[Any]:
        return [await take_politely(lock) for lock in locks]

    holds: list[Any] = await world.actor().do(world.pick(take, take_async))
    return holds


async def take_politely(lock: Any) -> Any:
    """A store in memory answers at once, and a loop that never turns keeps no leases."""
    hold = await lock.acquire()
    await asyncio.sleep(0)
    return hold


async def keep_many(world: World) -> None:
    client, before = world.client(), inhabitants()

    holds = await take_all(world, client)
    extra = inhabitants() - before - 1  # the actor that took them
    trips, renewed = world.traffic(client).trips, 0
    async with asyncio.timeout(LEASE * ROUNDS):
        while renewed < MANY * ROUNDS:  # each a third of a lease after the other
            assert not any(hold.lost for hold in holds)
            await asyncio.sleep(0.1)
            renewed = world.told(client).count("Renewed")

    assert extra == 1
    assert world.traffic(client).trips - trips < renewed / FULL
    assert "Lost" not in world.told(client)


@pytest.mark.slow
@pytest.mark.parametrize("face", [BLOCKING, ASYNCIO], ids=lambda face: face.name)
@pytest.mark.parametrize("backend", ["memory", "redis"])
def test_ten_thousand_locks_are_kept_in_batches_by_one(
    backend: str, face: ClientFace, url_of: Callable[[str], str]
) -> None:
    url = url_of(backend)

    async def prove() -> None:
        async with World(lambda: find_backend(url, {}), face, "lock") as world:
            await keep_many(world)

    with patch.object(keeper, "FAREWELL", 0.1):  # nobody else wants these locks
        asyncio.run(prove())
