"""A store that is out of reach, or silent: a waiter bears it, and no longer than it may."""

from __future__ import annotations

import time
from typing import Any

import pytest

from ....errors import AcquireTimeout, OutcomeUnknown, StoreUnavailable
from ....events import Troubled
from ..scenes.multiholds import three
from ..scope import only
from ..subjects import KINDS, MULTILOCKS, PLAIN
from ..world import SOON, World

#: What can be acquired.
ABOUT = (*KINDS, *MULTILOCKS)

#: How long a store that says nothing may keep a caller beyond its timeout.
OVERRUN = 2.0


def made(world: World, client: Any) -> Any:
    """What the claim is about, of a client: one lock, or a multilock."""
    return three(world, client) if world.kind in MULTILOCKS else world.lock(client)


async def test_who_waits_bears_it_from_the_first_question_on(world: World) -> None:
    client = world.client()
    traffic = world.traffic(client)
    traffic.cut = True
    alice, lock = world.actor(), made(world, client)
    coming = alice.start(lock.acquire, timeout=SOON)
    await world.until(lambda: traffic.refused >= 4)
    assert not coming.done()

    traffic.cut = False

    await alice.release(await coming)


async def test_the_timeout_ends_it_with_what_is_the_matter(world: World) -> None:
    client = world.client()
    world.traffic(client).cut = True
    lock, began = made(world, client), time.monotonic()

    with pytest.raises(StoreUnavailable, match="cut off"):
        await world.actor().acquire(lock, timeout=0.4)

    assert 0.4 <= time.monotonic() - began < 0.4 + OVERRUN


async def test_a_try_does_not_wait_for_it(world: World) -> None:
    client = world.client()
    traffic = world.traffic(client)
    traffic.cut = True

    with pytest.raises(StoreUnavailable, match="cut off"):
        await world.actor().attempt(made(world, client))

    assert traffic.refused <= 3  # one question for each lock


@only(kinds=PLAIN)
async def test_it_is_said_once_in_an_acquisition_for_how_long_it_is_borne(world: World) -> None:
    client = world.client()
    traffic = world.traffic(client)
    traffic.cut = True
    coming = world.actor().start(world.lock(client).acquire, timeout=SOON)
    await world.until(lambda: traffic.refused >= 4)
    traffic.cut = False
    await coming

    troubles = [event for event in world.events(client) if isinstance(event, Troubled)]
    assert [event.first for event in troubles] == [True, *[False] * (len(troubles) - 1)]
    assert 0 < troubles[0].patience <= SOON


@only(kinds=(*PLAIN, *MULTILOCKS))
async def test_silence_keeps_nobody_longer_than_it_may(world: World) -> None:
    client = world.client()
    traffic, lock = world.traffic(client), made(world, client)
    traffic.silent = True
    began = time.monotonic()

    with pytest.raises((StoreUnavailable, OutcomeUnknown)):
        await world.actor().acquire(lock, timeout=0.3)

    assert time.monotonic() - began < 0.3 + OVERRUN
    traffic.silent = False


@only(kinds=PLAIN)
async def test_silence_that_falls_on_a_waiter_keeps_it_no_longer_than_it_may(world: World) -> None:
    await world.held()
    actor, lock = world.actor(), world.lock()
    began = time.monotonic()
    coming = actor.start(lock.acquire, timeout=0.5)
    await world.until(lambda: "Parked" in world.told(lock))

    world.traffic(lock).silent = True

    with pytest.raises((AcquireTimeout, StoreUnavailable, OutcomeUnknown)):
        await coming
    assert time.monotonic() - began < 0.5 + OVERRUN
    world.traffic(lock).silent = False
    await world.until_nobody_waits()
