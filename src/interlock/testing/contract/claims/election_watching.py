"""One term of an election as a block; who leads, and how an observer hears of it."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

import pytest

from ....errors import AcquireTimeout, LockLost, StoreUnavailable, UsageError
from ..world import World
from .elections import TermLoop, leader, made

ABOUT = ("election",)


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
    ahead = TermLoop(world, participant="node-a")
    await ahead.term()
    late = made(world, timeout=0.05)

    for candidacy in (late.lead(), made(world).lead(timeout=0.05)):
        with pytest.raises(AcquireTimeout, match="node-a"):
            await world.actor().acquire(candidacy)

    assert await world.actor().do(late.lead().try_acquire) is None
    await world.until_nobody_waits()
    await ahead.leave()


async def test_one_that_leads_is_not_let_to_wait_for_itself(world: World) -> None:
    loop = TermLoop(world)
    await loop.term()

    with pytest.raises(UsageError, match="wait for itself"):
        await loop.actor.acquire(loop.election.lead())
    await loop.leave()


# --- who leads ----------------------------------------------------------------------------------


async def test_all_see_who_leads(world: World) -> None:
    assert await leader(world) is None
    loop, other = TermLoop(world, participant="Zoë 1"), made(world, participant="other")
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
    loop = TermLoop(world)
    term = await loop.term()

    found = await leader(world)

    assert found is not None and (found.owner, found.participant) == (term.owner, "")
    assert loop.election.participant == ""
    await loop.leave()


async def test_what_a_participant_is_called_is_kept_with_its_term(world: World) -> None:
    loop = TermLoop(world, participant="node-a", lease=world.brief)
    term = await loop.term()

    for _ in range(2):
        await world.renewed(term)
    found = await leader(world)

    assert found is not None and found.participant == "node-a"
    await loop.leave()


async def test_an_onlooker_finds_and_revokes_an_election(world: World) -> None:
    loop = TermLoop(world, participant="node-a")
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
    watching, loop = Watching(world), TermLoop(world)
    await world.until(lambda: watching.heard == [None])

    first = await loop.term()
    await world.until(lambda: watching.heard == [None, first.owner])
    second = await loop.term()
    await world.until(lambda: watching.heard[-1] == second.owner)
    await loop.leave()
    await world.until(lambda: watching.heard[-1] is None)

    assert [each for each in watching.heard if each] == [first.owner, second.owner]


async def test_an_observer_hears_at_once_of_a_hand_over(world: World) -> None:
    first, second, watching = TermLoop(world), TermLoop(world), Watching(world)
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
