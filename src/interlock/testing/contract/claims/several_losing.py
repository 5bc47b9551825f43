"""Several locks as one: the loss of one is the loss of all, but not of a majority."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ....errors import LockLost
from ..scenes.bundles import ALL, MAJORITY, NAMES, left, three, took
from ..subjects import SEVERAL
from ..terms import only
from ..world import ASYNCIO, World

ABOUT = SEVERAL


@only(kinds=ALL)
async def test_the_loss_of_one_is_the_loss_of_all(world: World) -> None:
    alice, _, bundle = await took(world)
    heard: list[Any] = []
    bundle.on_lost(heard.append)

    await world.revoke(bundle.holds[1])
    await world.lost(bundle.holds[1])
    await world.until(lambda: bool(heard))

    assert heard == [bundle]
    assert bundle.lost
    assert bundle.expires_in == 0
    with pytest.raises(LockLost) as lost:
        bundle.ensure()
    assert lost.value.name == "y"
    with pytest.raises(LockLost):
        await alice.release(bundle)
    assert await left(world) == set()
    assert heard == [bundle]


@only(kinds=MAJORITY)
async def test_only_the_loss_of_a_majority_is_a_loss(world: World) -> None:
    alice, _, bundle = await took(world)
    heard: list[Any] = []
    bundle.on_lost(heard.append)

    await world.revoke(bundle.holds[1])
    await world.lost(bundle.holds[1])
    assert not bundle.lost
    assert bundle.expires_in > 0
    bundle.ensure()
    assert heard == []

    await world.revoke(bundle.holds[0])
    await world.lost(bundle.holds[0])
    await world.until(lambda: bool(heard))
    assert bundle.lost
    with pytest.raises(LockLost):
        bundle.ensure()
    with pytest.raises(LockLost):
        await alice.release(bundle)
    assert await left(world) == set()


@only(kinds=MAJORITY)
async def test_who_has_lost_a_minority_releases_the_rest_in_peace(world: World) -> None:
    alice, _, bundle = await took(world)
    await world.revoke(bundle.holds[2])
    await world.lost(bundle.holds[2])

    await alice.release(bundle)

    assert await left(world) == set()


@only(faces=(ASYNCIO,))
async def test_a_loss_cancels_the_body_and_the_block_raises_it(world: World) -> None:
    cancelled: list[bool] = []

    with pytest.raises(LockLost):
        async with three(world) as bundle:
            for hold in bundle.holds:
                await world.revoke(hold)
            world.hurry(*bundle.holds)
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                cancelled.append(bundle.lost)
                raise

    assert cancelled == [True]
    assert await left(world) == set()
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    await asyncio.sleep(0)


async def test_leaving_a_block_after_a_loss_says_so(world: World) -> None:
    with pytest.raises(LockLost):
        async with world.actor().within(three(world)) as bundle:
            for hold in bundle.holds:
                await world.revoke(hold)

    assert await left(world) == set()


async def test_a_loss_does_not_hide_the_exception_of_the_body(world: World) -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        async with world.actor().within(three(world)) as bundle:
            for hold in bundle.holds:
                await world.revoke(hold)
            raise ZeroDivisionError

    assert any("lost" in note for note in raised.value.__notes__)
    assert await left(world) == set()


async def test_all_are_kept(world: World) -> None:
    _, _, bundle = await took(world)

    for hold in bundle.holds:
        await world.renewed(hold)

    assert not any(hold.lost for hold in bundle.holds)
    assert await left(world) == set(NAMES)
