"""Multilocks: all of them or a majority, and never a part of it left behind."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ....errors import AcquireTimeout, StoreMisconfigured, StoreUnavailable
from ..scenes.multiholds import ALL, MAJORITY, NAMES, held, left, multilock_of, three, took, waits
from ..scope import only
from ..subjects import MULTILOCKS
from ..world import ASYNCIO, World

ABOUT = MULTILOCKS


async def test_all_are_taken_and_all_are_given_back(world: World) -> None:
    alice, _, multihold = await took(world, lease=20)

    assert [hold.name for hold in multihold.holds] == list(NAMES)
    assert multihold.tokens == tuple(hold.token for hold in multihold.holds)
    assert multihold.name == "x, y, z"
    assert 10 < multihold.expires_in < 20
    assert not multihold.lost
    multihold.ensure()
    assert await left(world) == set(NAMES)
    assert await world.actor().attempt(three(world)) is None
    await alice.release(multihold)
    assert await left(world) == set()


async def test_a_block_gives_everything_back(world: World) -> None:
    locks = three(world)

    async with world.actor().within(locks) as multihold:
        assert len(multihold.holds) == 3
    assert await left(world) == set()
    async with world.actor().within(locks.attempt()) as multihold:
        assert len(multihold.holds) == 3
    assert await left(world) == set()
    with pytest.raises(ZeroDivisionError):
        async with world.actor().within(locks):
            raise ZeroDivisionError
    assert await left(world) == set()


@only(kinds=ALL)
async def test_what_is_free_costs_one_round_trip_each_and_one_for_all_to_give_back(
    world: World,
) -> None:
    alice, locks, multihold = await took(world)
    await alice.release(multihold)  # the first time may cost more
    traffic = world.traffic(locks)
    first = [traffic.about(name) for name in NAMES]

    multihold = await alice.acquire(locks)

    assert [traffic.about(name) for name in NAMES] == [n + 1 for n in first]
    await alice.release(multihold)
    assert [traffic.about(name) for name in NAMES] == [n + 1 for n in first]
    trips = [{call.keys[0] for call in trip if call.keys} for trip in traffic.journeys]
    assert trips[-1] == set(NAMES)


@only(kinds=MAJORITY)
async def test_a_majority_costs_one_round_trip_to_take_and_one_to_give_back(world: World) -> None:
    alice, locks, multihold = await took(world)
    await alice.release(multihold)  # the first time may cost more
    traffic = world.traffic(locks)
    first = traffic.trips_for(NAMES)

    taken: Any = await alice.acquire(locks)

    assert len(taken.holds) == 3
    assert len(traffic.trips_for(NAMES)) == len(first) + 1
    await alice.release(taken)
    assert len(traffic.trips_for(NAMES)) == len(first) + 2
    assert {each.keys[0] for each in traffic.trips_for(NAMES)[-1]} == set(NAMES)


@only(kinds=ALL)
async def test_a_member_that_is_busy_leaves_nothing_of_the_others(world: World) -> None:
    await held(world, "y")
    bob, locks = world.actor(), three(world)

    assert await bob.attempt(locks) is None
    with pytest.raises(AcquireTimeout) as refused:
        await bob.acquire(locks, timeout=0.05)
    async with bob.within(locks.attempt()) as multihold:
        assert multihold is None

    assert refused.value.name == "y"
    assert await left(world) == {"y"}
    await world.until_nobody_waits("y")


@only(kinds=MAJORITY)
async def test_a_minority_that_is_busy_is_done_without(world: World) -> None:
    await held(world, "y")
    alice, locks = world.actor(), three(world)

    multihold: Any = await alice.acquire(locks, timeout=0.3)

    assert [hold.name for hold in multihold.holds] == ["x", "z"]
    assert multihold.expires_in > 10
    assert await world.actor().attempt(three(world)) is None
    await alice.release(multihold)
    assert await left(world) == {"y"}


@only(kinds=MAJORITY)
async def test_a_majority_that_is_busy_leaves_nothing_of_the_others(world: World) -> None:
    await held(world, "x", "y")
    bob, locks = world.actor(), three(world)

    assert await bob.attempt(locks) is None
    with pytest.raises(AcquireTimeout) as refused:
        await bob.acquire(locks, timeout=0.1)

    assert refused.value.name in NAMES
    assert await left(world) == {"x", "y"}
    for name in ("x", "y"):
        await world.until_nobody_waits(name)


async def test_a_timeout_is_told_of_all_together(world: World) -> None:
    await held(world, "y", "z")
    bob, locks = world.actor(), three(world)

    with pytest.raises(AcquireTimeout, match=r"is held.*timeout=0"):
        await bob.acquire(locks, timeout=0)
    with pytest.raises(AcquireTimeout, match=r"still held .*of waiting; wait longer") as refused:
        await bob.acquire(locks, timeout=0.1)

    assert refused.value.timeout == 0.1


async def test_who_waits_gets_them_all_in_the_end(world: World) -> None:
    others = await held(world, "x", "y")
    alice, _, coming = await waits(world)

    for actor, lock in others:
        await actor.release(lock)
    multihold = await coming

    assert not multihold.lost
    await alice.release(multihold)
    assert await left(world) == set()


@only(kinds=ALL)
async def test_a_member_out_of_reach_leaves_nothing_of_the_others(world: World) -> None:
    here, away = world.client(), world.client()
    world.traffic(away).cut = True
    locks = multilock_of(world, here.lock("x"), here.lock("y"), away.lock("z"))

    with pytest.raises(StoreUnavailable):
        await world.actor().acquire(locks, timeout=1)

    assert await left(world) == set()


@only(kinds=MAJORITY)
async def test_a_minority_out_of_reach_is_done_without(world: World) -> None:
    here, away = world.client(), world.client()
    world.traffic(away).cut = True
    locks = multilock_of(world, here.lock("x"), away.lock("y"), here.lock("z"))

    async with world.actor().within(locks) as multihold:
        assert [hold.name for hold in multihold.holds] == ["x", "z"]

    assert await left(world) == set()


@only(kinds=MAJORITY)
async def test_a_majority_out_of_reach_says_so_and_leaves_nothing(world: World) -> None:
    here, away = world.client(), world.client()
    world.traffic(away).cut = True
    locks = multilock_of(world, here.lock("x"), away.lock("y"), away.lock("z"))

    with pytest.raises(StoreUnavailable):
        await world.actor().acquire(locks, timeout=0.2)

    assert await left(world) == set()


@only(kinds=ALL)
async def test_a_name_in_use_as_another_kind_leaves_nothing_of_the_others(world: World) -> None:
    other = world.client().mutex("z")
    await world.actor().acquire(other)

    with pytest.raises(StoreMisconfigured, match="z"):
        await world.actor().acquire(three(world), timeout=1)

    assert await world.is_free("x")
    assert await world.is_free("y")


@only(faces=(ASYNCIO,))
async def test_a_cancelled_wait_leaves_nothing_behind(world: World) -> None:
    await held(world, "y", "z")
    locks = three(world)
    task = asyncio.create_task(locks.acquire())
    await world.until(lambda: "Parked" in world.told(locks))

    task.cancel("from outside")
    with pytest.raises(asyncio.CancelledError):
        await task

    assert await left(world) == {"y", "z"}
    for name in NAMES:
        await world.until_nobody_waits(name)


@only(faces=(ASYNCIO,))
async def test_a_time_limit_around_a_wait_stays_a_time_limit(world: World) -> None:
    await held(world, "y", "z")

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05), three(world):
            raise AssertionError("never reached")

    assert await left(world) == {"y", "z"}


@only(faces=(ASYNCIO,))
async def test_a_cancellation_of_the_body_gives_everything_back(world: World) -> None:
    locks, inside = three(world), asyncio.Event()

    async def body() -> None:
        async with locks:
            inside.set()
            await asyncio.sleep(60)

    task = asyncio.create_task(body())
    await inside.wait()
    task.cancel("from outside")

    with pytest.raises(asyncio.CancelledError):
        await task
    assert await left(world) == set()
