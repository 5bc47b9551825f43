"""Looking at what is held, by whomever, and ending it."""

from __future__ import annotations

import os
import socket
from typing import Any

import pytest

from ....errors import LockLost, StoreMisconfigured
from ....model import LockInfo
from ..scope import only
from ..subjects import KINDS, PERMITS, PLAIN, WHOLE
from ..world import World


async def looked(world: World, name: str = "claim") -> LockInfo | None:
    """What an onlooker is told of a name."""
    info: LockInfo | None = await world.actor().do(world.onlooker().inspect, name)
    return info


async def inspect(world: World) -> LockInfo:
    """What an onlooker is told of a name that is in use."""
    info = await looked(world)
    assert info is not None
    return info


async def introduced(world: World) -> LockInfo:
    """What is told once the holders have said who they are, as they do in the background."""
    await world.seen(lambda info: info is not None and all(each.host for each in info.holders))
    return await inspect(world)


async def found(world: World, *pattern: str) -> dict[str, LockInfo]:
    """What an onlooker finds, by name and in order."""
    infos = await world.actor().do(world.onlooker().locks, *pattern)
    return {info.name: info for info in infos}


async def revoke(world: World, reason: str = "") -> LockInfo | None:
    """Let an operator end it."""
    client = world.client()
    ended: LockInfo | None = await world.actor().do(client.revoke, "claim", reason=reason)
    return ended


def here() -> tuple[str, int]:
    """Where every actor of a claim runs."""
    return socket.gethostname(), os.getpid()


# --- looking ----------------------------------------------------------------------------------


@only(kinds=PLAIN)
async def test_nothing_is_known_of_a_free_name(world: World) -> None:
    assert await looked(world) is None
    assert await found(world) == {}
    assert await revoke(world) is None


async def test_an_onlooker_sees_kind_holder_and_lease(world: World) -> None:
    _, _, hold = await world.held(lease=20)

    info = await introduced(world)

    assert (info.name, info.kind) == ("claim", world.called())
    (holder,) = info.holders
    assert holder.owner == hold.owner
    assert (holder.host, holder.pid) == here()
    assert holder.program
    assert f"{holder.host}:{holder.pid}" in str(holder)
    assert world.ends(info.expires_in, 10, 20)
    assert holder.expires_in is None or world.ends(holder.expires_in, 10, 20)
    assert info.token in (None, hold.token)
    assert (info.waiters, info.count) == (0, None)


async def test_an_onlooker_sees_how_many_wait(world: World) -> None:
    alice, lock, _ = await world.held()
    waiting = [await world.waiting() for _ in range(2)]

    assert (await inspect(world)).waiters == 2

    await alice.release(lock)
    for actor, theirs, coming in waiting:
        await coming
        await actor.release(theirs)
    assert await world.is_free()


@only(kinds=WHOLE)
async def test_what_was_released_is_not_known_any_more(world: World) -> None:
    alice, lock, _ = await world.held()
    await alice.release(lock)

    assert await looked(world) is None


@only(kinds=PERMITS)
async def test_an_onlooker_sees_permits(world: World) -> None:
    alice, semaphore, first = await world.held(permits=3)
    _, _, second = await world.held()

    info = await inspect(world)

    assert (info.permits, info.available) == (3, 1)
    assert {holder.owner for holder in info.holders} == {first.owner, second.owner}
    await alice.release(semaphore)
    assert (await inspect(world)).available == 2


@only(kinds=("semaphore",))
async def test_an_onlooker_sees_how_many_permits_each_has(world: World) -> None:
    _, _, heavy = await world.held(permits=5, weight=3)
    _, _, light = await world.held()

    info = await inspect(world)

    assert {holder.owner: holder.weight for holder in info.holders} == {
        heavy.owner: 3,
        light.owner: 1,
    }
    assert (info.permits, info.available) == (5, 1)


@only(kinds=("rwlock",))
async def test_an_onlooker_sees_who_reads_and_who_writes(world: World) -> None:
    readers = [world.client().rwlock("claim", lease=lease) for lease in (20, 40)]
    holds = [await world.actor().acquire(each.read()) for each in readers]

    info = await introduced(world)

    assert info.kind == "rwlock"
    assert {holder.owner: holder.mode for holder in info.holders} == {
        hold.owner: "read" for hold in holds
    }
    assert all((holder.host, holder.pid) == here() for holder in info.holders)
    assert world.ends(info.expires_in, 10, 20)
    for hold in holds:
        await world.actor().release(hold)
    assert await looked(world) is None

    writing = await world.actor().acquire(readers[0].write())
    (holder,) = (await inspect(world)).holders
    assert (holder.owner, holder.mode) == (writing.owner, "write")


@only(kinds=("latch",))
async def test_an_onlooker_sees_what_a_latch_still_counts(world: World) -> None:
    latch: Any = world.client().latch("claim")
    await world.actor().do(latch.start, 2)

    info = await inspect(world)
    assert (info.kind, info.count, info.holders) == ("latch", 2, ())
    assert (info.expires_in, info.permits) == (None, None)

    await world.actor().do(latch.count_down)
    assert (await inspect(world)).count == 1
    await world.actor().do(latch.count_down)
    assert await looked(world) is None


async def test_an_onlooker_finds_names_by_a_pattern(world: World) -> None:
    alice, client = world.actor(), world.client()
    for name in ("orders:1", "orders:2", "stock:1", "{orders:3}"):
        await alice.acquire(world.lock(client, name))

    assert list(await found(world)) == ["orders:1", "orders:2", "stock:1", "{orders:3}"]
    assert list(await found(world, "orders:*")) == ["orders:1", "orders:2"]
    assert list(await found(world, "*:1")) == ["orders:1", "stock:1"]
    assert list(await found(world, "orders:[2-9]")) == ["orders:2"]
    assert await found(world, "nothing") == {}
    (info,) = (await found(world, "stock:?")).values()
    assert (info.kind, len(info.holders)) == (world.called(), 1)


@only(kinds=PLAIN)
async def test_an_onlooker_finds_everything_that_is_in_use(world: World) -> None:
    alice, client = world.actor(), world.client()
    for kind, make in KINDS.items():
        await alice.acquire(make(client, f"a {kind}"))
    await alice.acquire(client.rwlock("a read").read())
    await alice.do(client.latch("a latch").start, 3)

    kinds = {name: info.kind for name, info in (await found(world)).items()}

    taken = {f"a {kind}": world.called(kind) for kind in KINDS}
    assert kinds == {**taken, "a read": "rwlock", "a latch": "latch"}


async def test_to_look_changes_nothing(world: World) -> None:
    _, lock, hold = await world.held(lease=20)
    _, _, coming = await world.waiting()

    for _ in range(3):
        await inspect(world)
        await found(world)
        await world.actor().do(world.lock(world.onlooker()).locked)

    info = await inspect(world)
    assert ([holder.owner for holder in info.holders], info.waiters) == ([hold.owner], 1)
    assert not coming.done()
    await world.actor().release(hold)
    assert (await coming).token > hold.token
    assert world.told(lock) == ["Granted", "Released"]


# --- ending -----------------------------------------------------------------------------------


async def test_what_was_revoked_names_the_reason_to_its_holder(world: World) -> None:
    alice, lock, hold = await world.held()

    ended = await revoke(world, "stuck since noon")
    await world.lost(hold)

    assert ended is not None
    assert [holder.owner for holder in ended.holders] == [hold.owner]
    with pytest.raises(LockLost, match="stuck since noon") as lost:
        hold.ensure()
    host, pid = here()
    assert f"revoked by {host}:{pid}" in lost.value.cause
    with pytest.raises(LockLost):
        await alice.release(lock)
    assert await world.is_free()


async def test_a_holder_that_does_not_renew_reads_the_reason_when_it_releases(
    world: World,
) -> None:
    alice, _, hold = await world.held(renew=False)

    await revoke(world, "stuck since noon")

    with pytest.raises(LockLost, match="stuck since noon"):
        await alice.release(hold)


async def test_what_was_revoked_goes_to_the_next_at_once(world: World) -> None:
    _, _, hold = await world.held()
    _, _, coming = await world.waiting()

    await revoke(world)
    theirs = await coming

    assert theirs.token > hold.token
    info = await inspect(world)
    assert [holder.owner for holder in info.holders] == [theirs.owner]
    await world.lost(hold)
    assert not theirs.lost


@only(kinds=PERMITS)
async def test_every_permit_is_revoked(world: World) -> None:
    held = [await world.held(permits=3) for _ in range(3)]
    ended = await revoke(world, "enough")

    assert ended is not None
    assert len(ended.holders) == 3
    info = await inspect(world)
    assert (info.holders, info.permits, info.available) == ((), 3, 3)
    for _, _, permit in held:
        await world.lost(permit)
        with pytest.raises(LockLost, match="enough"):
            permit.ensure()


@only(kinds=("semaphore",))
async def test_permits_of_any_weight_are_revoked(world: World) -> None:
    await world.held(permits=5, weight=3)

    await revoke(world)

    info = await inspect(world)
    assert (info.holders, info.available) == ((), 5)


@only(kinds=("rwlock",))
async def test_every_reader_is_revoked(world: World) -> None:
    readers = [world.client().rwlock("claim").read() for _ in range(2)]
    holds = [await world.actor().acquire(each) for each in readers]

    await revoke(world, "enough")

    assert await world.actor().attempt(world.client().rwlock("claim").write()) is not None
    for hold in holds:
        await world.lost(hold)
        with pytest.raises(LockLost, match="enough"):
            hold.ensure()


@only(kinds=("latch",))
async def test_a_latch_that_was_revoked_is_open(world: World) -> None:
    latch: Any = world.client().latch("claim")
    await world.actor().do(latch.start, 3)
    coming = world.actor().start(latch.wait)
    await world.until(lambda: "Parked" in world.told(latch))

    ended = await revoke(world, "enough")

    assert ended is not None
    assert ended.count == 3
    assert await coming is True
    assert await looked(world) is None


@only(kinds=PLAIN)
async def test_wrong_names_are_refused_when_looking(world: World) -> None:
    client = world.client()
    for act in (client.inspect, client.revoke):
        for name in ("", b"bytes", 7, None):
            with pytest.raises((ValueError, TypeError), match="name"):
                await world.actor().do(act, name)

    assert world.traffic(client).requests == []


@only(kinds=WHOLE)
async def test_an_onlooker_of_the_wrong_kind_is_told_so(world: World) -> None:
    await world.held()
    other: Any = world.client().semaphore("claim")

    with pytest.raises(StoreMisconfigured, match=world.called()):
        await world.actor().do(other.available)
