"""What an observer is told, and in which order."""

from __future__ import annotations

from typing import Any

import pytest

from ....errors import AcquireTimeout
from ....events import Granted, Released
from ..scope import only
from ..subjects import PLAIN
from ..world import World


async def test_a_quiet_acquisition_is_granted_and_released(world: World) -> None:
    alice, lock, hold = await world.held()
    await alice.release(lock)

    granted, released = world.events(lock)
    assert isinstance(granted, Granted)
    assert isinstance(released, Released)
    assert (granted.name, granted.owner, granted.token) == (hold.name, hold.owner, hold.token)
    assert (released.name, released.owner, released.token) == (hold.name, hold.owner, hold.token)


async def test_a_waiter_is_parked_woken_granted_and_released(world: World) -> None:
    alice, hers, hold = await world.held()
    bob, his, coming = await world.waiting()
    await alice.release(hers)
    await coming
    await bob.release(his)

    first, *_ = events = world.events(his)
    parked: Any = first
    assert parked.holder == hold.owner
    assert world.told(his) == ["Parked", "Woken", "Granted", "Released"]
    assert len({event.owner for event in events}) == 1


async def test_a_waiter_that_gives_up_is_parked_and_withdrawn(world: World) -> None:
    await world.held()
    bob, his = world.actor(), world.lock()

    with pytest.raises(AcquireTimeout):
        await bob.acquire(his, timeout=0.5)

    told = world.told(his)
    assert set(told[:-1]) == {"Parked"}
    assert told[-1] == "Withdrawn"


@only(kinds=PLAIN)
async def test_a_kept_hold_is_renewed_until_it_is_lost(world: World) -> None:
    _, lock, hold = await world.held()
    for _ in range(2):
        await world.renewed(hold)
    await world.revoke(hold)
    await world.lost(hold)
    await world.until(lambda: "Lost" in world.told(lock))

    told = world.told(lock)
    assert told == ["Granted", "Renewed", "Renewed", "Lost"]


@only(kinds=PLAIN)
async def test_an_observer_that_raises_harms_nobody(world: World) -> None:
    client, alice = world.client(), world.actor()
    client._session.observer = lambda _: 1 / 0  # type: ignore[assignment]

    async with alice.within(world.lock(client)) as hold:
        assert not hold.lost

    assert await world.is_free()
