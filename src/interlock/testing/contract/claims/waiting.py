"""How long one waits, what ends the waiting, and what is left of it."""

from __future__ import annotations

import os
import socket
import time
from unittest.mock import patch

import pytest

from ....errors import AcquireTimeout
from ....recipes import lock as recipe
from ..scope import only
from ..subjects import PLAIN
from ..world import World


@only(kinds=PLAIN)
async def test_half_a_second_means_half_a_second(world: World) -> None:
    await world.held()
    bob, his = world.actor(), world.lock()

    began = time.monotonic()
    with pytest.raises(AcquireTimeout) as refused:
        await bob.acquire(his, timeout=0.5)
    took = time.monotonic() - began

    assert 0.5 <= took < 0.9
    assert 0.5 <= refused.value.waited < 0.9


async def test_a_timeout_names_the_host_and_process_of_the_holder(world: World) -> None:
    _, _, hold = await world.held()
    await _introduced(world)

    with pytest.raises(TimeoutError) as refused:
        await world.actor().acquire(world.lock(), timeout=0.01)

    assert isinstance(refused.value, AcquireTimeout)
    assert refused.value.name == hold.name
    assert f"{socket.gethostname()}:{os.getpid()}" in (refused.value.holder or "")
    assert f"{socket.gethostname()}:{os.getpid()}" in str(refused.value)


async def test_a_timeout_behind_a_sibling_names_the_holder_too(world: World) -> None:
    _, lock, _ = await world.held()
    await _introduced(world)

    with pytest.raises(AcquireTimeout) as refused:
        await world.actor().acquire(lock, timeout=0.01)

    assert f"{socket.gethostname()}:{os.getpid()}" in (refused.value.holder or "")


async def test_a_timeout_says_how_long_was_waited_and_nothing_of_it_where_none_was(
    world: World,
) -> None:
    _, lock, _ = await world.held()

    for each in (world.lock(), lock):
        with pytest.raises(AcquireTimeout, match=r"'claim' is held.*timeout=0") as refused:
            await world.actor().acquire(each, timeout=0)
        assert "wait longer" not in str(refused.value)
        with pytest.raises(AcquireTimeout, match=r"still held .*after \d+ ms of waiting") as late:
            await world.actor().acquire(each, timeout=0.01)
        assert refused.value.timeout == 0
        assert late.value.timeout == 0.01


async def _introduced(world: World) -> None:
    """Wait until the holder has said who it is, as it does in the background."""
    await world.seen(lambda info: info is not None and any(each.host for each in info.holders))


async def test_a_timeout_leaves_nothing_behind(world: World) -> None:
    alice, hers, _ = await world.held()
    bob, his = world.actor(), world.lock(timeout=0.05)

    with pytest.raises(AcquireTimeout):
        await bob.acquire(his)

    info = await world.look()
    assert info is not None
    assert info.waiters == 0
    assert world.standing(his) is None
    await alice.release(hers)
    assert await world.is_free()
    assert await world.actor().attempt(world.lock()) is not None


async def test_a_timeout_behind_a_sibling_leaves_nothing_behind(world: World) -> None:
    alice, lock, _ = await world.held()

    with pytest.raises(AcquireTimeout):
        await world.actor().acquire(lock, timeout=0.05)

    assert world.siblings(lock) == 0
    await alice.release(lock)
    assert world.standing(lock) is None


async def test_no_time_means_one_try(world: World) -> None:
    await world.held()
    bob, his = world.actor(), world.lock(timeout=0)

    with pytest.raises(AcquireTimeout):
        await bob.acquire(his)

    assert "Parked" not in world.told(his)
    assert await world.actor().acquire(world.lock(name="free", timeout=0)) is not None


async def test_none_and_minus_one_mean_no_limit(world: World) -> None:
    for number, forever in enumerate((None, -1)):
        alice, hers, _ = await world.held(name=str(number))
        bob, his = world.actor(), world.lock(name=str(number), timeout=0.001)
        coming = bob.start(his.acquire, timeout=forever)
        await world.until(lambda his=his: "Parked" in world.told(his))  # type: ignore[misc]

        await alice.release(hers)

        assert not (await coming).lost


@only(kinds=PLAIN)
async def test_the_timeout_of_an_acquire_counts_before_that_of_its_lock(world: World) -> None:
    await world.held()

    with pytest.raises(AcquireTimeout):
        await world.actor().acquire(world.lock(timeout=60), timeout=0.01)


async def test_a_release_wakes_who_waits_at_once(world: World) -> None:
    alice, hers, _ = await world.held()
    _, _, coming = await world.waiting()

    began = time.monotonic()
    await alice.release(hers)
    await coming

    # By itself a waiter asks again after a second at the earliest.
    assert time.monotonic() - began < 1


async def test_a_release_wakes_a_sibling_at_once(world: World) -> None:
    alice, lock, _ = await world.held()
    coming = world.actor().start(lock.acquire)
    await world.until(lambda: world.siblings(lock) == 1)

    began = time.monotonic()
    await alice.release(lock)
    await coming

    assert time.monotonic() - began < 1


async def test_who_waits_gets_what_its_holder_left_to_its_lease(world: World) -> None:
    _, _, hold = await world.held(lease=0.6, renew=False)
    _, _, coming = await world.waiting()

    assert (await coming).token > hold.token


async def test_waiting_for_long_raises_nothing(world: World) -> None:
    with patch.object(recipe, "POLL_CAP", 0.01):
        alice, hers, _ = await world.held()
        _, his, coming = await world.waiting()
        await world.until(lambda: world.told(his).count("Parked") > 15)

        await alice.release(hers)

        assert not (await coming).lost


async def test_a_waiter_that_hears_nothing_asks_again_by_itself(world: World) -> None:
    with patch.object(recipe, "POLL_CAP", 0.1):
        alice, hers, _ = await world.held()
        bob, his = world.actor(), world.lock()
        world.traffic(his).deaf = True
        coming = bob.start(his.acquire)
        await world.until(lambda: "Parked" in world.told(his))

        await alice.release(hers)

        assert not (await coming).lost
    assert "Woken" not in world.told(his)


async def test_a_failed_acquire_never_runs_the_body(world: World) -> None:
    await world.held()
    bob, his = world.actor(), world.lock(timeout=0.01)
    ran = False

    with pytest.raises(AcquireTimeout):
        async with bob.within(his):
            ran = True

    assert not ran


async def test_a_try_as_a_block_gives_none_and_releases_nothing(world: World) -> None:
    _, _, hold = await world.held()

    async with world.actor().within(world.lock().attempt()) as tried:
        assert tried is None

    info = await world.look()
    assert info is not None
    assert info.holders[0].owner == hold.owner


async def test_a_try_as_a_block_releases_what_it_got(world: World) -> None:
    async with world.actor().within(world.lock().attempt()) as hold:
        assert hold is not None
        assert not await world.is_free()

    assert await world.is_free()
