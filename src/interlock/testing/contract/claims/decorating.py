"""The `locked` decorator: a function that runs under a lock named after its arguments."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ....errors import AcquireTimeout
from ....events import Granted
from ..subjects import PLAIN
from ..world import SOON, World

#: It takes locks only.
ABOUT = PLAIN


async def test_the_decorator_names_the_lock_after_its_arguments(world: World) -> None:
    client = world.client()
    held: list[str] = []

    def ship(order: int, *, to: str = "x") -> int:
        held.extend(key[1] for key in client._session.holds.current)
        return order

    async def ship_async(order: int, *, to: str = "x") -> int:
        return ship(order, to=to)

    guarded = client.locked("orders:{order}:{to}")(world.pick(ship, ship_async))

    assert await world.actor().do(guarded, 42) == 42
    assert await world.actor().do(guarded, order=7, to="y") == 7
    granted = [event.name for event in world.events(client) if isinstance(event, Granted)]
    assert granted == ["orders:42:x", "orders:7:y"]
    assert await world.is_free("orders:42:x")


async def test_the_decorator_checks_its_name_when_decorating(world: World) -> None:
    client = world.client()

    def ship(order: int) -> None: ...
    async def ship_async(order: int) -> None: ...

    with pytest.raises(ValueError, match="'other'"):
        client.locked("orders:{other}")(world.pick(ship, ship_async))
    with pytest.raises(ValueError, match="ship"):
        client.locked("orders:{order}")(world.pick(ship_async, ship))
    bad: Any = "perhaps"
    with pytest.raises(ValueError, match="on_busy"):
        client.locked("orders", on_busy=bad)


async def test_the_decorator_raises_or_skips_when_busy(world: World) -> None:
    await world.held(name="orders")
    ran: list[int] = []

    def ship() -> None:
        ran.append(1)

    async def ship_async() -> None:
        ran.append(1)

    client, function = world.client(), world.pick(ship, ship_async)
    skipping = client.locked("orders", timeout=0, on_busy="skip")(function)
    raising = client.locked(lambda: "orders", timeout=0.01)(function)

    assert await world.actor().do(skipping) is None
    with pytest.raises(AcquireTimeout):
        await world.actor().do(raising)
    assert ran == []


async def test_a_call_that_may_be_skipped_does_not_wait_by_itself(world: World) -> None:
    _, lock, hold = await world.held(name="orders")
    ran: list[int] = []

    def ship() -> bool:
        ran.append(1)
        return True

    async def ship_async() -> bool:
        return ship()

    client = world.client()
    skipping = client.locked("orders", on_busy="skip")(world.pick(ship, ship_async))

    async with asyncio.timeout(SOON):
        assert await world.actor().do(skipping) is None
    assert ran == []
    assert "Parked" not in world.told(client)
    await world.close(world.client_of(lock))
    assert await world.actor().do(skipping) is True
    assert hold.lost


async def test_a_call_that_may_be_skipped_waits_as_long_as_it_is_told(world: World) -> None:
    alice, lock, _ = await world.held(name="orders")

    def ship() -> bool:
        return True

    async def ship_async() -> bool:
        return True

    client = world.client()
    function = world.pick(ship, ship_async)
    coming = world.actor().start(client.locked("orders", timeout="9s", on_busy="skip")(function))
    await world.until(lambda: "Parked" in world.told(client))
    await alice.release(lock)

    assert await coming is True


async def test_a_call_that_may_be_skipped_runs_where_its_own_caller_holds_the_lock(
    world: World,
) -> None:
    client = world.client()

    def ship() -> bool:
        return True

    async def ship_async() -> bool:
        return True

    inner: Any = client.locked("orders", on_busy="skip")(world.pick(ship, ship_async))

    def twice() -> Any:
        return inner()

    async def twice_async() -> Any:
        return await inner()

    outer = client.locked("orders", on_busy="skip")(world.pick(twice, twice_async))

    assert await world.actor().do(outer) is True
    assert await world.is_free("orders")


async def test_a_generator_is_refused_because_its_body_runs_after_the_call(world: World) -> None:
    def plain() -> Any:
        yield

    async def awaited() -> Any:
        yield

    with pytest.raises(ValueError, match="generator"):
        world.client().locked("claim")(world.pick(plain, awaited))
