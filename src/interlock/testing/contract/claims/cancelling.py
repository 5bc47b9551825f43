"""Blocks of tasks: what cancels them, and which exception comes out of them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ....api.lock import AsyncAcquirable
from ....errors import LockLost
from ..scope import only
from ..subjects import PLAIN, REENTRANT
from ..world import ASYNCIO, World


@only(faces=(ASYNCIO,))
async def test_a_loss_cancels_the_body_and_the_block_raises_it(world: World) -> None:
    lock = _lock(world)
    cancelled: list[int] = []

    with pytest.raises(LockLost) as lost:
        async with lock as hold:
            await world.revoke(hold)
            world.make_all_due(hold)
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                cancelled.append(hold.token)
                raise

    assert cancelled == [lost.value.token]
    await _nothing_cancels_us()


@only(faces=(ASYNCIO,))
async def test_a_body_that_swallows_the_cancellation_still_hears_of_the_loss(
    world: World,
) -> None:
    lock = _lock(world)

    with pytest.raises(LockLost):
        async with lock as hold:
            await world.revoke(hold)
            world.make_all_due(hold)
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                pass

    await _nothing_cancels_us()


@only(faces=(ASYNCIO,))
async def test_a_release_in_the_body_that_finds_the_loss_cancels_nothing_later(
    world: World,
) -> None:
    lock = _lock(world)

    with pytest.raises(LockLost):
        async with lock as hold:
            await world.revoke(hold)
            await hold.release()

    await _nothing_cancels_us()


@only(faces=(ASYNCIO,), kinds=PLAIN)
async def test_a_cancellation_while_a_lost_lock_is_given_back_stays_one(world: World) -> None:
    lock, leaving = _lock(world, lease=0.3, renew=False), asyncio.Event()

    async def body() -> None:
        async with lock:
            world.traffic(lock).silent = True
            try:
                await asyncio.sleep(60)
            finally:
                leaving.set()

    task = asyncio.ensure_future(body())
    await leaving.wait()
    await asyncio.sleep(0.05)  # by now it waits for the store
    waits = task.cancel()  # where leases do not end by themselves, the keeper withdraws

    with pytest.raises(asyncio.CancelledError if waits else LockLost):
        await task


@only(faces=(ASYNCIO,), kinds=REENTRANT)
async def test_a_loss_in_nested_blocks_is_raised_by_both(world: World) -> None:
    lock = _lock(world)

    with pytest.raises(LockLost):
        async with lock as hold:
            with pytest.raises(LockLost):
                async with lock:
                    await world.revoke(hold)
                    world.make_all_due(hold)
                    await asyncio.sleep(60)

    await _nothing_cancels_us()


@only(faces=(ASYNCIO,))
async def test_a_cancellation_from_outside_stays_one(world: World) -> None:
    lock, inside = _lock(world), asyncio.Event()

    async def body() -> None:
        async with lock:
            inside.set()
            await asyncio.sleep(60)

    task = asyncio.create_task(body())
    await inside.wait()
    task.cancel("from outside")

    with pytest.raises(asyncio.CancelledError):
        await task
    assert await world.is_free()


@only(faces=(ASYNCIO,))
async def test_a_cancellation_from_outside_stays_one_even_after_a_loss(world: World) -> None:
    lock, inside = _lock(world), asyncio.Event()
    tasks: list[asyncio.Task[None]] = []

    async def body() -> None:
        async with lock as hold:
            hold.on_lost(lambda _: tasks[0].cancel("from outside"))
            await world.revoke(hold)
            world.make_all_due(hold)
            inside.set()
            await asyncio.sleep(60)

    tasks.append(asyncio.create_task(body()))
    await inside.wait()

    with pytest.raises(asyncio.CancelledError):
        await tasks[0]


@only(faces=(ASYNCIO,))
async def test_a_time_limit_around_a_block_stays_a_time_limit(world: World) -> None:
    lock = _lock(world)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05), lock:
            await asyncio.sleep(60)

    assert await world.is_free()
    await _nothing_cancels_us()


@only(faces=(ASYNCIO,))
async def test_a_time_limit_around_an_acquire_leaves_nothing_behind(world: World) -> None:
    _, _, hold = await world.held()

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await _lock(world).acquire()

    info = await world.look()
    assert info is not None
    assert (info.holders[0].owner, info.waiters) == (hold.owner, 0)
    await _nothing_cancels_us()


@only(faces=(ASYNCIO,))
async def test_a_failing_sibling_in_a_group_releases_the_lock(world: World) -> None:
    lock, inside = _lock(world), asyncio.Event()

    async def body() -> None:
        async with lock:
            inside.set()
            await asyncio.sleep(60)

    async def fail() -> None:
        await inside.wait()
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup) as raised:
        async with asyncio.TaskGroup() as group:
            group.create_task(body())
            group.create_task(fail())

    assert raised.group_contains(ZeroDivisionError)
    assert len(raised.value.exceptions) == 1
    assert await world.is_free()


@only(faces=(ASYNCIO,), kinds=PLAIN)
async def test_a_thousand_tasks_share_a_lock(world: World) -> None:
    lock, counter = _lock(world), [0]
    async with lock:
        pass  # the first time may cost more
    asked = world.traffic(lock).about(lock.name)

    async def count() -> None:
        async with lock:
            seen = counter[0]
            await asyncio.sleep(0)
            counter[0] = seen + 1

    async with asyncio.timeout(30):
        await asyncio.gather(*(count() for _ in range(1000)))

    assert counter == [1000]
    # Only the head of the local queue asks: once to take it, once to give it back.
    assert world.traffic(lock).about(lock.name) == asked + 2000
    assert world.standing(lock) is None


def _lock(world: World, **terms: Any) -> AsyncAcquirable[Any]:
    lock = world.lock(**terms)
    assert isinstance(lock, AsyncAcquirable)
    return lock


async def _nothing_cancels_us() -> None:
    """No cancellation is left over for whatever this task does next."""
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    await asyncio.sleep(0)
