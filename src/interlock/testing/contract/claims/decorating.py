"""The `locked` decorator: a function that runs under a lock named after its arguments."""

from __future__ import annotations

from typing import Any

import pytest

from ....errors import AcquireTimeout
from ....events import Granted
from ..subjects import PLAIN
from ..world import World

#: It takes locks only.
ABOUT = PLAIN


async def test_the_decorator_names_the_lock_after_its_arguments(world: World) -> None:
    client = world.client()
    held: list[str] = []

    def ship(order: int, *, to: str = "x") -> int:
        held.extend(key[1] for key in client.books.mine)
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


async def test_a_generator_is_refused_because_its_body_runs_after_the_call(world: World) -> None:
    def plain() -> Any:
        yield

    async def awaited() -> Any:
        yield

    with pytest.raises(ValueError, match="generator"):
        world.client().locked("claim")(world.pick(plain, awaited))
