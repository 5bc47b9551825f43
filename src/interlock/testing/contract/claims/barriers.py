"""Barriers: parties enter together, are inside together, and leave together."""

from __future__ import annotations

import asyncio
import time
from typing import Any
from unittest.mock import patch

import pytest

from ....errors import BarrierTimeout, NotHeld, UsageError
from ....recipes import lock as recipe
from ..world import World

ABOUT = ("barrier",)


def made(world: World, parties: int = 2, client: Any = None, **terms: Any) -> Any:
    """The barrier, as a client or a new one sees it."""
    return (client or world.client()).barrier("claim", parties, **terms)


class Guest:
    """An actor that comes to the barrier and goes, by a client of its own."""

    def __init__(self, world: World, parties: int = 2, client: Any = None, **terms: Any) -> None:
        self.world, self.actor = world, world.actor()
        self.barrier = made(world, parties, client, **terms)
        self.party: Any = None

    def comes(self, **how: Any) -> asyncio.Future[Any]:
        coming = self.actor.start(self.barrier.enter, **how)
        coming.add_done_callback(_heeded)
        return coming

    async def waits(self, **how: Any) -> asyncio.Future[Any]:
        """Come, and wait for the others."""
        parked = self._parked
        return await self._until_parked(parked, self.comes(**how))

    async def enters(self) -> Any:
        """Come as the last one."""
        self.party = await self.comes()
        return self.party

    def goes(self, **how: Any) -> asyncio.Future[Any]:
        return self.actor.start(self.barrier.leave, **how)

    async def done(self, **how: Any) -> asyncio.Future[Any]:
        """Be done, and wait for the others."""
        parked = self._parked
        return await self._until_parked(parked, self.goes(**how))

    @property
    def _parked(self) -> int:
        return self.world.told(self.barrier).count("Parked")

    async def _until_parked(self, parked: int, turn: asyncio.Future[Any]) -> asyncio.Future[Any]:
        await self.world.until(lambda: self._parked > parked or turn.done())
        return turn


def _heeded(coming: asyncio.Future[Any]) -> None:
    """One that still waits when the claim ends is told that its client was closed."""
    if not coming.cancelled():
        coming.exception()


async def inside(world: World, number: int = 2, **terms: Any) -> list[Guest]:
    """So many parties, of a client each, that are inside."""
    guests = [Guest(world, number, **terms) for _ in range(number)]
    coming = [await guest.waits() for guest in guests[:-1]]
    await guests[-1].enters()
    for guest, turn in zip(guests, coming, strict=False):
        guest.party = await turn
    return guests


async def all_go(*guests: Guest) -> None:
    await asyncio.gather(*(guest.goes() for guest in guests))


async def is_clear(world: World) -> None:
    """Wait until the store knows of no party."""
    await world.seen(lambda info: info is None)


# --- entering -----------------------------------------------------------------------------------


async def test_parties_are_let_in_when_all_are_there(world: World) -> None:
    first, second, last = (Guest(world, 3) for _ in range(3))
    coming = [await first.waits(), await second.waits()]
    assert not any(turn.done() for turn in coming)
    assert await world.actor().do(last.barrier.arrived) == 2

    await last.enters()

    parties = [*await asyncio.gather(*coming), last.party]
    assert len({party.owner for party in parties}) == 3
    assert not any(party.lost for party in parties)
    assert await world.actor().do(last.barrier.arrived) == 3
    await all_go(first, second, last)
    assert await world.look() is None


async def test_threads_or_tasks_of_one_client_are_a_party_each(world: World) -> None:
    client = world.client()
    first, second = Guest(world, 2, client), Guest(world, 2, client)
    coming = await first.waits()

    await second.enters()
    await coming

    await all_go(first, second)
    await is_clear(world)


async def test_a_barrier_for_one_is_open(world: World) -> None:
    guest = Guest(world, 1)

    for _ in range(2):
        await guest.enters()
        await guest.goes()
    await world.actor().do(guest.barrier.wait)

    assert await world.look() is None


async def test_a_party_that_waits_is_let_in_at_once_by_the_last_one(world: World) -> None:
    first, last = Guest(world), Guest(world)
    coming = await first.waits()
    began = time.monotonic()

    await last.enters()
    await coming

    assert time.monotonic() - began < 1.0


async def test_a_wake_that_is_lost_only_delays_a_party(world: World) -> None:
    with patch.object(recipe, "POLL_CAP", 0.1):
        deaf, last = Guest(world), Guest(world)
        world.traffic(deaf.barrier).deaf = True
        coming = await deaf.waits()
        entering = last.comes()

        await asyncio.gather(coming, entering)

        leaving = await deaf.done()
        await last.goes()
        await leaving


async def test_a_timeout_takes_the_party_out_and_leaves_nothing(world: World) -> None:
    first, hasty, last = Guest(world, 3), Guest(world, 3), Guest(world, 3)
    coming = await first.waits()

    with pytest.raises(
        BarrierTimeout, match="only 2 of 3 parties were at barrier 'claim'"
    ) as late:
        await hasty.comes(timeout=0.05)

    assert (late.value.parties, late.value.there, late.value.leaving) == (3, 2, False)
    assert await world.actor().do(last.barrier.arrived) == 1
    assert not (await last.waits()).done() and not coming.done()
    await Guest(world, 3).enters()
    await coming


async def test_a_try_leaves_nothing(world: World) -> None:
    guest = Guest(world)

    with pytest.raises(BarrierTimeout, match="only 1 of 2"):
        await guest.comes(timeout=0)

    assert await world.look() is None


async def test_a_party_that_comes_while_others_are_inside_waits_for_the_next_time(
    world: World,
) -> None:
    guests, late, later = await inside(world), Guest(world), Guest(world)
    coming = await late.waits()
    assert not coming.done()

    leaving = await guests[0].done()
    assert not coming.done() and not leaving.done()
    await guests[1].goes()
    await leaving
    assert not coming.done()

    await later.enters()
    assert (await coming).token > max(guest.party.token for guest in guests)


async def test_one_that_is_inside_is_not_let_to_wait_for_itself(world: World) -> None:
    guests = await inside(world)

    with pytest.raises(UsageError, match="wait for itself"):
        await guests[0].comes()
    await all_go(*guests)


# --- leaving ------------------------------------------------------------------------------------


async def test_no_party_leaves_before_all_are_done(world: World) -> None:
    guests = await inside(world, 3)
    leaving = [await guests[0].done(), await guests[1].done()]
    assert not any(turn.done() for turn in leaving)

    began = time.monotonic()
    await guests[2].goes()
    await asyncio.gather(*leaving)

    assert time.monotonic() - began < 1.0
    assert await world.look() is None


async def test_blocks_come_and_go_together_again_and_again(world: World) -> None:
    story: list[tuple[int, str]] = []

    def take_part(barrier: Any) -> None:
        for round in range(3):
            with barrier:
                story.append((round, "in"))
                story.append((round, "done"))

    async def atake_part(barrier: Any) -> None:
        for round in range(3):
            async with barrier:
                story.append((round, "in"))
                await asyncio.sleep(0)
                story.append((round, "done"))

    actors = [world.actor() for _ in range(3)]
    work = world.pick(take_part, atake_part)
    async with asyncio.timeout(20):
        await asyncio.gather(*(actor.do(work, made(world, 3)) for actor in actors))

    assert [round for round, _ in story] == [0] * 6 + [1] * 6 + [2] * 6
    assert await world.look() is None


async def test_to_wait_is_to_meet_and_to_go_on_again_and_again(world: World) -> None:
    story: list[int] = []

    def meet(barrier: Any) -> None:
        for round in range(4):
            story.append(round)
            barrier.wait()

    async def ameet(barrier: Any) -> None:
        for round in range(4):
            story.append(round)
            await barrier.wait()

    actors, work = [world.actor() for _ in range(3)], world.pick(meet, ameet)
    async with asyncio.timeout(20):
        await asyncio.gather(*(actor.do(work, made(world, 3)) for actor in actors))

    assert story == sorted(story)
    await is_clear(world)


async def test_a_timeout_of_leaving_leaves_all_the_same(world: World) -> None:
    hasty, other = await inside(world)

    with pytest.raises(BarrierTimeout, match="1 of 2 parties are still inside") as late:
        await hasty.goes(timeout=0.05)

    assert late.value.leaving
    assert [each.owner for each in (await world.until_held_by(1)).holders] == [other.party.owner]
    await other.goes()
    assert await world.look() is None


async def test_an_exception_in_a_block_leaves_at_once(world: World) -> None:
    first, last = Guest(world), Guest(world)
    entered = asyncio.Event()

    async def fail() -> None:
        async with first.actor.within(first.barrier):
            entered.set()
            raise KeyError("of the body")

    failing = asyncio.ensure_future(fail())
    await world.until(lambda: "Parked" in world.told(first.barrier))
    await last.enters()

    with pytest.raises(KeyError, match="of the body"):
        await failing
    await last.goes()
    assert await world.look() is None


async def test_a_party_that_is_released_is_not_waited_for(world: World) -> None:
    first, last = await inside(world)
    leaving = await first.done()

    await last.actor.do(last.party.release)

    await leaving
    await is_clear(world)


async def test_one_that_is_not_inside_cannot_leave(world: World) -> None:
    guest = Guest(world, 1)

    with pytest.raises(NotHeld):
        await guest.goes()
    await guest.enters()
    await guest.actor.do(guest.party.leave)
    with pytest.raises(NotHeld):
        await guest.actor.do(guest.party.leave)
