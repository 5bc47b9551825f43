"""What is known to go wrong in Redisson goes right here.

The defects have numbers; each of these has a test that names it, here or beside the primitive
that it is about.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ...support.eventually import eventually
from ...support.worlds import World

pytestmark = pytest.mark.server

#: What must not happen with ours: see the docstrings of the tests that name them.
DEFECTS = (1, 3, 5, 6, 8, 9, 10, 11, 13, 15, 18, 19, 22, 23, 26)


@pytest.mark.parametrize("number", DEFECTS)
def test_every_defect_has_a_test_that_names_it(number: int) -> None:
    tests = Path(__file__).parent.glob("test_*.py")
    named = re.compile(rf"def test_d{number}[ab]?_")
    told = re.compile(rf'def test_\w+\([^)]*\)[^:]*:\n    """[^"]*\bD{number}[ab]?\b')

    texts = [path.read_text() for path in tests]
    assert [text for text in texts if named.search(text) or told.search(text)]


def test_write_hold_is_kept_after_a_nested_read_was_released(
    world: World, redis_url: str, peek: Any
) -> None:
    """D11: releasing a nested read must not end the renewal of the write around it."""
    cache = world.connect(redis_url).rwlock("k", lease=1.0)

    def write_and_read() -> Any:
        with cache.write() as hold:
            with cache.read():
                pass
            began = hold._lease.until
            eventually(lambda: hold._lease.until > began + 1.0)  # renewed more than once since
            return hold.lost, peek.hget("k", "mode")

    async def write_and_read_awaiting() -> Any:
        async with cache.write() as hold:
            async with cache.read():
                pass
            began = hold._lease.until
            await until(lambda: hold._lease.until > began + 1.0)
            return hold.lost, peek.hget("k", "mode")

    action = write_and_read if world.name == "threads" else write_and_read_awaiting

    assert world.do(action) == (False, "write")


def test_vanished_hold_is_forgotten_at_once_however_often_it_was_entered(
    world: World, redis_url: str, peek: Any
) -> None:
    """D18: a vanished hold of depth three is lost at once, and its successor is kept."""
    lock = world.connect(redis_url).lock("k", lease=1.0)

    def enter_thrice_and_lose() -> Any:
        first = lock.acquire()
        lock.acquire()
        lock.acquire()
        peek.delete("k")
        eventually(lambda: first.lost)
        return first

    async def enter_thrice_and_lose_awaiting() -> Any:
        first = await lock.acquire()
        await lock.acquire()
        await lock.acquire()
        peek.delete("k")
        await until(lambda: first.lost)
        return first

    threads = world.name == "threads"
    lost = world.do(enter_thrice_and_lose if threads else enter_thrice_and_lose_awaiting)
    successor = world.do(lock.acquire)
    began = successor._lease.until
    eventually(lambda: successor._lease.until > began + 1.0)  # renewed more than once since

    assert lost.lost and not successor.lost
    world.do(successor.release)


async def until(condition: Any) -> None:
    """Wait for what must come true by itself."""
    import asyncio

    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - nobody sets an event
            await asyncio.sleep(0.005)
