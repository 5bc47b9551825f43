"""Latches: every waiter waits until the count is down, and no longer."""

from __future__ import annotations

import asyncio
import time
from typing import Any
from unittest.mock import patch

import pytest

from ....errors import StoreUnavailable
from ....recipes import lock as recipe
from ..actors import Actor
from ..scope import only
from ..world import ASYNCIO, World

ABOUT = ("latch",)


def made(world: World, client: Any = None) -> Any:
    """The latch of a client, or of a new one."""
    return (client or world.client()).latch("claim")


async def set_to(world: World, count: int) -> Any:
    """A latch that another client has set."""
    latch = made(world)
    assert await world.actor().do(latch.start, count) is True
    return latch


async def down(world: World, latch: Any) -> int:
    """Count once, by a new client."""
    left: int = await world.actor().do(latch.count_down)
    return left


async def count(world: World, latch: Any = None) -> int:
    """How many are left, as another client sees it."""
    seen = made(world) if latch is None else latch
    left: int = await world.actor().do(seen.count)
    return left


async def waits(
    world: World, client: Any = None, **how: Any
) -> tuple[Actor, Any, asyncio.Future[Any]]:
    """A new actor that waits, by a new client or as one more of the same."""
    actor, latch = world.actor(), made(world, client)
    parked = world.told(latch).count("Parked")
    coming = actor.start(latch.wait, **how)
    await world.until(lambda: world.told(latch).count("Parked") > parked)
    return actor, latch, coming


# --- counting ---------------------------------------------------------------------------------


async def test_a_latch_is_set_once(world: World) -> None:
    latch = await set_to(world, 2)

    assert await world.actor().do(latch.start, 5) is False
    assert await world.actor().do(made(world).start, 5) is False

    assert await count(world) == 2


async def test_whoever_counts_counts_the_same_latch(world: World) -> None:
    latch = await set_to(world, 3)

    assert await down(world, latch) == 2
    assert await down(world, made(world)) == 1
    assert await count(world) == await count(world, latch) == 1
    assert await down(world, latch) == 0
    assert await count(world) == 0
    assert await world.look() is None


async def test_a_latch_that_is_down_stays_down_until_it_is_set_again(world: World) -> None:
    latch = await set_to(world, 1)
    assert await down(world, latch) == 0

    assert await down(world, latch) == 0
    assert await world.actor().do(latch.wait, timeout=0) is True
    assert await world.actor().do(latch.start, 2) is True
    assert await world.actor().do(latch.wait, timeout=0) is False
    assert await count(world) == 2


async def test_a_count_whose_answer_was_lost_counts_once(world: World) -> None:
    latch = await set_to(world, 3)
    counting = made(world)
    world.traffic(counting).losing.append("claim")

    assert await down(world, counting) == 2

    assert world.traffic(counting).losing == []
    assert await count(world, latch) == 2


async def test_the_last_count_opens_the_latch_even_if_its_answer_was_lost(world: World) -> None:
    await set_to(world, 1)
    _, _, coming = await waits(world)
    counting = made(world)
    world.traffic(counting).losing.append("claim")

    assert await down(world, counting) == 0

    assert await coming is True
    assert await count(world) == 0


async def test_many_count_at_the_same_time(world: World) -> None:
    await set_to(world, 13)
    clients = [world.client() for _ in range(3)]

    left = await asyncio.gather(*(down(world, made(world, each)) for each in clients * 4))

    assert sorted(left) == list(range(1, 13))
    assert await count(world) == 1


async def test_to_set_and_to_look_is_one_round_trip_each(world: World) -> None:
    latch = await set_to(world, 1)
    await down(world, latch)  # the first time may cost more
    asked = world.traffic(latch).about("claim")

    await world.actor().do(latch.start, 2)
    assert world.traffic(latch).about("claim") == asked + 1
    await count(world, latch)
    assert world.traffic(latch).about("claim") == asked + 2
    await down(world, latch)
    assert world.traffic(latch).about("claim") == asked + 2 + world.round_trips


async def test_wrong_counts_are_refused_before_anything_is_sent(world: World) -> None:
    latch = made(world)
    for number in (0, -1, 2**31, True, 1.5, "2", None):
        with pytest.raises((ValueError, TypeError), match="count"):
            await world.actor().do(latch.start, number)
    for seconds in (-2, float("nan"), True, "10"):
        with pytest.raises((ValueError, TypeError), match="timeout"):
            await world.actor().do(latch.wait, timeout=seconds)

    assert world.traffic(latch).requests == []


# --- waiting ----------------------------------------------------------------------------------


async def test_a_latch_that_nobody_has_set_lets_everybody_pass(world: World) -> None:
    latch = made(world)

    assert await world.actor().do(latch.wait) is True

    assert world.traffic(latch).about("claim") == 1
    assert await count(world) == 0
    assert await world.look() is None


async def test_who_waits_is_let_go_at_once_by_the_last_count(world: World) -> None:
    latch = await set_to(world, 2)
    _, _, coming = await waits(world)

    await down(world, latch)
    assert not coming.done()
    began = time.monotonic()
    await down(world, latch)

    assert await coming is True
    assert time.monotonic() - began < 1  # by itself it would ask again after a second


async def test_everybody_who_waits_is_let_go_at_once(world: World) -> None:
    latch = await set_to(world, 1)
    clients = [world.client() for _ in range(4)]
    waiting = [await waits(world, client) for client in clients for _ in range(3)]

    began = time.monotonic()
    await down(world, latch)
    passed = await asyncio.gather(*(coming for _, _, coming in waiting))

    assert passed == [True] * 12
    assert time.monotonic() - began < 1


async def test_who_does_not_wait_for_long_is_told_so(world: World) -> None:
    latch = await set_to(world, 1)

    assert await world.actor().do(latch.wait, timeout=0.05) is False

    assert await count(world) == 1
    await world.until_nobody_waits()
    await down(world, latch)
    assert await world.actor().do(latch.wait, timeout=0.05) is True


async def test_no_time_means_to_look_once(world: World) -> None:
    latch = await set_to(world, 1)

    assert await world.actor().do(latch.wait, timeout=0) is False

    assert "Parked" not in world.told(latch)


async def test_none_and_minus_one_mean_to_wait_for_good(world: World) -> None:
    latch = await set_to(world, 1)
    waiting = [await waits(world, timeout=forever) for forever in (None, -1)]

    await down(world, latch)

    assert [await coming for _, _, coming in waiting] == [True, True]


async def test_who_hears_nothing_passes_within_the_poll_cap(world: World) -> None:
    with patch.object(recipe, "POLL_CAP", 0.1):
        latch, deaf = await set_to(world, 1), world.client()
        world.traffic(deaf).deaf = True
        _, _, coming = await waits(world, deaf)

        await down(world, latch)

        assert await coming is True
    assert "Woken" not in world.told(deaf)


async def test_waiting_leaves_nothing_to_keep(world: World) -> None:
    latch = await set_to(world, 1)
    _, waiting, coming = await waits(world)
    await down(world, latch)
    await coming

    assert "holding 0" in repr(world.client_of(waiting))
    assert await world.look() is None
    assert set(world.told(waiting)) <= {"Parked", "Woken"}


async def test_closing_ends_the_wait_and_harms_nobody_else(world: World) -> None:
    latch = await set_to(world, 1)
    _, closing, coming = await waits(world)
    _, _, other = await waits(world)

    await world.close(world.client_of(closing))

    with pytest.raises(StoreUnavailable, match="closed"):
        async with asyncio.timeout(1):
            await asyncio.shield(coming)
    assert not other.done()
    await down(world, latch)
    assert await other is True


@only(faces=(ASYNCIO,))
async def test_a_cancelled_wait_leaves_nothing_behind(world: World) -> None:
    latch, waiting = await set_to(world, 1), made(world)
    task = asyncio.create_task(waiting.wait())
    await world.until(lambda: "Parked" in world.told(waiting))

    task.cancel("from outside")
    with pytest.raises(asyncio.CancelledError):
        await task

    await world.until_nobody_waits()
    assert await count(world) == 1
    await down(world, latch)
    assert await waiting.wait(timeout=0) is True


@only(faces=(ASYNCIO,))
async def test_a_time_limit_around_a_wait_stays_a_time_limit(world: World) -> None:
    latch = await set_to(world, 1)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await made(world).wait()

    await world.until_nobody_waits()
    assert await count(world, latch) == 1
