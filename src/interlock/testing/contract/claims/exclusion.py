"""One holds it, the others do not; the waiter that came first is served first."""

from __future__ import annotations

import asyncio

from ..actors import Actor, AnyLock
from ..world import World


async def test_only_one_of_two_clients_holds_it(world: World) -> None:
    alice, hers, _ = await world.held()
    bob, his = world.actor(), world.lock()

    assert await bob.attempt(his) is None
    await alice.release(hers)
    assert await bob.attempt(his) is not None


async def test_only_one_of_two_actors_of_a_client_holds_it(world: World) -> None:
    alice, lock, _ = await world.held()
    bob = world.actor()

    assert await bob.attempt(lock) is None
    await alice.release(lock)
    assert await bob.attempt(lock) is not None


async def test_unprotected_counter_is_right_under_the_lock(world: World) -> None:
    clients, counter = [world.client() for _ in range(2)], [0]

    async def count(actor: Actor, lock: AnyLock) -> None:
        for _ in range(8):
            async with actor.within(lock):
                seen = counter[0]
                await asyncio.sleep(0)
                counter[0] = seen + 1

    contenders = [(world.actor(), world.lock(client)) for client in clients for _ in range(2)]
    await asyncio.gather(*(count(actor, lock) for actor, lock in contenders))

    assert counter == [32]


async def test_clients_are_served_in_the_order_of_their_arrival(world: World) -> None:
    alice, lock, _ = await world.held()
    waiters = [await world.waiting() for _ in range(4)]
    served: list[int] = []

    async def pass_on(number: int) -> None:
        actor, lock, coming = waiters[number]
        await coming
        served.append(number)
        await actor.release(lock)

    passing = [asyncio.create_task(pass_on(number)) for number in range(4)]
    await alice.release(lock)
    await asyncio.gather(*passing)

    assert served == [0, 1, 2, 3]


async def test_actors_of_a_client_are_served_in_the_order_of_their_arrival(world: World) -> None:
    alice, lock, _ = await world.held()
    served: list[int] = []

    async def pass_on(number: int, actor: Actor, coming: asyncio.Future[object]) -> None:
        await coming
        served.append(number)
        await actor.release(lock)

    passing = []
    for number in range(4):
        actor = world.actor()
        coming = actor.start(lock.acquire)
        await world.until(lambda n=number: world.siblings(lock) == n + 1)  # type: ignore[misc]
        passing.append(asyncio.create_task(pass_on(number, actor, coming)))
    await alice.release(lock)
    await asyncio.gather(*passing)

    assert served == [0, 1, 2, 3]


async def test_a_free_lock_costs_as_much_as_its_backend_says(world: World) -> None:
    alice, lock = world.actor(), world.lock()
    await alice.release(await alice.acquire(lock))  # the first time may cost more
    asked = world.traffic(lock).about(lock.name)

    hold = await alice.acquire(lock)

    asked += world.round_trips
    assert world.traffic(lock).about(lock.name) == asked
    await alice.release(hold)
    assert world.traffic(lock).about(lock.name) == asked + 1


async def test_a_try_at_a_busy_lock_is_not_queued(world: World) -> None:
    await world.held()

    assert await world.actor().attempt(world.lock()) is None

    info = await world.look()
    assert info is not None
    assert info.waiters == 0


async def test_a_try_does_not_overtake_who_waits(world: World) -> None:
    alice, hers, _ = await world.held()
    _, _, coming = await world.waiting()

    await alice.release(hers)
    tried = await world.actor().attempt(world.lock())

    assert tried is None
    assert not (await coming).lost


async def test_locks_of_other_names_are_not_concerned(world: World) -> None:
    alice, client = world.actor(), world.client()

    holds = [await alice.acquire(world.lock(client, f"claim:{number}")) for number in range(30)]

    bob, other = world.actor(), world.client()
    assert await bob.attempt(world.lock(other, "claim:30")) is not None
    for hold in holds[::2]:
        await alice.release(hold)
    for number in range(30):
        freed = await bob.attempt(world.lock(other, f"claim:{number}"))
        assert (freed is not None) is (number % 2 == 0)


async def test_locked_tells_whether_anybody_holds_it(world: World) -> None:
    onlooker, seen = world.actor(), world.lock()
    assert await onlooker.do(seen.locked) is False

    alice, lock, _ = await world.held()

    assert await onlooker.do(seen.locked) is True
    assert await alice.do(lock.locked) is True
    await alice.release(lock)
    assert await onlooker.do(seen.locked) is False
