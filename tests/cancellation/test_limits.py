"""Time limits and failing groups: what asyncio cancels by itself."""

from __future__ import annotations

import asyncio

import pytest

from interlock import aio

from .conftest import Store, nothing_is_left

#: Seconds; some end before the first question is sent, some between question and answer.
LIMITS = tuple(step * 0.0004 for step in range(12))


def test_a_time_limit_around_an_acquire_leaves_a_hold_or_nothing(store: Store) -> None:
    async def scene(limit: float) -> bool:
        client, hold = store.victim(), None
        try:
            async with asyncio.timeout(limit):
                hold = await client.lock("claim").acquire()
                await asyncio.sleep(60)
        except TimeoutError:
            pass
        if hold is not None:
            await hold.release()
        await nothing_is_left(store, client)
        return hold is not None

    got = [asyncio.run(store.tidily(scene(limit))) for limit in (*LIMITS, 0.2)]

    assert got[0] is False or store.proxy is None
    assert got[-1] is True


def test_a_time_limit_around_a_wait_leaves_nothing(any_store: Store) -> None:
    store = any_store

    async def scene(limit: float) -> None:
        client = store.victim()
        async with store.bystander() as holder, holder.lock("claim"):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(limit):
                    await client.lock("claim").acquire()
        await nothing_is_left(store, client)

    for limit in (*LIMITS, 0.05):
        asyncio.run(store.tidily(scene(limit)))


def test_a_failing_group_leaves_nothing_of_its_waiters(any_store: Store) -> None:
    store = any_store

    async def fail(soon: float) -> None:
        await asyncio.sleep(soon)
        raise ZeroDivisionError

    async def scene(soon: float) -> None:
        client = store.victim()
        async with store.bystander() as holder, holder.lock("claim"):
            with pytest.raises(ExceptionGroup) as raised:
                async with asyncio.TaskGroup() as group:
                    for _ in range(5):
                        group.create_task(client.lock("claim").acquire())
                    group.create_task(fail(soon))
            assert [type(error) for error in raised.value.exceptions] == [ZeroDivisionError]
        await nothing_is_left(store, client)

    for soon in (0.0, 0.001, 0.002, 0.004, 0.03):
        asyncio.run(store.tidily(scene(soon)))


def test_a_hundred_tasks_cancelled_at_once_leave_nothing(store: Store) -> None:
    async def scene() -> None:
        client = store.victim()
        tasks = [asyncio.create_task(use(client)) for _ in range(100)]
        await asyncio.sleep(0.03)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        await nothing_is_left(store, client)

    asyncio.run(store.tidily(scene()))


async def use(client: aio.Client) -> None:
    async with client.lock("claim"):
        await asyncio.sleep(0.001)


def test_a_cancellation_is_never_swallowed(store: Store) -> None:
    """Whoever is cancelled while acquiring ends cancelled, unless it was done before."""

    async def body(client: aio.Client) -> aio.Hold:
        return await client.lock("claim").acquire()

    async def scene(soon: float) -> None:
        client = store.victim()
        task = asyncio.create_task(body(client))
        await asyncio.sleep(soon)
        requested = task.cancel()
        await asyncio.wait((task,))
        assert task.cancelled() is requested
        await client.close()

    for step in range(12):
        asyncio.run(store.tidily(scene(step * 0.0004)))
