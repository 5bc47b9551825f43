"""Multilocks: a thread or task that would wait for itself for ever is told so at once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest

from ....errors import AcquireTimeout, UsageError
from ..scenes.multiholds import MAJORITY, NAMES, left, multilock_of
from ..scope import only
from ..subjects import MULTILOCKS
from ..world import World

ABOUT = MULTILOCKS

#: Seconds that a refusal may take; one member of a majority may be waited for longer than that.
AT_ONCE = 1.0


def mutexes(client: Any) -> list[Any]:
    return [client.mutex(name) for name in NAMES]


def permits(client: Any) -> list[Any]:
    return [client.semaphore(name, permits=1) for name in NAMES]


async def refused(world: World, members: Sequence[Any]) -> None:
    """Take these, and again: without a limit that is refused, within one it ends."""
    alice, locks = world.actor(), multilock_of(world, *members)
    multihold = await alice.acquire(locks)
    began = time.monotonic()

    with pytest.raises(UsageError, match="would wait for itself"):
        await alice.acquire(locks)
    with pytest.raises(AcquireTimeout) as ended:
        await alice.acquire(locks, timeout=0.05)

    assert time.monotonic() - began < AT_ONCE
    assert any("holds it already" in note for note in ended.value.__notes__)
    multihold.ensure()
    await alice.release(multihold)
    bob = world.actor()
    await bob.release(await bob.acquire(locks, timeout=AT_ONCE))


async def test_mutexes_that_the_waiter_holds_itself_are_refused_at_once(world: World) -> None:
    await refused(world, mutexes(world.client()))


async def test_permits_that_the_waiter_holds_itself_are_refused_at_once(world: World) -> None:
    await refused(world, permits(world.client()))


async def test_members_of_several_clients_are_refused_at_once(world: World) -> None:
    await refused(world, [world.client().mutex(name) for name in NAMES])


@only(kinds=MAJORITY)
async def test_a_majority_that_is_left_beside_ones_own_is_taken(world: World) -> None:
    alice, client = world.actor(), world.client()
    own = await alice.acquire(client.mutex("x"))

    multihold: Any = await alice.acquire(multilock_of(world, *mutexes(client)))

    assert [hold.name for hold in multihold.holds] == ["y", "z"]
    await alice.release(multihold)
    await alice.release(own)
    assert await left(world) == set()


@only(kinds=MAJORITY)
async def test_a_majority_that_another_actor_holds_is_waited_for(world: World) -> None:
    alice, bob, client = world.actor(), world.actor(), world.client()
    multihold = await alice.acquire(multilock_of(world, *mutexes(client)))

    coming = bob.start(multilock_of(world, *mutexes(client)).acquire)
    await world.until(lambda: "Parked" in world.told(client))
    await alice.release(multihold)

    assert not (await coming).lost
