"""Multilocks: a silent store is waited for as long as for one, and not for each."""

from __future__ import annotations

import time
from typing import Any

import pytest

from ....errors import AcquireTimeout, OutcomeUnknown, StoreUnavailable
from ..scenes.multiholds import ALL, NAMES, held, left, multilock_of, took
from ..scope import only
from ..subjects import MULTILOCKS
from ..world import World

ABOUT = MULTILOCKS

#: How long a store that says nothing may keep a caller beyond its timeout.
OVERRUN = 2.0

#: As many as there are of the three, and some more.
MANY = ("r", "s", "t", "u", "v", *NAMES)

SILENCE = (StoreUnavailable, OutcomeUnknown, AcquireTimeout)


def told_parked(world: World, client: Any) -> bool:
    return "Parked" in world.told(client)


async def free(world: World, *names: str) -> None:
    """Wait until the keepers have given back what was owed."""
    for name in names:
        await world.seen(lambda info: info is None, name)


@only(kinds=ALL)
async def test_silence_while_one_is_waited_for_keeps_nobody_longer_than_it_may(
    world: World,
) -> None:
    await held(world, "z")
    client = world.client()
    traffic = world.traffic(client)
    locks = multilock_of(world, *(client.lock(name) for name in MANY))
    began = time.monotonic()
    coming = world.actor().start(locks.acquire, timeout=1.5)
    await world.until(lambda: told_parked(world, client))

    traffic.silent = True

    with pytest.raises(SILENCE):
        await coming
    assert time.monotonic() - began < 1.5 + OVERRUN
    assert client._session.schedule.holds() == []
    traffic.silent = False
    await free(world, *MANY[:-1])
    await world.until_nobody_waits("z")


@only(kinds=ALL)
async def test_what_is_held_elsewhere_is_given_back_though_one_store_says_nothing(
    world: World,
) -> None:
    here, away = world.client(), world.client()
    world.traffic(away).silent = True
    locks = multilock_of(world, here.lock("x"), here.lock("y"), away.lock("z"))
    began = time.monotonic()

    with pytest.raises(SILENCE):
        await world.actor().acquire(locks, timeout=0.2)

    assert time.monotonic() - began < 0.2 + OVERRUN
    assert await left(world) == set()
    world.traffic(away).silent = False


async def test_what_is_of_another_client_is_given_back_at_once(world: World) -> None:
    """Whichever client is not answered, and has not been for some time."""
    here, away = world.client(), world.client()
    alice = world.actor()
    locks = multilock_of(world, away.lock("x"), here.lock("y"), here.lock("z"))
    multihold: Any = await alice.acquire(locks)
    for hold in multihold.holds[1:]:
        await world.renewed(hold)
    world.traffic(away).silent = True

    giving = alice.start(multihold.release)
    await free(world, "y", "z")

    assert not giving.done()
    assert here._session.schedule.holds() == []
    world.traffic(away).silent = False
    await giving
    await free(world, "x")


async def test_a_lost_answer_to_what_was_given_back_together_is_made_good(world: World) -> None:
    alice, locks, multihold = await took(world)
    world.traffic(locks).losing.append("z")

    await alice.release(multihold)

    assert world.traffic(locks).losing == []
    assert await left(world) == set()
