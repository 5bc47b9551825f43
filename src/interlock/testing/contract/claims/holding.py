"""What a hold says, who may release it, and what a release does."""

from __future__ import annotations

import pytest

from ....errors import NotHeld
from ..world import World


async def test_a_hold_knows_its_facts(world: World) -> None:
    _, lock, hold = await world.held(lease=20)

    assert hold.name == lock.name == "claim"
    assert isinstance(hold.token, int)
    assert hold.owner.startswith(f"{lock._session.identity}:")
    assert 10 < hold.expires_in < 20
    assert hold.lost is False
    hold.ensure()


async def test_tokens_grow_over_grants_clients_and_connections(world: World) -> None:
    alice, client, tokens = world.actor(), world.client(), []
    for round_ in range(4):
        for lock in (world.lock(client), world.lock()):
            hold = await alice.acquire(lock)
            tokens.append(hold.token)
            await alice.release(hold)
        if round_ % 2:
            await world.close(client)
            client = world.client()

    assert tokens == sorted(set(tokens))


async def test_a_token_grows_when_the_lock_is_handed_over(world: World) -> None:
    alice, hers, first = await world.held()
    _, _, coming = await world.waiting()

    await alice.release(hers)

    assert (await coming).token > first.token


async def test_a_hold_may_be_released_by_another(world: World) -> None:
    alice, lock, hold = await world.held()
    bob = world.actor()

    await bob.release(hold)

    assert await world.is_free()
    with pytest.raises(NotHeld):
        await alice.release(lock)
    assert await alice.attempt(lock) is not None


async def test_a_stranger_cannot_release(world: World) -> None:
    _, lock, hold = await world.held()

    with pytest.raises(NotHeld) as sibling:
        await world.actor().release(lock)
    with pytest.raises(RuntimeError) as stranger:
        await world.actor().release(world.lock())

    assert isinstance(stranger.value, NotHeld)
    assert sibling.value.name == stranger.value.name == "claim"
    info = await world.look()
    assert info is not None
    assert info.holders[0].owner == hold.owner


async def test_a_hold_is_released_once(world: World) -> None:
    alice, _, hold = await world.held()
    await alice.release(hold)
    _, _, theirs = await world.held()

    with pytest.raises(NotHeld):
        await alice.release(hold)

    assert not theirs.lost
    assert not await world.is_free()


async def test_an_exception_in_the_body_releases_and_goes_on(world: World) -> None:
    with pytest.raises(ZeroDivisionError):
        async with world.actor().within(world.lock()):
            raise ZeroDivisionError

    assert await world.is_free()


async def test_a_block_over_a_hold_releases_it(world: World) -> None:
    alice, _, hold = await world.held()

    async with alice.within(hold) as same:
        assert same is hold

    assert await world.is_free()


async def test_a_lock_object_has_no_state_of_its_own(world: World) -> None:
    lock = world.lock()
    alice, bob = world.actor(), world.actor()
    first = await alice.acquire(lock)
    await alice.release(lock)

    second = await bob.acquire(lock)

    with pytest.raises(NotHeld):
        await alice.release(lock)
    with pytest.raises(NotHeld):
        await alice.release(first)
    assert not second.lost
    await bob.release(lock)


async def test_what_objects_say_of_themselves(world: World) -> None:
    alice, lock, hold = await world.held()

    label = lock._session.backend.label
    assert "claim" in repr(lock)
    assert lock._store.kind in repr(lock)
    assert label in repr(lock)
    assert "held" in await alice.do(repr, lock)
    assert f"token={hold.token}" in repr(hold)
    assert "held" in repr(hold)
    assert "holding 1" in repr(world.client_of(lock))
    await alice.release(hold)
    assert "released" in repr(hold)
    assert "holding 0" in repr(world.client_of(lock))
    assert label in repr(world.client_of(lock))
