"""Three locks as one, all of them or a majority."""

from __future__ import annotations

import asyncio
from typing import Any

from ....api import multilock
from ..actors import Actor
from ..world import World

ALL = ("multilock",)
MAJORITY = ("majority_of",)

NAMES = ("x", "y", "z")


def multilock_of(world: World, *locks: Any, **terms: Any) -> Any:
    """These locks as one."""
    if world.kind in ALL:
        return world.pick(multilock.all_of, multilock.aall_of)(*locks, **terms)
    return world.pick(multilock.majority_of, multilock.amajority_of)(*locks, **terms)


def three(world: World, client: Any = None, **terms: Any) -> Any:
    """Three locks of a client as one."""
    client = client or world.client()
    return multilock_of(world, *(client.lock(name, **terms) for name in NAMES))


async def took(world: World, **terms: Any) -> tuple[Actor, Any, Any]:
    """A new actor that holds the three."""
    actor, locks = world.actor(), three(world, **terms)
    return actor, locks, await actor.acquire(locks)


async def held(world: World, *names: str) -> list[tuple[Actor, Any]]:
    """Single locks that actors of other clients hold."""
    pairs = [(world.actor(), world.client().lock(name)) for name in names]
    for actor, lock in pairs:
        await actor.acquire(lock)
    return pairs


async def waits(world: World) -> tuple[Actor, Any, asyncio.Future[Any]]:
    """A new actor that waits for the three."""
    actor, locks = world.actor(), three(world)
    coming = actor.start(locks.acquire)
    await world.until(lambda: "Parked" in world.told(locks))
    return actor, locks, coming


async def left(world: World) -> set[str]:
    """Those of the three names that a client holds or waits for."""
    return {name for name in NAMES if not await world.is_free(name)}
