"""Elections: one leads for a term, the loops of the others go on, and observers hear of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from ....errors import LockLost, StoreUnavailable
from ....model import Holder
from ..scope import only
from ..world import ASYNCIO, BLOCKING, World

ABOUT = ("election",)


def made(world: World, client: Any = None, **terms: Any) -> Any:
    """The election, as a client or a new one sees it."""
    return (client or world.client()).election("claim", **terms)


class TermLoop:
    """An actor that loops over an election, one term after another."""

    def __init__(self, world: World, election: Any = None, **terms: Any) -> None:
        self.world, self.actor = world, world.actor()
        self.election = election or made(world, **terms)
        self._terms: Any = world.pick(iter, aiter)(self.election)

    def start(self) -> asyncio.Future[Any]:
        """Stand for the next term; the body of the one before has ended."""
        return self.actor.start(self.world.pick(next, anext), self._terms)

    async def term(self) -> Any:
        return await self.start()

    async def leave(self) -> None:
        """Leave the loop."""
        await self.actor.do(getattr(self._terms, self.world.pick("close", "aclose")))

    async def waits(self) -> asyncio.Future[Any]:
        """Stand, and wait behind the leader."""
        coming = self.start()
        await self.world.until(lambda: "Parked" in self.world.told(self.election))
        return coming


async def leader(world: World, election: Any = None) -> Holder | None:
    """Who leads, as one sees it that takes no part."""
    seen = election or made(world, world.onlooker())
    found: Holder | None = await world.actor().do(seen.leader)
    return found


async def nobody_leads(world: World) -> None:
    """Wait until the election is free."""
    await world.seen(lambda info: info is None)


# --- terms ------------------------------------------------------------------------------------


async def test_one_leads_and_the_next_one_when_it_has_resigned(world: World) -> None:
    first, second = TermLoop(world), TermLoop(world)
    term = await first.term()
    coming = await second.waits()
    assert not coming.done()

    await first.leave()

    following = await coming
    assert following.token > term.token
    assert (term.lost, following.lost) == (False, False)
    await second.leave()
    await nobody_leads(world)


async def test_a_body_that_ends_resigns_and_stands_again(world: World) -> None:
    first, second = TermLoop(world), TermLoop(world)
    term = await first.term()
    coming = await second.waits()

    again = first.start()

    following = await coming
    assert not again.done()
    await second.leave()
    assert term.token < following.token < (await again).token
    await first.leave()


async def test_a_term_costs_what_a_lock_costs(world: World) -> None:
    loop = TermLoop(world)
    await loop.term()
    await loop.term()  # the first use of a name may cost more
    asked = world.traffic(loop.election).about("claim")

    await loop.term()

    assert world.traffic(loop.election).about("claim") == asked + 1 + world.round_trips


@only(faces=(BLOCKING,))
async def test_a_term_that_was_lost_ends_quietly_and_the_loop_stands_again(world: World) -> None:
    loop = TermLoop(world)
    term = await loop.term()
    await world.revoke(term)
    await world.lost(term)
    assert term.lost

    again = await loop.term()

    assert again.token > term.token
    assert not again.lost


@only(faces=(BLOCKING,))
async def test_a_loss_in_a_block_of_the_term_ends_the_body_and_not_the_loop(world: World) -> None:
    begun: list[Any] = []

    def lead(election: Any) -> None:
        for term in election:
            begun.append(term)
            if len(begun) == 2:
                return
            with term:
                while True:
                    time.sleep(0.002)
                    term.ensure()

    ended = world.actor().start(lead, made(world))
    await world.until(lambda: len(begun) == 1)
    await world.revoke(begun[0])
    await world.lost(begun[0])

    await ended
    assert begun[0].token < begun[1].token
    await nobody_leads(world)


@only(faces=(ASYNCIO,))
async def test_a_loss_cancels_the_block_of_the_term_and_not_the_loop(world: World) -> None:
    tokens: list[int] = []

    async for term in made(world):
        tokens.append(term.token)
        if len(tokens) == 2:
            break
        async with term:
            await world.revoke(term)
            world.make_all_due(term)
            await asyncio.sleep(60)
            raise AssertionError("it was not cancelled")

    assert tokens[0] < tokens[1]
    task = asyncio.current_task()
    assert task is not None and task.cancelling() == 0
    await nobody_leads(world)


@only(faces=(ASYNCIO,))
async def test_a_loss_cancels_a_body_without_a_block_and_with_it_the_loop(world: World) -> None:
    election, leading = made(world), asyncio.Event()
    terms: list[Any] = []

    async def lead() -> None:
        async for term in election:
            terms.append(term)
            leading.set()
            await asyncio.sleep(60)

    task = asyncio.create_task(lead())
    await leading.wait()
    await world.revoke(terms[0])
    world.make_all_due(terms[0])

    with pytest.raises(asyncio.CancelledError):
        await task
    await nobody_leads(world)


async def test_a_block_of_a_term_lets_other_errors_through(world: World) -> None:
    loop, other = TermLoop(world), TermLoop(world)
    term = await loop.term()
    with pytest.raises(LockLost, match="another"):
        async with loop.actor.within(term):
            raise LockLost("another", term.token, 1.0, "of another lock")

    assert (await other.term()).token > term.token
    await other.leave()
    await loop.leave()


# --- leaving ----------------------------------------------------------------------------------


def broken(leaves: Callable[[], None]) -> tuple[Any, Any]:
    """A function that leads and leaves at once, in both worlds."""

    def lead(election: Any) -> None:
        for _ in election:
            leaves()
            break

    async def alead(election: Any) -> None:
        async for _ in election:
            leaves()
            break

    return lead, alead


async def test_a_break_resigns(world: World) -> None:
    election = made(world)

    await world.actor().do(world.pick(*broken(lambda: None)), election)

    if world.face is BLOCKING:
        assert await world.look() is None
    await nobody_leads(world)
    assert "Released" in world.told(election)


async def test_an_error_in_the_body_resigns_and_goes_on(world: World) -> None:
    def fail() -> None:
        raise KeyError("of the body")

    with pytest.raises(KeyError, match="of the body"):
        await world.actor().do(world.pick(*broken(fail)), made(world))

    await nobody_leads(world)


async def test_a_term_that_was_released_is_not_released_again(world: World) -> None:
    loop = TermLoop(world)
    term = await loop.term()
    await loop.actor.do(term.release)
    assert await world.look() is None

    again = await loop.term()

    assert again.token > term.token
    await loop.leave()


async def test_an_unconfirmed_resignation_ends_no_loop(world: World) -> None:
    loop = TermLoop(world)
    term = await loop.term()
    world.traffic(loop.election).losing.append("claim")

    assert (await loop.term()).token > term.token
    await loop.leave()
    await nobody_leads(world)


async def cancelled(task: asyncio.Task[None]) -> None:
    """Cancel a task, which ends by it."""
    task.cancel("from outside")
    with pytest.raises(asyncio.CancelledError):
        await task


@only(faces=(ASYNCIO,))
async def test_a_leader_that_is_cancelled_leaves_nothing_behind(world: World) -> None:
    leads = asyncio.Event()

    async def lead() -> None:
        async for _ in made(world):
            leads.set()
            await asyncio.sleep(60)

    task = asyncio.create_task(lead())
    await leads.wait()
    await cancelled(task)

    await nobody_leads(world)


@only(faces=(ASYNCIO,))
async def test_a_candidate_that_is_cancelled_leaves_nothing_behind(world: World) -> None:
    ahead, election = TermLoop(world), made(world)
    await ahead.term()

    async def lead() -> None:
        async for _ in election:
            raise AssertionError("it leads")

    task = asyncio.create_task(lead())
    await world.until(lambda: "Parked" in world.told(election))
    await cancelled(task)

    await world.until_nobody_waits()
    await ahead.leave()
    await nobody_leads(world)


async def test_closing_the_client_ends_the_loop(world: World) -> None:
    ahead, loop = TermLoop(world), TermLoop(world)
    await ahead.term()
    coming = await loop.waits()

    await world.close(world.client_of(loop.election))

    with pytest.raises(StoreUnavailable, match="closed"):
        await coming
