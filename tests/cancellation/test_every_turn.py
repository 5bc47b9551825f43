"""A task is cancelled at every turn of the loop, once and more often, and leaves nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from interlock import aio
from interlock.events import Event, Parked
from interlock.recipes import lock as recipe

from .conftest import Store, nothing_is_left
from .turns import PATTERNS, Strike, aim, outcome, sweep

again = pytest.mark.parametrize("again", PATTERNS.values(), ids=PATTERNS)


class Queued:
    """Tells when a client's acquisition has been parked."""

    def __init__(self) -> None:
        self.event = asyncio.Event()

    def __call__(self, event: Event) -> None:
        if isinstance(event, Parked):
            self.event.set()


async def give_back(hold: Any) -> None:
    if hold is not None:
        assert not hold.lost
        await hold.release()


@again
def test_an_acquire_that_opens_its_connection(store: Store, again: tuple[int, ...]) -> None:
    async def scene(strike: Strike) -> None:
        client = store.victim()
        await give_back(await outcome(aim(strike, client.lock("claim").acquire())))
        await nothing_is_left(store, client)

    assert sweep(store, scene, again) >= store.turns


@again
def test_an_acquire_over_an_open_connection(store: Store, again: tuple[int, ...]) -> None:
    async def scene(strike: Strike) -> None:
        client = store.victim()
        async with client.lock("other"):
            pass
        await give_back(await outcome(aim(strike, client.lock("claim").acquire())))
        await nothing_is_left(store, client)

    assert sweep(store, scene, again) >= store.turns


@again
def test_a_try(store: Store, again: tuple[int, ...]) -> None:
    async def scene(strike: Strike) -> None:
        client = store.victim()
        await give_back(await outcome(aim(strike, client.lock("claim").acquire(blocking=False))))
        await nothing_is_left(store, client)

    assert sweep(store, scene, again) >= store.turns


@again
def test_a_waiter_from_its_first_question_to_its_grant(
    any_store: Store, again: tuple[int, ...]
) -> None:
    store = any_store

    async def scene(strike: Strike) -> None:
        queued = Queued()
        client = store.victim(queued)
        async with store.bystander() as holder:
            async with holder.lock("claim"):
                victim = aim(strike, client.lock("claim").acquire())
                await parked_or_done(queued, victim)
            await give_back(await outcome(victim))
        await nothing_is_left(store, client)

    assert sweep(store, scene, again) >= store.turns


async def parked_or_done(queued: Queued, victim: asyncio.Task[Any]) -> None:
    parking = asyncio.create_task(queued.event.wait())
    await asyncio.wait((parking, victim), return_when=asyncio.FIRST_COMPLETED)
    parking.cancel()
    await asyncio.wait((parking,))


@again
def test_a_waiter_behind_its_sibling(store: Store, again: tuple[int, ...]) -> None:
    async def scene(strike: Strike) -> None:
        client = store.victim()
        async with client.lock("claim"):
            victim = aim(strike, client.lock("claim").acquire())
            await asyncio.sleep(0)
        await give_back(await outcome(victim))
        await nothing_is_left(store, client)

    assert sweep(store, scene, again) >= store.turns


@again
def test_a_waiter_before_another(
    any_store: Store, again: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A waiter that is handed the lock while it gives up passes it on at once."""
    store = any_store
    monkeypatch.setattr(recipe, "POLL_CAP", 6.0)

    async def scene(strike: Strike) -> None:
        queued = Queued()
        client = store.victim(queued)
        async with store.bystander() as holder, store.bystander() as third:
            async with holder.lock("claim"):
                victim = aim(strike, client.lock("claim").acquire())
                await parked_or_done(queued, victim)
                behind = asyncio.create_task(third.lock("claim").acquire())
            await give_back(await outcome(victim))
            async with asyncio.timeout(1.9):  # a wake, neither the poll nor a provisional lease
                await (await behind).release()
        await nothing_is_left(store, client)

    assert sweep(store, scene, again) >= store.turns


@again
def test_a_release(store: Store, again: tuple[int, ...]) -> None:
    async def scene(strike: Strike) -> None:
        client = store.victim()
        hold = await client.lock("claim").acquire()
        await outcome(aim(strike, hold.release()))
        if hold._lease.depth:  # a task that is cancelled before its first step never releases
            await hold.release()
        await nothing_is_left(store, client)

    assert sweep(store, scene, again) >= store.turns


@again
def test_a_close(store: Store, again: tuple[int, ...]) -> None:
    """Closing that is cancelled can be done again, and then nothing is left."""

    async def scene(strike: Strike) -> None:
        client = store.victim()
        hold = await client.lock("claim").acquire()
        await outcome(aim(strike, client.close()))
        await client.close()
        assert hold.lost
        await nothing_is_left(store, client)

    assert sweep(store, scene, again) >= 1


@again
def test_a_whole_block(store: Store, again: tuple[int, ...]) -> None:
    async def body(client: aio.Client) -> None:
        async with client.lock("claim"):
            await asyncio.sleep(0)

    async def scene(strike: Strike) -> None:
        client = store.victim()
        await outcome(aim(strike, body(client)))
        await nothing_is_left(store, client)

    assert sweep(store, scene, again) >= store.turns


@again
def test_a_block_of_a_try(store: Store, again: tuple[int, ...]) -> None:
    async def body(client: aio.Client) -> None:
        async with client.lock("claim").attempt() as hold:
            assert hold is not None
            await asyncio.sleep(0)

    async def scene(strike: Strike) -> None:
        client = store.victim()
        await outcome(aim(strike, body(client)))
        await nothing_is_left(store, client)

    assert sweep(store, scene, again) >= store.turns


@again
def test_nested_blocks(store: Store, again: tuple[int, ...]) -> None:
    async def body(client: aio.Client) -> None:
        async with client.lock("claim"):
            async with client.lock("claim"):
                await asyncio.sleep(0)
            await asyncio.sleep(0)

    async def scene(strike: Strike) -> None:
        client = store.victim()
        await outcome(aim(strike, body(client)))
        await nothing_is_left(store, client)

    assert sweep(store, scene, again) >= store.turns


@again
def test_a_decorated_function(store: Store, again: tuple[int, ...]) -> None:
    async def scene(strike: Strike) -> None:
        client = store.victim()

        @client.locked("claim")
        async def work() -> None:
            await asyncio.sleep(0)

        async def body() -> None:
            await work()

        await outcome(aim(strike, body()))
        await nothing_is_left(store, client)

    assert sweep(store, scene, again) >= store.turns


@again
def test_an_acquire_that_times_out(any_store: Store, again: tuple[int, ...]) -> None:
    store = any_store

    async def scene(strike: Strike) -> None:
        client = store.victim()
        async with store.bystander() as holder, holder.lock("claim"):
            victim = aim(strike, expect_timeout(client))
            await outcome(victim)
        await nothing_is_left(store, client)

    assert sweep(store, scene, again) >= store.turns


async def expect_timeout(client: aio.Client) -> None:
    with pytest.raises(TimeoutError):
        await client.lock("claim").acquire(timeout=0.002)
