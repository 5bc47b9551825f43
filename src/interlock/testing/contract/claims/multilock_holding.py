"""Multilocks: in which order they are taken, and what it is to hold them."""

from __future__ import annotations

import asyncio
from itertools import permutations
from typing import Any

import pytest

from ....errors import AcquireTimeout, NotHeld, UsageError
from ..actors import Actor
from ..scenes.multiholds import ALL, NAMES, held, left, multilock_of, three, took
from ..scope import only
from ..subjects import MULTILOCKS
from ..world import World

ABOUT = MULTILOCKS


# --- one order, one deadline ------------------------------------------------------------------


async def test_they_are_taken_in_one_order_whatever_order_was_given(world: World) -> None:
    for order in permutations(NAMES):
        client = world.client()
        locks = multilock_of(world, *(client.lock(name) for name in order))

        async with world.actor().within(locks) as multihold:
            asked = [each.keys[0] for each in world.traffic(client).requests if each.keys]

        assert list(dict.fromkeys(name for name in asked if name in NAMES)) == list(NAMES)
        assert [hold.name for hold in multihold.holds] == list(NAMES)


async def test_callers_with_opposite_orders_do_not_wait_for_each_other(world: World) -> None:
    counter = [0]

    async def count(actor: Actor, locks: Any) -> None:
        for _ in range(4):
            async with actor.within(locks):
                seen = counter[0]
                await asyncio.sleep(0)
                counter[0] = seen + 1

    callers = []
    for order in (NAMES, NAMES[::-1], ("y", "z", "x")):
        client = world.client()
        locks = multilock_of(world, *(client.lock(name) for name in order))
        callers.append(count(world.actor(), locks))
    async with asyncio.timeout(30):
        await asyncio.gather(*callers)

    assert counter == [12]
    assert await left(world) == set()


@only(kinds=ALL)
async def test_one_deadline_is_shared_by_all(world: World) -> None:
    ((alice, first), _) = await held(world, "x", "y")
    locks = three(world)
    coming = world.actor().start(locks.acquire, timeout=0.8)
    await world.until(lambda: "Parked" in world.told(locks))
    await asyncio.sleep(0.3)
    await alice.release(first)

    with pytest.raises(AcquireTimeout) as refused:
        await coming

    assert refused.value.name == "y"
    assert refused.value.waited < 0.7  # what was left of it
    assert await left(world) == {"y"}


async def test_wrong_members_of_a_multilock_are_refused(world: World) -> None:
    one, other = world.client(), world.client()
    with pytest.raises(UsageError, match="at least one"):
        multilock_of(world)
    with pytest.raises(UsageError, match="twice"):
        multilock_of(world, one.lock("x"), one.lock("y"), one.lock("x"))
    with pytest.raises(UsageError, match="twice"):
        multilock_of(world, one.lock("x"), other.lock("x"))
    with pytest.raises(UsageError, match="twice"):
        multilock_of(world, one.rwlock("x").read(), one.rwlock("x").write())
    with pytest.raises(ValueError, match="timeout"):
        multilock_of(world, one.lock("x"), timeout=-2)

    assert world.traffic(one).requests == []


async def test_kinds_and_clients_may_be_mixed(world: World) -> None:
    one, other = world.client(), world.client()

    def mixed() -> Any:
        return multilock_of(
            world,
            one.lock("lock"),
            other.mutex("mutex"),
            one.fair_lock("fair"),
            other.fenced_lock("fenced"),
            other.rwlock("rw").read(),
            one.semaphore("some", permits=1),
            other.leased_semaphore("leased", permits=1),
        )

    async with world.actor().within(mixed()) as multihold:
        assert len(multihold.holds) == 7
        assert await world.actor().attempt(mixed()) is None
        assert await world.actor().attempt(world.client().rwlock("rw").read()) is not None

    assert not await world.actor().do(one.lock("lock").locked)
    assert await world.actor().do(one.semaphore("some").available) == 1
    async with world.actor().within(mixed()) as multihold:
        assert len(multihold.holds) == 7


@only(kinds=ALL)
async def test_a_client_makes_them_from_names(world: World) -> None:
    client = world.client()
    locks: Any = client.multilock("z", "x", "y", lease=20, timeout=0)

    async with world.actor().within(locks) as multihold:
        assert [hold.name for hold in multihold.holds] == list(NAMES)
        assert multihold.expires_in < 20
        with pytest.raises(AcquireTimeout):
            await world.actor().do(client.multilock(*NAMES, timeout=0).acquire)

    for wrong in ((), ("x", "x"), ("x", "")):
        with pytest.raises(ValueError):
            client.multilock(*wrong)


# --- holding, and holding again ---------------------------------------------------------------


async def test_who_holds_them_may_take_them_again_at_no_cost(world: World) -> None:
    alice, locks = world.actor(), three(world)

    async with alice.within(locks) as outer:
        asked = [world.traffic(locks).about(name) for name in NAMES]
        async with alice.within(locks) as inner:
            assert inner.tokens == outer.tokens
            assert await alice.attempt(world.client_of(locks).lock("y")) is outer.holds[1]
            await alice.release(world.client_of(locks).lock("y"))
        with pytest.raises(NotHeld):
            await alice.release(inner)  # which must not count as the outer one
        assert [world.traffic(locks).about(name) for name in NAMES] == asked
        assert await left(world) == set(NAMES)
        outer.ensure()

    assert await left(world) == set()


async def test_a_failure_leaves_what_was_held_before(world: World) -> None:
    await held(world, "y", "z")
    alice, locks = world.actor(), three(world)
    hold = await alice.acquire(world.client_of(locks).lock("x"))

    assert await alice.attempt(locks) is None
    with pytest.raises(AcquireTimeout):
        await alice.acquire(locks, timeout=0.05)

    assert not hold.lost
    assert not await world.is_free("x")
    await alice.release(hold)
    assert await left(world) == {"y", "z"}


async def test_they_are_released_once_and_by_who_took_them(world: World) -> None:
    alice, locks, multihold = await took(world)
    with pytest.raises(NotHeld):
        await world.actor().release(locks)
    assert await left(world) == set(NAMES)

    await alice.release(locks)

    assert await left(world) == set()
    assert multihold.expires_in == 0
    assert not multihold.lost
    for act in (multihold.ensure, multihold.release, locks.release):
        with pytest.raises(NotHeld):
            await alice.do(act)
    again = await alice.acquire(locks)
    await world.actor().release(again)  # any actor that has the multihold may
    assert await left(world) == set()


async def test_what_multiholds_say_of_themselves(world: World) -> None:
    alice, locks, multihold = await took(world)

    assert "x, y, z" in repr(locks)
    assert "held" in repr(multihold)
    await alice.release(multihold)
    assert "released" in repr(multihold)
