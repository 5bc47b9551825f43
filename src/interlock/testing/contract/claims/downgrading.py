"""Read/write locks in both modes at once: a writer reads, and reads on; a reader never writes."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from ....errors import LockLost, NotHeld, UsageError
from ..scenes.readers import modes, reads, rwlock, try_to, waits, writes
from ..world import World

ABOUT = ("rwlock",)


# --- holding it in both modes -----------------------------------------------------------------


async def test_reentering_in_either_mode_asks_the_store_nothing(world: World) -> None:
    for mode, inner in (("read", ("read",)), ("write", ("write", "read"))):
        alice, rw = world.actor(), rwlock(world)
        hold: Any = await alice.acquire(getattr(rw, mode)())
        asked = world.traffic(rw).about("claim")

        for each in inner * 2:
            assert await alice.acquire(getattr(rw, each)()) is hold
            assert await alice.attempt(getattr(rw, each)()) is hold
        for each in inner * 4:
            await alice.release(getattr(rw, each)())

        assert world.traffic(rw).about("claim") == asked
        assert hold.mode == mode
        await alice.release(hold)
        assert await world.is_free()


async def test_a_writer_reads_in_a_block_of_its_own(world: World) -> None:
    alice, rw = world.actor(), rwlock(world)

    async with alice.within(rw.write()) as writing:
        async with alice.within(rw.read()) as reading:
            assert reading is writing
            assert reading.mode == "write"
        assert await modes(world) == ["write"]

    assert await world.is_free()


async def test_a_nested_read_that_was_left_keeps_the_write_renewed(world: World) -> None:
    alice, rw, hold = await writes(world)
    await alice.acquire(rw.read())
    await alice.release(rw.read())

    until = hold._lease.until
    for _ in range(3):
        await world.renewed(hold)

    assert hold._lease.until > until
    assert not hold.lost
    assert await modes(world) == ["write"]
    assert await try_to(world, "read") is None


async def test_who_reads_is_refused_to_write_at_once(world: World) -> None:
    alice, rw, hold = await reads(world)
    asked = world.traffic(rw).about("claim")

    with pytest.raises(UsageError, match="leave the read first"):
        await alice.acquire(rw.write())
    with pytest.raises(UsageError, match="claim"):
        await alice.attempt(rw.write())

    assert world.traffic(rw).about("claim") == asked
    assert not hold.lost
    await alice.release(rw.read())
    assert await alice.attempt(rw.write()) is not None


async def test_a_release_in_a_mode_that_is_not_held_is_refused(world: World) -> None:
    alice, hers, _ = await reads(world)
    with pytest.raises(NotHeld, match="mode"):
        await alice.release(hers.write())
    assert await modes(world) == ["read"]
    await alice.release(hers.read())

    bob, his, _ = await writes(world)
    with pytest.raises(NotHeld, match="mode"):
        await bob.release(his.read())
    assert await modes(world) == ["write"]


# --- from writing to reading ------------------------------------------------------------------


async def test_a_writer_that_reads_on_lets_readers_in_at_once(world: World) -> None:
    alice, rw, hold = await writes(world)
    waiting = [await waits(world, "read") for _ in range(2)]

    began = time.monotonic()
    await alice.do(hold.downgrade)
    await asyncio.gather(*(coming for _, _, coming in waiting))

    assert time.monotonic() - began < 1
    assert hold.mode == "read"
    assert await modes(world) == ["read"] * 3
    await alice.release(rw.write())  # as a block over it would
    assert await modes(world) == ["read"] * 2


async def test_leaving_the_write_and_not_the_read_lets_readers_in_at_once(world: World) -> None:
    alice, rw, hold = await writes(world)
    await alice.acquire(rw.read())
    _, _, coming = await waits(world, "read")

    began = time.monotonic()
    await alice.release(rw.write())
    await coming

    assert time.monotonic() - began < 1
    assert hold.mode == "read"
    assert await modes(world) == ["read"] * 2
    await alice.release(rw.read())
    assert await modes(world) == ["read"]


async def test_nobody_writes_while_a_writer_reads_on(world: World) -> None:
    alice, rw, hold = await writes(world)
    _, _, coming = await waits(world, "write")

    await alice.do(hold.downgrade)
    await alice.do(hold.downgrade)  # which changes nothing

    assert await try_to(world, "write") is None
    assert not coming.done()
    await alice.release(rw.write())
    assert (await coming).token > hold.token


async def test_a_writer_that_reads_on_in_a_block_leaves_nothing_behind(world: World) -> None:
    alice, rw = world.actor(), rwlock(world)

    async with alice.within(rw.write()) as hold:
        await alice.do(hold.downgrade)
        assert await try_to(world, "read") is not None

    assert await modes(world) == ["read"]  # the other one's


async def test_who_reads_on_is_kept(world: World) -> None:
    alice, _, hold = await writes(world)
    await alice.do(hold.downgrade)

    until = hold._lease.until
    for _ in range(3):
        await world.renewed(hold)

    assert hold._lease.until > until
    assert not hold.lost
    assert await modes(world) == ["read"]


async def test_who_has_lost_it_cannot_read_on(world: World) -> None:
    alice, _, hold = await writes(world)
    await world.revoke(hold)

    with pytest.raises(LockLost):
        await alice.do(hold.downgrade)

    assert hold.lost
    assert await world.is_free()


# --- leases -----------------------------------------------------------------------------------


async def test_a_read_is_renewed_without_touching_another(world: World) -> None:
    _, _, kept = await reads(world, lease=10)
    _, _, brief = await reads(world, lease=0.2, renew=False)
    _, _, long = await reads(world, lease=40, renew=False)

    await world.renewed(kept)
    info = await world.until_held_by(2)

    assert brief.lost
    left = {holder.owner: holder.expires_in for holder in info.holders}
    assert set(left) == {kept.owner, long.owner}
    assert world.ends(left[kept.owner], 0, 10)
    assert world.ends(left[long.owner], 20, 40)
    assert not kept.lost
