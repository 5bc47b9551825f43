"""Semaphores: no permit is lost and none is made up, in whatever order and of whatever weight."""

from __future__ import annotations

import time

import pytest

from ....errors import AcquireTimeout, LockLost, NotHeld
from ..scenes.permits import WRONG_NUMBERS, available, set_permits
from ..scope import only
from ..subjects import PERMITS
from ..world import World

ABOUT = PERMITS

#: Only these may take several permits at once.
WEIGHED = ("semaphore",)


# --- no permit is lost, none is made up -------------------------------------------------------


async def test_permits_come_back_when_the_lease_of_their_holder_ends(world: World) -> None:
    _, _, gone = await world.held(permits=2, lease=0.6, renew=False)
    _, _, kept = await world.held()
    _, _, coming = await world.waiting()

    assert (await coming).token > kept.token
    assert gone.lost
    assert not kept.lost
    assert await available(world) == 0


async def test_a_late_release_makes_no_permit_up(world: World) -> None:
    alice, hers, gone = await world.held(permits=1, lease=0.1, renew=False)
    bob, his, _ = await world.held()

    with pytest.raises(LockLost):
        await alice.release(hers)

    assert gone.lost
    assert await available(world) == 0
    await bob.release(his)
    assert await available(world) == 1


async def test_a_second_release_makes_no_permit_up(world: World) -> None:
    alice, _, permit = await world.held(permits=2)
    await world.held()
    await alice.release(permit)

    with pytest.raises(NotHeld):
        await alice.release(permit)

    assert await available(world) == 1


async def test_a_permit_that_was_taken_away_goes_to_the_next(world: World) -> None:
    _, _, permit = await world.held(permits=2)
    await world.held()
    _, _, coming = await world.waiting()

    began = time.monotonic()
    await world.revoke(permit)
    await coming

    assert time.monotonic() - began < 1
    assert await available(world) == 0
    await world.lost(permit)


async def test_an_answer_that_was_lost_costs_no_permit(world: World) -> None:
    alice, semaphore, permit = await world.held(permits=2)
    losing = world.traffic(semaphore).losing

    losing.append("claim")
    await alice.release(permit)
    assert await available(world) == 2
    losing.append("claim")
    permit = await alice.acquire(semaphore, timeout=5)
    assert await available(world) == 1
    await alice.release(permit)

    assert losing == []
    assert await available(world) == 2


async def test_a_kept_permit_leaves_the_others_alone(world: World) -> None:
    _, _, kept = await world.held(permits=3, lease=10)
    _, _, brief = await world.held(lease=0.2, renew=False)
    _, _, long = await world.held(lease=40, renew=False)

    await world.renewed(kept)
    info = await world.until_held_by(2)

    assert brief.lost
    assert not kept.lost
    left = {holder.owner: holder.expires_in for holder in info.holders}
    assert world.ends(left[kept.owner], 0, 10)
    assert world.ends(left[long.owner], 20, 40)


# --- in order, and by weight ------------------------------------------------------------------


async def test_permits_go_to_who_came_first(world: World) -> None:
    held = [await world.held(permits=2) for _ in range(2)]
    waiting = [await world.waiting() for _ in range(4)]

    for number, (_, _, coming) in enumerate(waiting):
        assert not any(each.done() for _, _, each in waiting[number:])
        actor, semaphore, _ = [*held, *waiting][number]
        await actor.release(semaphore)
        await coming
        assert await world.actor().attempt(world.lock()) is None


@only(kinds=WEIGHED)
async def test_an_acquire_takes_as_many_permits_as_it_weighs(world: World) -> None:
    alice, heavy, permit = await world.held(permits=4, weight=3)

    assert await available(world) == 1
    assert await world.actor().attempt(world.lock(permits=None, weight=2)) is None
    bob, light, _ = await world.held(weight=1)
    assert await available(world) == 0
    info = await world.look()
    assert info is not None
    assert {holder.owner: holder.weight for holder in info.holders}[permit.owner] == 3
    await alice.release(heavy)
    assert await available(world) == 3
    await bob.release(light)
    assert await available(world) == 4


@only(kinds=WEIGHED)
async def test_who_wants_many_permits_is_not_overtaken_by_who_wants_few(world: World) -> None:
    held = [await world.held(permits=2) for _ in range(2)]
    _, _, heavy = await world.waiting(permits=None, weight=2)
    _, _, light = await world.waiting(weight=1)

    await held[0][0].release(held[0][1])
    assert await world.actor().attempt(world.lock()) is None
    assert not heavy.done()
    assert not light.done()
    await held[1][0].release(held[1][1])
    permit = await heavy

    assert not light.done()
    await world.actor().release(permit)
    assert not (await light).lost


@only(kinds=WEIGHED)
async def test_who_wants_many_and_gives_up_lets_those_behind_in(world: World) -> None:
    await world.held(permits=2)
    bob, heavy = world.actor(), world.lock(permits=None, weight=2)
    giving_up = bob.start(heavy.acquire, timeout=0.3)
    await world.until(lambda: "Parked" in world.told(heavy))
    light = world.lock()
    coming = world.actor().start(light.acquire)
    await world.until(lambda: "Parked" in world.told(light) or giving_up.done())

    with pytest.raises(AcquireTimeout):
        await giving_up
    began = time.monotonic()
    await coming

    assert time.monotonic() - began < 0.9
    assert await available(world) == 0


@only(kinds=WEIGHED)
async def test_who_wants_more_than_there_is_waits_for_more_permits(world: World) -> None:
    await set_permits(world, 2)
    bob, greedy = world.actor(), world.lock(permits=None, weight=3)

    assert await bob.attempt(greedy) is None
    coming = bob.start(greedy.acquire)
    await world.until(lambda: "Parked" in world.told(greedy))
    await set_permits(world, 3)

    assert not (await coming).lost
    assert await available(world) == 0


@only(kinds=WEIGHED)
async def test_wrong_weights_are_refused_before_anything_is_sent(world: World) -> None:
    client = world.client()
    for number in WRONG_NUMBERS:
        with pytest.raises((ValueError, TypeError), match="weight"):
            world.lock(client, weight=number)
    with pytest.raises(ValueError, match="more than all"):
        world.lock(client, permits=2, weight=3)

    assert world.traffic(client).requests == []
