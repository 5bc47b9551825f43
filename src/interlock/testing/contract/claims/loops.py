"""One client, one event loop: every other loop is told so at once, and disturbs nothing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias

import pytest

from ....api.client import AsyncClient
from ....api.multilock import aall_of, amajority_of
from ....errors import UsageError
from ..scope import only
from ..subjects import PLAIN
from ..world import ASYNCIO, SOON, World

ABOUT = PLAIN

Operation: TypeAlias = Callable[[], Awaitable[Any]]

#: Longer than the claim waits for a refusal.
LONG = 3 * SOON


async def entered(manager: Any) -> None:
    async with manager:
        pass


def operations(client: Any, hold: Any, multihold: Any) -> dict[str, Operation]:
    """Everything that can be asked of a client, of what it makes, and of what is held by it."""
    lock, rwlock, latch = client.lock("claim"), client.rwlock("rw"), client.latch("latch")
    semaphore, multilock = client.semaphore("permits", permits=1), client.multilock("x", "y")
    guarded = client.locked("claim", timeout=LONG)(asyncio.sleep)

    async def count() -> int:
        left: int = await latch.count()
        return left

    return {
        "acquire": lambda: lock.acquire(timeout=LONG),
        "try": lambda: lock.acquire(blocking=False),
        "async with": lambda: entered(client.lock("claim", timeout=LONG)),
        "attempt": lambda: entered(lock.attempt()),
        "release": lambda: lock.release(),
        "leave": lambda: lock.__aexit__(None, None, None),
        "locked": lambda: lock.locked(),
        "decorator": lambda: guarded(0),
        "hold.release": lambda: hold.release(),
        "hold block": lambda: entered(hold),
        "hold leave": lambda: hold.__aexit__(None, None, None),
        "inspect": lambda: client.inspect("claim"),
        "locks": lambda: client.locks(),
        "revoke": lambda: client.revoke("claim"),
        "request_release": lambda: client.request_release("claim"),
        "close": lambda: client.close(),
        "client block": lambda: entered(client),
        "read": lambda: rwlock.read().acquire(timeout=LONG),
        "write": lambda: rwlock.write().acquire(timeout=LONG),
        "permit": lambda: semaphore.acquire(timeout=LONG),
        "available": lambda: semaphore.available(),
        "set_permits": lambda: semaphore.set_permits(2),
        "set": lambda: latch.start(1),
        "count_down": lambda: latch.count_down(),
        "wait": lambda: latch.wait(timeout=LONG),
        "count": count,
        "multilock": lambda: multilock.acquire(timeout=LONG),
        "multilock block": lambda: entered(multilock),
        "multilock release": lambda: multilock.release(),
        "multilock leave": lambda: multilock.__aexit__(None, None, None),
        "multihold.release": lambda: multihold.release(),
        "multihold block": lambda: entered(multihold),
    }


async def elsewhere(scene: Coroutine[Any, Any, Any]) -> Any:
    """Play a scene on a loop of its own, in a thread of its own."""
    async with asyncio.timeout(SOON):
        return await asyncio.to_thread(asyncio.run, scene)


async def refused(operation: Operation) -> None:
    with pytest.raises(UsageError, match="another event loop"):
        await operation()


@only(faces=(ASYNCIO,))
async def test_another_loop_is_refused_at_once_whatever_it_asks(world: World) -> None:
    alice, lock, hold = await world.held()
    client: Any = world.client_of(lock)
    multihold = await alice.do(client.multilock("x", "y").acquire)
    asked, known = len(world.traffic(client).requests), client._session.holds.keys()

    async def ask_everything() -> list[str]:
        wrong: list[str] = []
        for name, operation in operations(client, hold, multihold).items():
            try:
                async with asyncio.timeout(1):
                    await refused(operation)
            except BaseException as error:
                wrong.append(f"{name}: {error!r}")
        return wrong

    assert await elsewhere(ask_everything()) == []
    assert len(world.traffic(client).requests) == asked
    assert client._session.holds.keys() == known
    assert (hold.lost, hold._lease.depth, multihold.lost) == (False, 1, False)
    await alice.release(multihold)
    await alice.release(hold)
    assert await world.is_free()


@only(faces=(ASYNCIO,))
async def test_the_rightful_loop_is_not_disturbed_by_another(world: World) -> None:
    alice, lock, hold = await world.held()
    other = world.lock()
    sibling = world.actor().start(lock.acquire)
    await world.until(lambda: world.siblings(lock) == 1)
    coming = world.actor().start(other.acquire)
    await world.until(lambda: "Parked" in world.told(other))

    for each in (lock, other):
        await elsewhere(refused(partial(each.acquire, timeout=LONG)))
        await elsewhere(refused(partial(each.acquire, blocking=False)))

    await world.renewed(hold)
    assert not hold.lost
    await alice.release(lock)
    async with asyncio.timeout(SOON):
        done, _ = await asyncio.wait((sibling, coming), return_when=asyncio.FIRST_COMPLETED)
        await alice.release(done.pop().result())
        await asyncio.gather(sibling, coming)


class Ended(asyncio.SelectorEventLoop):
    """A loop that, once it has ended, says so to two at the same time, if two ask."""

    def __init__(self) -> None:
        super().__init__()
        self.both = threading.Barrier(2)

    def is_closed(self) -> bool:
        if not super().is_closed():
            return False
        with suppress(threading.BrokenBarrierError):
            self.both.wait(0.3)
        return True


def on_a_loop_that_ends(scene: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=Ended) as runner:
        runner.run(scene)


@only(faces=(ASYNCIO,))
async def test_of_two_loops_that_follow_one_that_has_ended_one_gets_the_client(
    world: World,
) -> None:
    lock: Any = world.lock()
    refusals = threading.Event()

    async def race() -> bool:
        try:
            async with lock:
                await asyncio.to_thread(refusals.wait, SOON)
        except UsageError:
            refusals.set()
            return False
        return True

    await asyncio.to_thread(on_a_loop_that_ends, entered(lock))
    outcomes = await asyncio.gather(elsewhere(race()), elsewhere(race()))

    assert sorted(outcomes) == [False, True]
    assert await world.is_free()


@only(faces=(ASYNCIO,))
async def test_of_several_locks_none_is_taken_where_one_lives_on_another_loop(
    world: World,
) -> None:
    _, lock, _ = await world.held()
    theirs: Any = lock

    async def take_both(together: Any) -> None:
        async with AsyncClient(theirs._session.backend) as client:
            both = together(client.lock("a"), theirs)
            await refused(partial(both.acquire, timeout=LONG))
            await refused(partial(entered, both))
            assert client._session.queue.busy() == []

    names = (theirs.name, "a")
    asked = len(world.traffic(lock).trips_for(names))
    for together in (aall_of, amajority_of):
        await elsewhere(take_both(together))
    assert len(world.traffic(lock).trips_for(names)) == asked


@only(faces=(ASYNCIO,))
async def test_without_any_loop_an_asyncio_client_says_what_it_needs(world: World) -> None:
    client: Any = world.client()

    def ask() -> None:
        with pytest.raises(UsageError, match=r"event loop.*asyncio\.run.*interlock\.connect"):
            client.lock("claim").__aenter__()
        for asking in (client.lock("claim").acquire, lambda: client.latch("claim").count()):
            with pytest.raises(UsageError, match="running event loop"):
                asking().send(None)

    await asyncio.to_thread(ask)
    assert world.traffic(client).requests == []
