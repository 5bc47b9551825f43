"""Multilocks: the loss of one is the loss of all, but not of a majority."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ....errors import LockLost
from ..scenes.multiholds import ALL, MAJORITY, NAMES, left, three, took
from ..scope import only
from ..subjects import MULTILOCKS
from ..world import ASYNCIO, World

ABOUT = MULTILOCKS


@only(kinds=ALL)
async def test_the_loss_of_one_is_the_loss_of_all(world: World) -> None:
    alice, _, multihold = await took(world)
    heard: list[Any] = []
    multihold.on_lost(heard.append)

    await world.revoke(multihold.holds[1])
    await world.lost(multihold.holds[1])
    await world.until(lambda: bool(heard))

    assert heard == [multihold]
    assert multihold.lost
    assert multihold.expires_in == 0
    with pytest.raises(LockLost) as lost:
        multihold.ensure()
    assert lost.value.name == "y"
    with pytest.raises(LockLost):
        await alice.release(multihold)
    assert await left(world) == set()
    assert heard == [multihold]


@only(kinds=ALL)
async def test_a_loss_that_the_release_finds_is_told_too(world: World) -> None:
    alice, _, multihold = await took(world)
    heard: list[Any] = []
    multihold.on_lost(heard.append)

    await world.revoke(multihold.holds[1])
    with pytest.raises(LockLost):
        await alice.release(multihold)

    assert heard == [multihold]


@only(kinds=MAJORITY)
async def test_only_the_loss_of_a_majority_is_a_loss(world: World) -> None:
    alice, _, multihold = await took(world)
    heard: list[Any] = []
    multihold.on_lost(heard.append)

    await world.revoke(multihold.holds[1])
    await world.lost(multihold.holds[1])
    assert not multihold.lost
    assert multihold.expires_in > 0
    multihold.ensure()
    assert heard == []

    await world.revoke(multihold.holds[0])
    await world.lost(multihold.holds[0])
    await world.until(lambda: bool(heard))
    assert multihold.lost
    with pytest.raises(LockLost):
        multihold.ensure()
    with pytest.raises(LockLost):
        await alice.release(multihold)
    assert await left(world) == set()


@only(kinds=MAJORITY)
async def test_who_has_lost_a_minority_releases_the_rest_in_peace(world: World) -> None:
    alice, _, multihold = await took(world)
    await world.revoke(multihold.holds[2])
    await world.lost(multihold.holds[2])

    await alice.release(multihold)

    assert await left(world) == set()


@only(faces=(ASYNCIO,))
async def test_a_loss_cancels_the_body_and_the_block_raises_it(world: World) -> None:
    cancelled: list[bool] = []

    with pytest.raises(LockLost):
        async with three(world) as multihold:
            for hold in multihold.holds:
                await world.revoke(hold)
            world.make_all_due(*multihold.holds)
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                cancelled.append(multihold.lost)
                raise

    assert cancelled == [True]
    assert await left(world) == set()
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    await asyncio.sleep(0)


async def test_leaving_a_block_after_a_loss_says_so(world: World) -> None:
    with pytest.raises(LockLost):
        async with world.actor().within(three(world)) as multihold:
            for hold in multihold.holds:
                await world.revoke(hold)

    assert await left(world) == set()


async def test_a_loss_does_not_hide_the_exception_of_the_body(world: World) -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        async with world.actor().within(three(world)) as multihold:
            for hold in multihold.holds:
                await world.revoke(hold)
            raise ZeroDivisionError

    assert any("lost" in note for note in raised.value.__notes__)
    assert await left(world) == set()


async def test_all_are_kept(world: World) -> None:
    _, _, multihold = await took(world)

    for hold in multihold.holds:
        await world.renewed(hold)

    assert not any(hold.lost for hold in multihold.holds)
    assert await left(world) == set(NAMES)
