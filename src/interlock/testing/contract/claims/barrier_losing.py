"""Parties of a barrier that die, are lost or give up; what an onlooker sees, and what it costs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ....errors import LockLost, StoreUnavailable
from ..scope import only
from ..world import ASYNCIO, World
from .barriers import Guest, all_go, inside, is_clear, made

ABOUT = ("barrier",)


# --- parties that die, are lost or give up ------------------------------------------------------


async def test_a_party_that_waits_and_goes_away_does_not_count(world: World) -> None:
    first, leaver, last = Guest(world, 3), Guest(world, 3), Guest(world, 3)
    coming = await first.waits()
    left = await leaver.waits()

    await world.close(world.client_of(leaver.barrier))
    with pytest.raises(StoreUnavailable, match="closed"):
        await left

    assert not (await last.waits()).done()
    await Guest(world, 3).enters()
    await coming


async def test_a_party_that_dies_inside_is_waited_for_as_long_as_its_lease(world: World) -> None:
    dying, first = Guest(world, lease=world.brief, renew=False), Guest(world)
    coming = await first.waits()
    await dying.enters()
    await coming

    await first.goes()

    assert dying.party.lost
    with pytest.raises(LockLost):
        await dying.goes()
    await is_clear(world)


async def test_a_party_that_was_revoked_hears_of_it_and_is_not_waited_for(world: World) -> None:
    first, revoked = await inside(world)
    leaving = await first.done()

    await world.revoke(revoked.party)
    await leaving

    with pytest.raises(LockLost):
        await revoked.goes()
    await is_clear(world)


async def test_a_lost_answer_counts_a_party_once(world: World) -> None:
    first, last = Guest(world), Guest(world)
    world.traffic(first.barrier).losing.append("claim")
    coming = await first.waits()
    assert await world.actor().do(last.barrier.arrived) == 1
    world.traffic(last.barrier).losing.append("claim")

    await last.enters()
    await coming

    for guest in (first, last):
        world.traffic(guest.barrier).losing.append("claim")
    await all_go(first, last)
    await is_clear(world)


@only(faces=(ASYNCIO,))
async def test_a_party_that_is_cancelled_leaves_nothing_behind(world: World) -> None:
    barrier, other = made(world), Guest(world)

    async def take_part() -> None:
        async with barrier:
            pass

    task = asyncio.create_task(take_part())
    await world.until(lambda: "Parked" in world.told(barrier))
    task.cancel("from outside")
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await world.look() is None

    marks = world.told(barrier).count("Parked")
    task = asyncio.create_task(take_part())
    await world.until(lambda: world.told(barrier).count("Parked") > marks)
    await other.enters()
    await world.until(lambda: world.told(barrier).count("Granted") == 1)
    await world.until(lambda: world.told(barrier).count("Parked") > marks + 1)
    task.cancel("while it waits to leave")
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await world.until_held_by(1)).holders[0].owner == other.party.owner
    await other.goes()
    await is_clear(world)


@only(faces=(ASYNCIO,))
async def test_a_loss_cancels_the_block_of_a_party(world: World) -> None:
    barrier, other = made(world), Guest(world)
    entered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    async def take_part() -> None:
        async with barrier as party:
            entered.set_result(party)
            await asyncio.sleep(60)

    task = asyncio.create_task(take_part())
    await world.until(lambda: "Parked" in world.told(barrier))
    await other.enters()
    party = await entered
    await world.revoke(party)
    world.make_all_due(party)

    with pytest.raises(LockLost):
        await task
    await other.goes()


# --- looking, and what it costs -----------------------------------------------------------------


async def test_an_onlooker_finds_the_parties_and_revokes_them(world: World) -> None:
    first, onlooker = Guest(world, 3), world.onlooker()
    coming = await first.waits()
    info = await world.actor().do(onlooker.inspect, "claim")
    assert (info.kind, info.parties) == ("barrier", 3)
    assert [each.mode for each in info.holders] == ["waits"]
    assert [each.name for each in await world.actor().do(onlooker.locks, "cl*")] == ["claim"]
    second, last = Guest(world, 3), Guest(world, 3)
    turn = await second.waits()
    await last.enters()
    await asyncio.gather(coming, turn)
    info = await world.actor().do(onlooker.inspect, "claim")
    assert [each.mode for each in info.holders] == ["inside"] * 3

    assert await world.actor().do(onlooker.revoke, "claim", reason="it is stuck") is not None

    assert await world.look() is None
    with pytest.raises(LockLost, match="it is stuck"):
        await last.goes()


async def test_the_last_party_enters_and_leaves_in_a_few_round_trips(world: World) -> None:
    first, last = Guest(world), Guest(world)
    asked = entered = 0
    for _ in range(2):  # the first use of a name may cost more
        coming = await first.waits()
        asked = world.traffic(last.barrier).about("claim")
        await last.enters()
        await coming
        entered = world.traffic(last.barrier).about("claim")
        leaving = await first.done()
        await last.goes()
        await leaving

    left = world.traffic(last.barrier).about("claim")
    at_once = world.store_of(last.barrier).leases_expire  # as everywhere but on ZooKeeper
    assert 1 <= entered - asked <= (1 if at_once else 3)
    assert 1 <= left - entered <= (1 if at_once else 5)


async def test_wrong_numbers_are_refused_before_anything_is_sent(world: World) -> None:
    client: Any = world.client()
    for number in (0, -1, 2**31, True, 1.5, "2", None):
        with pytest.raises((ValueError, TypeError), match="parties"):
            client.barrier("claim", number)
    with pytest.raises((ValueError, TypeError), match="timeout"):
        client.barrier("claim", 2, timeout=-2)
    barrier = client.barrier("claim", 2)
    for call in (barrier.enter, barrier.wait):
        with pytest.raises((ValueError, TypeError), match="timeout"):
            await world.actor().do(call, timeout="10")

    assert (barrier.name, barrier.parties) == ("claim", 2)
    assert world.traffic(client).requests == []
