"""Whoever gives up, wherever that strikes, leaves no node behind."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from interlock import InterlockError, aio
from interlock.backends.zookeeper.link import CONNECTION
from tests.support.frames import ZkProxy

from ...cancellation.conftest import Store
from ...cancellation.test_every_turn import Queued, give_back, parked_or_done
from ...cancellation.turns import PATTERNS, Strike, aim, outcome, sweep
from ...support.worlds import World
from .scenes import NEW_NODE, SOON, introduced, stands

pytestmark = pytest.mark.server

again = pytest.mark.parametrize("again", PATTERNS.values(), ids=PATTERNS)

#: Longer than anybody waits for an answer who does not wait for a lock.
LATE = 1.3

STAGES = {"create": NEW_NODE, "list": b"<getChildren>", "watch": b"<getData>", "end": b"<delete>"}


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES)
def test_timeout_leaves_nothing_whatever_is_late(
    zk_proxy: ZkProxy, world: World, zk_path: str, zk_url: str, peek: Any, stage: str
) -> None:
    client = world.connect(zk_proxy.url(zk_path))
    first = world.do(world.connect(zk_url).lock("k").acquire)
    world.do(world.do(client.lock("other").acquire).release)
    introduced(peek, 2)
    zk_proxy.hold_back(STAGES[stage], LATE)

    failure = world.start(lambda: client.lock("k").acquire(timeout=0.05)).exception(SOON)

    assert isinstance(failure, TimeoutError | InterlockError)
    assert zk_proxy.fired == 1
    stands(peek, [first.owner], within=LATE + 1)


@pytest.mark.slow
def test_grant_that_comes_too_late_is_given_back(
    zk_proxy: ZkProxy, world: World, zk_path: str, peek: Any
) -> None:
    client = world.connect(zk_proxy.url(zk_path))
    world.do(world.do(client.lock("k").acquire).release)
    introduced(peek)
    zk_proxy.hold_back(NEW_NODE, LATE)

    failure = world.start(lambda: client.lock("k").acquire(timeout=0.05)).exception(SOON)

    assert isinstance(failure, InterlockError)
    stands(peek, [], within=LATE + 1)


# --- tasks that are cancelled at every turn of their loop -------------------------------------


@pytest.fixture
def store(zk_proxy: ZkProxy, zk_path: str, zk_url: str, peek: Any) -> Store:
    """The store of this test, behind a network that is slow enough to be cancelled in."""
    zk_proxy.delay(0.0005, 0.0005)
    return Store(zk_proxy.url(zk_path), zk_url, 2, zk_proxy)


async def only_these_stay(peek: Any, who: list[str]) -> None:
    """Within a second; whoever was cancelled again while it withdrew has left that to others."""
    await asyncio.to_thread(stands, peek, who, "k", 1.0)


async def nothing_stays(peek: Any, client: aio.Client) -> None:
    """Neither a node is left, nor anybody who waits for one."""
    await only_these_stay(peek, [])
    assert client._session.schedule.holds() == []
    assert client._session.queue.busy() == []
    link: Any = client._session.link
    assert link._transport.watches._waiters.keys() <= {CONNECTION}  # the keeper's own


@again
@pytest.mark.parametrize("warm", [True, False], ids=["warm", "cold"])
def test_acquire_that_is_cancelled(
    store: Store, peek: Any, again: tuple[int, ...], warm: bool
) -> None:
    async def scene(strike: Strike) -> None:
        client = store.victim()
        if warm:
            async with client.lock("other"):
                pass
        await give_back(await outcome(aim(strike, client.lock("k").acquire())))
        await nothing_stays(peek, client)

    assert sweep(store, scene, again) >= store.turns


@again
def test_waiter_that_is_cancelled_from_its_first_question_to_its_grant(
    store: Store, peek: Any, again: tuple[int, ...]
) -> None:
    async def scene(strike: Strike) -> None:
        queued = Queued()
        client = store.victim(queued)
        async with client.lock("other"):
            pass
        async with store.bystander() as holder:
            async with holder.lock("k"):
                victim = aim(strike, client.lock("k").acquire())
                await parked_or_done(queued, victim)
            await give_back(await outcome(victim))
        await nothing_stays(peek, client)

    assert sweep(store, scene, again) >= store.turns


@again
def test_waiter_that_is_cancelled_lets_the_next_one_in(
    store: Store, peek: Any, again: tuple[int, ...]
) -> None:
    async def scene(strike: Strike) -> None:
        queued = Queued()
        client = store.victim(queued)
        async with store.bystander() as holder, store.bystander() as third:
            async with holder.lock("k"), third.lock("other"):
                victim = aim(strike, client.lock("k").acquire())
                await parked_or_done(queued, victim)
                behind = asyncio.create_task(third.lock("k").acquire())
            await give_back(await outcome(victim))
            await (await behind).release()
        await nothing_stays(peek, client)

    assert sweep(store, scene, again) >= store.turns


@again
def test_release_that_is_cancelled(store: Store, peek: Any, again: tuple[int, ...]) -> None:
    async def scene(strike: Strike) -> None:
        client = store.victim()
        hold = await client.lock("k").acquire()
        await outcome(aim(strike, hold.release()))
        if hold._lease.depth:  # a task that is cancelled before its first step never releases
            await hold.release()
        await nothing_stays(peek, client)

    assert sweep(store, scene, again) >= store.turns


@again
def test_try_that_is_cancelled(store: Store, peek: Any, again: tuple[int, ...]) -> None:
    async def scene(strike: Strike) -> None:
        client = store.victim()
        async with store.bystander() as holder, holder.lock("k") as held:
            await outcome(aim(strike, client.lock("k").acquire(blocking=False)))
            await only_these_stay(peek, [held.owner])
        await nothing_stays(peek, client)

    assert sweep(store, scene, again) >= store.turns
