"""Readers and writers of one read/write lock."""

from __future__ import annotations

import asyncio
from typing import Any

from ..actors import Actor
from ..world import World


def rwlock(world: World, client: Any = None, **terms: Any) -> Any:
    """The read/write lock of a client, or of a new one."""
    return (client or world.client()).rwlock("claim", **terms)


async def reads(world: World, client: Any = None, **terms: Any) -> tuple[Actor, Any, Any]:
    """A new actor that reads."""
    actor, rw = world.actor(), rwlock(world, client, **terms)
    return actor, rw, await actor.acquire(rw.read(), timeout=5)


async def writes(world: World, client: Any = None, **terms: Any) -> tuple[Actor, Any, Any]:
    """A new actor that writes."""
    actor, rw = world.actor(), rwlock(world, client, **terms)
    return actor, rw, await actor.acquire(rw.write(), timeout=5)


async def waits(world: World, mode: str, **how: Any) -> tuple[Actor, Any, asyncio.Future[Any]]:
    """A new actor that waits to read or to write, by a new client."""
    actor, rw = world.actor(), rwlock(world)
    coming = actor.start(getattr(rw, mode)().acquire, **how)
    await world.until(lambda: "Parked" in world.told(rw))
    return actor, rw, coming


async def try_to(world: World, mode: str, client: Any = None) -> Any:
    """What a new actor gets that tries once."""
    return await world.actor().attempt(getattr(rwlock(world, client), mode)())


async def modes(world: World) -> list[str]:
    """How each holder holds it."""
    info = await world.look()
    return [] if info is None else [holder.mode for holder in info.holders]
