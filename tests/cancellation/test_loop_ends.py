"""The event loop ends before anybody has released anything."""

from __future__ import annotations

import asyncio
import gc
import os
import signal

import pytest

from interlock import aio

from .conftest import Store

# Python itself complains about the connections of a client that nobody closes.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore:.*ResourceWarning:pytest.PytestUnraisableExceptionWarning"),
]

#: Clients that nobody closes, as a program would forget them.
kept: list[aio.Client] = []


def free_at_once(store: Store) -> None:
    """Assert that the lock is free, and that what the loop left goes in peace."""
    kept.clear()
    gc.collect()  # whatever goes wrong in a finalizer is reported here, and nowhere else
    with store.blocking() as client:
        assert client.lock("claim").acquire(blocking=False) is not None


async def hold(store: Store) -> None:
    client = store.victim()
    kept.append(client)
    await client.lock("claim").acquire()


def test_a_hold_is_released_when_the_loop_ends(store: Store) -> None:
    asyncio.run(hold(store))

    free_at_once(store)


def test_a_hold_is_released_when_the_main_task_fails(store: Store) -> None:
    async def main() -> None:
        await hold(store)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(main())

    free_at_once(store)


def test_a_waiter_is_withdrawn_when_the_loop_ends(any_store: Store) -> None:
    store = any_store

    async def main() -> None:
        await hold(store)
        client = store.victim()
        kept.append(client)
        waiters.append(asyncio.create_task(client.lock("claim").acquire()))
        await asyncio.sleep(0.05)

    waiters: list[asyncio.Task[object]] = []
    asyncio.run(main())
    assert waiters[0].cancelled()
    waiters.clear()

    free_at_once(store)


def test_a_block_is_left_when_the_loop_is_interrupted(store: Store) -> None:
    async def main() -> None:
        client = store.victim()
        kept.append(client)
        async with client.lock("claim"):
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(60)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())

    free_at_once(store)


def test_a_client_lives_on_in_the_next_loop(store: Store) -> None:
    client = store.victim()

    async def use() -> int:
        async with client.lock("claim", lease=0.15) as held:
            await asyncio.sleep(0.2)  # and so does its keeper
            return held.token

    tokens = [asyncio.run(use()) for _ in range(3)]
    asyncio.run(client.close())

    assert tokens == sorted(set(tokens))
    free_at_once(store)


def test_a_hold_of_a_loop_that_ended_is_lost(store: Store) -> None:
    async def main() -> aio.Hold:
        client = store.victim()
        kept.append(client)
        return await client.lock("claim").acquire()

    held = asyncio.run(main())

    free_at_once(store)
    assert held.lost
