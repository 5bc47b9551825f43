"""The permits of one semaphore."""

from __future__ import annotations

from typing import Any

from ..world import World

#: What is no number of permits.
WRONG_NUMBERS: tuple[Any, ...] = (0, -1, 2**31, True, 1.5, "2")


async def available(world: World, semaphore: Any = None) -> int:
    """How many permits are free, as another client sees it."""
    seen: Any = world.lock(permits=None) if semaphore is None else semaphore
    free: int = await world.actor().do(seen.available)
    return free


async def set_permits(world: World, permits: int) -> None:
    """Change how many there are."""
    semaphore: Any = world.lock(permits=None)
    await world.actor().do(semaphore.set_permits, permits)
