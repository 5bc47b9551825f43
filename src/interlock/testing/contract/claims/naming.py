"""Which names and arguments are taken, and how the wrong ones are refused."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

import pytest

from ....errors import StoreMisconfigured
from ..world import World

NAMES = (
    "plain",
    "with spaces and 'quotes' \"of\" %s {0}",
    "{",
    "}",
    "{}",
    "{tag}",
    "{tag}rest",
    "start{tag}",
    "new\nline",
    "new",
    "nul\0",
    "nul\0nul",
    "é",
    "e\N{COMBINING ACUTE ACCENT}",
    "ключ",
    "\U0001f512" * 256,
    " ",
    "*",
    "a:b",
    "\ufeff",
)

#: Braces that are no hash tag: a store that finds the place of a name by its tag may refuse them.
UNTAGGED = ("{", "}", "{}")

#: What stores use for themselves beside a lock called "plain".
KEY_LIKE = (
    *("interlock:tokens", "interlock:queue:{plain}", "interlock:client:x", "interlock:wake:x"),
    *("redisson_lock__channel:{plain}", "locks", "sqlite_master"),
)

WRONG_NAMES: tuple[Any, ...] = (
    *("", "x" * 65_537, "é" * 32_769, "\ud800"),
    *(b"bytes", 7, None),
)

WRONG_TERMS: tuple[tuple[str, Any], ...] = (
    *(("lease", value) for value in (math.nan, math.inf, 0, -1, 0.001, True, "10", None)),
    *(("lease", timedelta(seconds=-1)), ("lease", timedelta(days=31))),
    *(("timeout", value) for value in (math.nan, -2, -0.5, True, "10")),
    *(("max_hold", value) for value in (math.nan, 0, -1, True, "10")),
)


async def test_every_text_names_a_lock_of_its_own(world: World) -> None:
    alice, client = world.actor(), world.client()

    names = [name for name in NAMES if not await refused(world, name)]
    holds = {name: await alice.acquire(world.lock(client, name), timeout=5) for name in names}

    bob, other = world.actor(), world.client()
    for name in names:
        assert await bob.attempt(world.lock(other, name)) is None
        await alice.release(holds[name])
        assert await bob.attempt(world.lock(other, name)) is not None


async def refused(world: World, name: str) -> bool:
    """Whether the store says beforehand that it cannot keep a name, as it may of some."""
    if name in UNTAGGED:
        try:
            await world.look(name)
        except StoreMisconfigured as refusal:
            return f"{name!r} cannot be kept" in str(refusal)
    return False


async def test_a_name_that_looks_like_a_key_of_a_store_harms_nobody(world: World) -> None:
    for name in KEY_LIKE:
        lock = None
        try:
            lock = world.lock(name=name)
        except ValueError:
            continue  # to refuse it beforehand is as good
        await world.actor().acquire(lock)

    alice, hers, _ = await world.held(name="plain")
    _, _, coming = await world.waiting(name="plain")
    await alice.release(hers)
    assert not (await coming).lost


async def test_waiting_works_for_every_text(world: World) -> None:
    for name in ("{", "{tag}rest", "new\nline", "nul\0", "ключ", "\U0001f512" * 256):
        if await refused(world, name):
            continue
        alice, hers, _ = await world.held(name=name)
        _, _, coming = await world.waiting(name=name)
        await alice.release(hers)
        assert (await coming).name == name


async def test_wrong_names_are_refused_before_anything_is_sent(world: World) -> None:
    client = world.client()
    for name in WRONG_NAMES:
        with pytest.raises((ValueError, TypeError), match="name"):
            world.lock(client, name)

    assert world.traffic(client).requests == []


async def test_the_longest_name_is_taken(world: World) -> None:
    _, _, hold = await world.held(name="x" * 65_536)

    assert not hold.lost


async def test_wrong_terms_are_refused_by_the_name_of_their_argument(world: World) -> None:
    client = world.client()
    for argument, value in WRONG_TERMS:
        with pytest.raises((ValueError, TypeError), match=argument):
            world.lock(client, **{argument: value})

    assert world.traffic(client).requests == []


async def test_a_wrong_timeout_of_an_acquire_is_refused_before_anything_is_sent(
    world: World,
) -> None:
    alice, lock = world.actor(), world.lock()
    for value in (math.nan, -2, True, "10"):
        with pytest.raises((ValueError, TypeError), match="timeout"):
            await alice.acquire(lock, timeout=value)

    assert world.traffic(lock).requests == []
    assert await alice.acquire(lock, timeout=0) is not None


async def test_lengths_of_time_may_be_timedeltas(world: World) -> None:
    _, _, hold = await world.held(lease=timedelta(seconds=15), timeout=timedelta(seconds=5))

    assert 10 < hold.expires_in < 15
