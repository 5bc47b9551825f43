"""Copies, pickles and weak references of everything that a user can have in hand."""

from __future__ import annotations

import asyncio
import copy
import gc
import inspect
import pickle
import uuid
import weakref
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import pytest

import interlock
from interlock import aio

WORLDS = pytest.mark.parametrize("il", (interlock, aio), ids=("threads", "asyncio"))

#: Descriptions: what a client makes.
MADE: dict[str, Callable[[Any], Any]] = {
    "lock": lambda client: client.lock("orders"),
    "mutex": lambda client: client.mutex("orders"),
    "fair_lock": lambda client: client.fair_lock("orders"),
    "fenced_lock": lambda client: client.fenced_lock("orders"),
    "rwlock": lambda client: client.rwlock("orders"),
    "read": lambda client: client.rwlock("orders").read(),
    "write": lambda client: client.rwlock("orders").write(),
    "semaphore": lambda client: client.semaphore("orders", permits=1),
    "leased_semaphore": lambda client: client.leased_semaphore("orders", permits=1),
    "latch": lambda client: client.latch("orders"),
    "multilock": lambda client: client.multilock("orders", "stock"),
}

#: What there is one of: a client, and what is held.
HELD: dict[str, Callable[[Any], Any]] = {
    "client": lambda client: client,
    "hold": lambda client: client.lock("orders").acquire(),
    "reader": lambda client: client.rwlock("orders").read().acquire(),
    "writer": lambda client: client.rwlock("orders").write().acquire(),
    "permit": lambda client: client.semaphore("orders", permits=1).acquire(),
    "multihold": lambda client: client.multilock("orders", "stock").acquire(),
}

COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "deepcopy inside": lambda thing: copy.deepcopy([thing]),
}

PICKLES: dict[str, Callable[[Any], Any]] = {
    f"pickle {protocol}": partial(pickle.dumps, protocol=protocol)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
}

THINGS = {**MADE, **HELD}
WAYS = {**COPIES, **PICKLES}


def play(il: ModuleType, make: Callable[[Any], Any], scene: Callable[[Any], None]) -> None:
    """Make a thing in either world, and play a scene with it."""

    async def play_async() -> None:
        async with aio.connect(f"memory://{uuid.uuid4()}") as client:
            thing = make(client)
            scene(await thing if inspect.isawaitable(thing) else thing)

    if il is aio:
        asyncio.run(play_async())
    else:
        with interlock.connect(f"memory://{uuid.uuid4()}") as client:
            scene(make(client))


@WORLDS
@pytest.mark.parametrize("made", MADE)
def test_a_copy_of_a_description_is_the_description(made: str, il: ModuleType) -> None:
    def scene(thing: Any) -> None:
        assert copy.copy(thing) is thing
        assert copy.deepcopy({"here": [thing]})["here"][0] is thing

    play(il, MADE[made], scene)


@WORLDS
@pytest.mark.parametrize("how", PICKLES)
@pytest.mark.parametrize("made", MADE)
def test_a_description_is_not_pickled_and_says_what_to_do(
    made: str, how: str, il: ModuleType
) -> None:
    def scene(thing: Any) -> None:
        with pytest.raises(TypeError) as refusal:
            PICKLES[how](thing)
        assert "'orders" in str(refusal.value)
        assert f"{il.__name__}.connect(url)" in str(refusal.value)

    play(il, MADE[made], scene)


@WORLDS
@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("held", HELD)
def test_what_there_is_one_of_is_neither_copied_nor_pickled(
    held: str, how: str, il: ModuleType
) -> None:
    def scene(thing: Any) -> None:
        with pytest.raises(TypeError, match="cannot be copied or pickled") as refusal:
            WAYS[how](thing)
        if held == "client":
            assert f"{il.__name__}.connect(url)" in str(refusal.value)
        else:
            assert "'orders" in str(refusal.value)
            assert "by its name" in str(refusal.value)

    play(il, HELD[held], scene)


@WORLDS
def test_a_copy_shares_what_is_held_with_the_original(il: ModuleType) -> None:
    async def use() -> None:
        async with aio.connect(f"memory://{uuid.uuid4()}") as client:
            lock = client.lock("orders")
            async with copy.copy(lock):
                hold = await lock.acquire()
                await copy.deepcopy(lock).release()
                assert not hold.lost
            assert not await lock.locked()

    if il is aio:
        asyncio.run(use())
        return
    with interlock.connect(f"memory://{uuid.uuid4()}") as client:
        lock = client.lock("orders")
        with copy.copy(lock):
            hold = lock.acquire()
            copy.deepcopy(lock).release()
            assert not hold.lost
        assert not lock.locked()


@WORLDS
@pytest.mark.parametrize("thing", THINGS)
def test_everything_takes_weak_references(thing: str, il: ModuleType) -> None:
    def scene(it: Any) -> None:
        known = weakref.WeakKeyDictionary({it: "known"})
        assert known[it] == "known"
        assert weakref.ref(it)() is it

    play(il, THINGS[thing], scene)


@WORLDS
@pytest.mark.parametrize("made", MADE)
def test_a_weak_reference_keeps_no_description_alive(made: str, il: ModuleType) -> None:
    def remembered(client: Any) -> weakref.ref[Any]:
        return weakref.ref(MADE[made](client))

    def scene(reference: Any) -> None:
        gc.collect()
        assert reference() is None

    play(il, remembered, scene)
