"""Every connection of a link is found when all must end, whatever other threads open meanwhile."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from interlock import StoreError
from interlock.backends.redis.link import RedisLink
from interlock.backends.redis.transport.factories import UrlFactory
from interlock.backends.redis.transport.weak_registry import WeakRegistry
from interlock.backends.redis.url import read_url
from interlock.drive import now
from interlock.steps import Call


class Thing:
    """Something that can be alive."""


@pytest.fixture
def eager_switches() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_things_are_found_as_long_as_they_live() -> None:
    registry: WeakRegistry[Thing] = WeakRegistry()
    things = [Thing() for _ in range(3)]
    for each in (0, 1, 2, 0, 1, 2):
        registry.add(things[each])

    registry.discard(things[0])
    assert set(registry.every()) == set(things[1:])
    del things[1:]
    gc.collect()
    assert registry.every() == []


def test_things_are_found_while_other_threads_add(eager_switches: None) -> None:
    registry: WeakRegistry[Thing] = WeakRegistry()
    kept = [Thing() for _ in range(2000)]
    for thing in kept:
        registry.add(thing)
    ended = threading.Event()

    def add() -> None:
        while not ended.is_set():
            for thing in (more := [Thing() for _ in range(100)]):
                registry.add(thing)
            del more

    with ThreadPoolExecutor(2) as threads:
        adding = [threads.submit(add) for _ in range(2)]
        try:
            for _ in range(50):
                assert set(registry.every()) >= set(kept)
        finally:
            ended.set()
    for each in adding:
        each.result()


@pytest.mark.server
def test_another_primary_is_turned_to_while_threads_connect(
    redis_url: str, eager_switches: None
) -> None:
    factory = UrlFactory(read_url(redis_url))
    link = RedisLink(factory)
    ping = Call(_Ping, (), (), now() + 60.0)
    busy = [link._borrow(now() + 60.0) for _ in range(300)]
    ended = threading.Event()

    def ask() -> None:
        while not ended.is_set():
            factory.leave(factory.generation)  # as when a server says that it is a replica
            with suppress(StoreError):  # it was asked where the primary is no more
                link.call(ping)

    with ThreadPoolExecutor(12) as threads:
        asking = [threads.submit(ask) for _ in range(12)]
        ended.wait(1.0)
        ended.set()
    link.close()
    assert len(busy) == 300
    assert [each.exception() for each in asking] == [None] * 12


class _Ping:
    """A script that does nothing."""

    text, sha, confirmable = "return nil", "0" * 40, False
