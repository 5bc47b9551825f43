"""One kind a name: a client that takes it for something else is told so, and touches nothing."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from ....errors import StoreMisconfigured
from ....model import LockInfo
from ..actors import Actor
from ..scope import only
from ..subjects import KINDS, WHOLE, primitive_of
from ..world import World

#: Everything that a name can be in use as.
ABOUT = (*KINDS, "rwlock", "latch", "election", "barrier")

#: Everything that is taken like a lock.
TAKEN = {**KINDS, "election": lambda client, name, **terms: client.election(name, **terms).lead()}

#: Everything that a name can be mistaken for; to read and to write are the same.
OTHERS = (*TAKEN, "latch", "barrier")


async def in_use(world: World) -> tuple[Actor, Any]:
    """Who uses the name as what it is, and how to end that."""
    actor, client = world.actor(), world.client()
    if world.kind == "latch":
        latch = client.latch("claim")
        await actor.do(latch.start, 1)
        return actor, latch.count_down
    if world.kind == "barrier":
        barrier = client.barrier("claim", 1)
        await actor.do(barrier.enter)
        return actor, barrier.leave
    reads = world.kind == "rwlock"
    lock: Any = client.rwlock("claim").read() if reads else TAKEN[world.kind](client, "claim")
    await actor.acquire(lock)
    return actor, lock.release


def mistakes(client: Any, kind: str) -> Iterator[partial[Any]]:
    """Whatever a client can do that takes the name for another kind."""
    if kind == "latch":
        latch = client.latch("claim")
        yield partial(latch.start, 2)
        yield partial(latch.count_down)
        yield partial(latch.wait, timeout=1)
        return
    if kind == "barrier":
        yield partial(client.barrier("claim", 2).enter, timeout=1)
        yield partial(client.barrier("claim", 1).wait, timeout=1)
        return
    lock = TAKEN[kind](client, "claim")
    yield partial(lock.acquire)
    yield partial(lock.acquire, timeout=1)
    yield partial(lock.acquire, blocking=False)
    if primitive_of(kind) == "rwlock":
        yield partial(client.rwlock("claim").read().acquire, timeout=1)
    if hasattr(lock, "set_permits"):
        yield partial(lock.set_permits, 7)


def mistaken(world: World) -> list[str]:
    """The other kinds."""
    return [kind for kind in OTHERS if world.called(kind) != world.called()]


def facts(info: LockInfo | None) -> Any:
    """What is known of a name, without the time that passes."""
    assert info is not None
    owners = [(holder.owner, holder.mode, holder.weight) for holder in info.holders]
    return info.kind, owners, info.waiters, info.permits, info.available, info.count


async def test_a_name_in_use_as_another_kind_is_refused_and_not_touched(world: World) -> None:
    await in_use(world)
    before = facts(await world.look())
    bob, client = world.actor(), world.client()

    for kind in mistaken(world):
        for mistake in mistakes(client, kind):
            with pytest.raises(StoreMisconfigured, match="claim") as refused:
                await bob.do(mistake)
            for named in (world.called(), world.called(kind)):
                assert f"a {named}" in str(refused.value)

    assert facts(await world.look()) == before


async def test_a_sibling_is_refused_another_kind_as_well(world: World) -> None:
    actor, end = await in_use(world)
    client = world.client_of(end.__self__)
    before = facts(await world.look())

    for kind in mistaken(world):
        for mistake in mistakes(client, kind):
            with pytest.raises(StoreMisconfigured, match="claim"):
                await actor.do(mistake)

    assert facts(await world.look()) == before
    await actor.do(end)
    assert await world.is_free()


@only(kinds=(*WHOLE, "rwlock", "latch", "election", "barrier"))
async def test_a_name_that_is_free_may_become_another_kind(world: World) -> None:
    actor, end = await in_use(world)
    await actor.do(end)

    for kind in mistaken(world):
        if kind in (*WHOLE, "election"):
            lock = TAKEN[kind](world.client(), "claim")
            hold = await world.actor().acquire(lock, timeout=1)
            await world.actor().release(hold)
    barrier: Any = world.client().barrier("claim", 1)
    await world.actor().do(barrier.wait, timeout=1)
    latch: Any = world.client().latch("claim")
    assert await world.actor().do(latch.wait, timeout=1) is True
