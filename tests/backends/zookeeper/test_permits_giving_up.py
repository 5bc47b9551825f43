"""Whoever gives up permits, wherever that strikes, leaves neither lease nor place behind."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from interlock import aio

from ...cancellation.conftest import Store
from ...cancellation.test_every_turn import Queued, give_back, parked_or_done
from ...cancellation.turns import Strike, aim, outcome, sweep
from .test_giving_up import again
from .test_giving_up import store as store
from .test_permits_layout import holds_only, made

pytestmark = pytest.mark.server

KINDS = pytest.mark.parametrize("kind", ["mutex", "semaphore"])


async def nothing_stays(peek: Any, client: aio.Client) -> None:
    """Neither a node is left, nor anything that this client remembers of one."""
    await asyncio.to_thread(holds_only, peek, within=2.0)
    assert client._session.schedule.holds() == []
    assert client._session.queue.busy() == []


@again
@KINDS
def test_acquire_that_is_cancelled(
    store: Store, peek: Any, again: tuple[int, ...], kind: str
) -> None:
    async def scene(strike: Strike) -> None:
        client = store.victim()
        async with client.lock("other"):
            pass
        await give_back(await outcome(aim(strike, made(client, kind).acquire())))
        await nothing_stays(peek, client)

    assert sweep(store, scene, again) >= store.turns


@again
@KINDS
def test_waiter_that_is_cancelled_from_its_first_question_to_its_grant(
    store: Store, peek: Any, again: tuple[int, ...], kind: str
) -> None:
    async def scene(strike: Strike) -> None:
        queued = Queued()
        client = store.victim(queued)
        async with client.lock("other"):
            pass
        async with store.bystander() as holder:
            async with made(holder, kind):
                victim = aim(strike, made(client, kind).acquire())
                await parked_or_done(queued, victim)
            await give_back(await outcome(victim))
        await nothing_stays(peek, client)

    assert sweep(store, scene, again) >= store.turns


@again
@KINDS
def test_waiter_that_is_cancelled_lets_the_next_one_in(
    store: Store, peek: Any, again: tuple[int, ...], kind: str
) -> None:
    async def scene(strike: Strike) -> None:
        queued = Queued()
        client = store.victim(queued)
        async with store.bystander() as holder, store.bystander() as third:
            async with made(holder, kind), third.lock("other"):
                victim = aim(strike, made(client, kind).acquire())
                await parked_or_done(queued, victim)
                behind = asyncio.create_task(made(third, kind).acquire())
            await give_back(await outcome(victim))
            await (await behind).release()
        await nothing_stays(peek, client)

    assert sweep(store, scene, again) >= store.turns
