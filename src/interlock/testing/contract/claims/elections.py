"""Elections: one leads for a term, the loops of the others go on, and observers hear of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from ....errors import AcquireTimeout, LockLost, StoreUnavailable, UsageError
from ....model import Holder
from ..scope import only
from ..world import ASYNCIO, BLOCKING, World

ABOUT = ("election",)


def made(world: World, client: Any = None, **terms: Any) -> Any:
    """The election, as a client or a new one sees it."""
    return (client or world.client()).election("claim", **terms)


class Loop:
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
    first, second = Loop(world), Loop(world)
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
    first, second = Loop(world), Loop(world)
    term = await first.term()
    coming = await second.waits()

    again = first.start()

    following = await coming
    assert not again.done()
    await second.leave()
    assert term.token < following.token < (await again).token
    await first.leave()


async def test_a_term_costs_what_a_lock_costs(world: World) -> None:
    loop = Loop(world)
    await loop.term()
    await loop.term()  # the first use of a name may cost more
    asked = world.traffic(loop.election).about("claim")

    await loop.term()

    assert world.traffic(loop.election).about("claim") == asked + 1 + world.round_trips


@only(faces=(BLOCKING,))
async def test_a_term_that_was_lost_ends_quietly_and_the_loop_stands_again(world: World) -> None:
    loop = Loop(world)
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
    loop, other = Loop(world), Loop(world)
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
    loop = Loop(world)
    term = await loop.term()
    await loop.actor.do(term.release)
    assert await world.look() is None

    again = await loop.term()

    assert again.token > term.token
    await loop.leave()


async def test_an_unconfirmed_resignation_ends_no_loop(world: World) -> None:
    loop = Loop(world)
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
    ahead, election = Loop(world), made(world)
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
    ahead, loop = Loop(world), Loop(world)
    await ahead.term()
    coming = await loop.waits()

    await world.close(world.client_of(loop.election))

    with pytest.raises(StoreUnavailable, match="closed"):
        await coming


# --- one term as a block ------------------------------------------------------------------------


async def test_a_block_of_one_term_leads_and_resigns(world: World) -> None:
    election, actor = made(world, participant="node-a"), world.actor()

    async with actor.within(election.lead()) as term:
        found = await leader(world)
        assert found is not None
        assert (found.owner, found.participant) == (term.owner, "node-a")

    assert await world.look() is None


async def test_a_block_of_one_term_raises_its_loss(world: World) -> None:
    election, actor = made(world), world.actor()

    with pytest.raises(LockLost):
        async with actor.within(election.lead()) as term:
            await world.revoke(term)
            await world.lost(term)


async def test_a_timeout_names_the_leader_and_leaves_nothing(world: World) -> None:
    ahead = Loop(world, participant="node-a")
    await ahead.term()
    late = made(world, timeout=0.05)

    for candidacy in (late.lead(), made(world).lead(timeout=0.05)):
        with pytest.raises(AcquireTimeout, match="node-a"):
            await world.actor().acquire(candidacy)

    assert await world.actor().do(late.lead().try_acquire) is None
    await world.until_nobody_waits()
    await ahead.leave()


async def test_one_that_leads_is_not_let_to_wait_for_itself(world: World) -> None:
    loop = Loop(world)
    await loop.term()

    with pytest.raises(UsageError, match="wait for itself"):
        await loop.actor.acquire(loop.election.lead())
    await loop.leave()


# --- who leads ----------------------------------------------------------------------------------


async def test_all_see_who_leads(world: World) -> None:
    assert await leader(world) is None
    loop, other = Loop(world, participant="Zoë 1"), made(world, participant="other")
    term = await loop.term()

    for seen in (None, other, loop.election):
        found = await leader(world, seen)
        assert found is not None
        assert (found.owner, found.participant) == (term.owner, "Zoë 1")
        assert str(found).startswith("Zoë 1 at ")
        assert found.token in (None, term.token)
    await loop.leave()
    assert await leader(world, other) is None


async def test_a_participant_need_not_be_called_anything(world: World) -> None:
    loop = Loop(world)
    term = await loop.term()

    found = await leader(world)

    assert found is not None and (found.owner, found.participant) == (term.owner, "")
    assert loop.election.participant == ""
    await loop.leave()


async def test_what_a_participant_is_called_is_kept_with_its_term(world: World) -> None:
    loop = Loop(world, participant="node-a", lease=world.brief)
    term = await loop.term()

    for _ in range(2):
        await world.renewed(term)
    found = await leader(world)

    assert found is not None and found.participant == "node-a"
    await loop.leave()


async def test_an_onlooker_finds_and_revokes_an_election(world: World) -> None:
    loop = Loop(world, participant="node-a")
    term = await loop.term()
    onlooker = world.onlooker()

    info = await world.actor().do(onlooker.inspect, "claim")
    assert (info.kind, info.holders[0].participant) == ("election", "node-a")
    assert info.expires_in > 5
    assert [each.name for each in await world.actor().do(onlooker.locks, "cl*")] == ["claim"]
    assert await world.actor().do(onlooker.revoke, "claim", reason="it is stuck") is not None
    world.make_all_due(term)
    await world.until(lambda: term.lost)

    assert await world.look() is None


# --- hearing of a change ------------------------------------------------------------------------


class Watching:
    """An actor that watches an election, and what it has heard."""

    def __init__(self, world: World) -> None:
        self.heard: list[str | None] = []
        election = made(world)
        world.actor().start(world.pick(self._watch, self._awatch), election)

    def _watch(self, election: Any) -> None:
        with suppress(StoreUnavailable):  # at the end its client is closed
            for found in election.watch():
                self.heard.append(found and found.owner)

    async def _awatch(self, election: Any) -> None:
        with suppress(StoreUnavailable):
            async for found in election.watch():
                self.heard.append(found and found.owner)


async def test_an_observer_hears_of_every_change(world: World) -> None:
    watching, loop = Watching(world), Loop(world)
    await world.until(lambda: watching.heard == [None])

    first = await loop.term()
    await world.until(lambda: watching.heard == [None, first.owner])
    second = await loop.term()
    await world.until(lambda: watching.heard[-1] == second.owner)
    await loop.leave()
    await world.until(lambda: watching.heard[-1] is None)

    assert [each for each in watching.heard if each] == [first.owner, second.owner]


async def test_an_observer_hears_at_once_of_a_hand_over(world: World) -> None:
    first, second, watching = Loop(world), Loop(world), Watching(world)
    await first.term()
    coming = await second.waits()
    await world.until(lambda: len(watching.heard) >= 1 and watching.heard[-1] is not None)
    began = time.monotonic()

    await first.leave()
    term = await coming
    await world.until(lambda: watching.heard[-1] == term.owner)

    assert time.monotonic() - began < 1.0
    await second.leave()


async def test_an_observer_hears_that_a_leader_has_left_its_term_to_its_lease(
    world: World,
) -> None:
    watching = Watching(world)
    actor, election = world.actor(), made(world, lease=0.8, renew=False)
    term = await actor.acquire(election.lead())
    await world.until(lambda: watching.heard[-1:] == [term.owner])

    await world.until(lambda: watching.heard[-1] is None)

    assert term.lost


# --- what is refused ----------------------------------------------------------------------------


async def test_wrong_terms_are_refused_before_anything_is_sent(world: World) -> None:
    client: Any = world.client()
    for wrong in (
        {"participant": 7},
        {"participant": "\ud800"},
        {"participant": "x" * 70_000},
        {"timeout": -2},
        {"lease": 0},
    ):
        (argument,) = wrong
        with pytest.raises((TypeError, ValueError), match=argument):
            client.election("claim", **wrong)
    with pytest.raises(ValueError, match="name"):
        client.election("")

    assert world.traffic(client).requests == []


async def test_an_election_is_described_and_copied_as_a_lock_is(world: World) -> None:
    import copy

    election = made(world, participant="node-a")

    assert "'claim'" in repr(election)
    assert copy.copy(election) is election
    assert (election.name, election.participant) == ("claim", "node-a")
