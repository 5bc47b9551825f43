"""Worlds, proxies and a look from outside, for the tests of the Redis backend."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.faults import FaultProxy
from tests.support.servers import RedisServer

from ...support.worlds import WORLDS, World
from .watching import raw


@pytest.fixture(params=sorted(WORLDS))
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """Threads, then tasks; whatever a test connects is closed with it."""
    world = WORLDS[request.param]()
    yield world
    world.close()


@pytest.fixture(params=["lock", "mutex"])
def kind(request: pytest.FixtureRequest) -> str:
    """The kinds of lock: Redisson's hash, and the plain string."""
    chosen: str = request.param
    return chosen


@pytest.fixture
def peek(redis_server: RedisServer, redis_url: str) -> Iterator[Any]:
    """A plain redis-py client of the shared server, whose database is empty."""
    with raw(redis_server.port) as client:
        yield client


@pytest.fixture
def proxy(redis_server: RedisServer, redis_url: str) -> Iterator[FaultProxy]:
    """A proxy before the shared server, whose database is empty."""
    with FaultProxy(redis_server.port) as proxy:
        yield proxy
