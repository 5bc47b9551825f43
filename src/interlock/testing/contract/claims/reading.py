"""Read/write locks: who shares it with whom, and who waits for whom."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from ....errors import AcquireTimeout
from ..actors import Actor
from ..scenes.readers import modes, reads, rwlock, try_to, waits, writes
from ..scope import only
from ..world import ASYNCIO, World

ABOUT = ("rwlock",)


# --- who shares it with whom ------------------------------------------------------------------


async def test_several_read_at_once(world: World) -> None:
    _, rw, _ = await reads(world)
    await reads(world)
    await reads(world, world.client_of(rw))

    assert await try_to(world, "read") is not None
    assert await try_to(world, "read", world.client_of(rw)) is not None
    assert await modes(world) == ["read"] * 5


async def test_a_writer_excludes_everybody(world: World) -> None:
    alice, rw, _ = await writes(world)

    for client in (None, world.client_of(rw)):
        assert await try_to(world, "read", client) is None
        assert await try_to(world, "write", client) is None

    assert await modes(world) == ["write"]
    await alice.release(rw.write())
    assert await try_to(world, "read") is not None


async def test_readers_exclude_a_writer(world: World) -> None:
    alice, hers, _ = await reads(world)
    bob, his, _ = await reads(world)

    assert await try_to(world, "write") is None
    assert await try_to(world, "write", world.client_of(hers)) is None
    await alice.release(hers.read())
    assert await try_to(world, "write") is None
    await bob.release(his.read())
    assert await try_to(world, "write") is not None


async def test_no_reader_sees_a_half_written_page(world: World) -> None:
    page, torn = [0, 0], []

    async def write(actor: Actor, rw: Any) -> None:
        for _ in range(5):
            async with actor.within(rw.write()):
                page[0] += 1
                await asyncio.sleep(0)
                page[1] += 1

    async def read(actor: Actor, rw: Any) -> None:
        for _ in range(5):
            async with actor.within(rw.read()):
                torn.append(page[0] != page[1])

    clients = [world.client() for _ in range(2)]
    roles = [(role, rwlock(world, client)) for role in (write, read, read) for client in clients]
    await asyncio.gather(*(role(world.actor(), rw) for role, rw in roles))

    assert page == [10, 10]
    assert torn == [False] * 20


async def test_tokens_grow_from_reader_to_reader_and_from_reader_to_writer(world: World) -> None:
    alice, hers, first = await reads(world)
    bob, his, second = await reads(world)
    await alice.release(hers.read())
    await bob.release(his.read())
    _, _, third = await writes(world)

    assert first.token < second.token < third.token


async def test_locked_tells_the_two_sides_apart(world: World) -> None:
    onlooker, seen = world.actor(), rwlock(world)

    async def locked() -> tuple[bool, bool]:
        return await onlooker.do(seen.read().locked), await onlooker.do(seen.write().locked)

    assert await locked() == (False, False)
    alice, rw, _ = await reads(world)
    assert await locked() == (True, False)
    await alice.release(rw.read())
    await writes(world)
    assert await locked() == (False, True)


# --- who waits for whom -----------------------------------------------------------------------


async def test_a_writer_waits_for_the_last_reader_and_is_woken_at_once(world: World) -> None:
    alice, hers, _ = await reads(world)
    bob, his, _ = await reads(world)
    _, _, coming = await waits(world, "write")

    await alice.release(hers.read())
    assert await modes(world) == ["read"]
    assert not coming.done()
    began = time.monotonic()
    await bob.release(his.read())
    await coming

    assert time.monotonic() - began < 1  # by itself it would ask again after a second
    assert await modes(world) == ["write"]


async def test_readers_that_wait_are_let_in_together(world: World) -> None:
    alice, rw, _ = await writes(world)
    waiting = [await waits(world, "read") for _ in range(3)]

    began = time.monotonic()
    await alice.release(rw.write())
    await asyncio.gather(*(coming for _, _, coming in waiting))

    assert time.monotonic() - began < 1
    assert await modes(world) == ["read"] * 3


async def test_a_writer_that_waits_is_not_overtaken_by_readers(world: World) -> None:
    alice, hers, _ = await reads(world)
    bob, his, writing = await waits(world, "write")

    assert await try_to(world, "read") is None
    assert await try_to(world, "read", world.client_of(hers)) is None
    _, _, reading = await waits(world, "read")
    await alice.release(hers.read())
    await writing

    assert not reading.done()
    await bob.release(his.write())
    assert not (await reading).lost


async def test_a_writer_that_gives_up_lets_the_readers_behind_it_in(world: World) -> None:
    await reads(world)
    _, _, writing = await waits(world, "write", timeout=0.3)
    rw = rwlock(world)
    reading = world.actor().start(rw.read().acquire)
    await world.until(lambda: "Parked" in world.told(rw) or writing.done())

    with pytest.raises(AcquireTimeout):
        await writing
    began = time.monotonic()
    await reading

    assert time.monotonic() - began < 0.9
    assert await modes(world) == ["read"] * 2


@only(faces=(ASYNCIO,))
async def test_a_cancelled_writer_lets_the_readers_behind_it_in(world: World) -> None:
    await reads(world)
    rw = rwlock(world)
    writing = asyncio.create_task(rw.write().acquire())
    await world.until(lambda: "Parked" in world.told(rw))
    _, _, reading = await waits(world, "read")

    writing.cancel()
    began = time.monotonic()
    await reading

    assert time.monotonic() - began < 0.9
    assert await modes(world) == ["read"] * 2


async def test_a_reader_that_is_gone_lets_a_writer_in(world: World) -> None:
    _, _, gone = await reads(world, lease=0.6, renew=False)
    _, _, coming = await waits(world, "write")

    assert (await coming).token > gone.token
    assert gone.lost


async def test_a_reader_that_is_gone_leaves_the_others_reading(world: World) -> None:
    _, _, gone = await reads(world, lease=0.1, renew=False)
    alice, rw, hold = await reads(world)
    await world.until_held_by(1)

    assert gone.lost
    assert not hold.lost
    assert await try_to(world, "write") is None
    await alice.release(rw.read())
    assert await try_to(world, "write") is not None


async def test_a_reader_that_was_taken_off_lets_a_writer_in_at_once(world: World) -> None:
    _, _, hold = await reads(world)
    _, _, coming = await waits(world, "write")

    began = time.monotonic()
    await world.revoke(hold)
    await coming

    assert time.monotonic() - began < 1
    await world.lost(hold)
