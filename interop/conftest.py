"""One server and one JVM for all; options; and the table at the end."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from tests.backends.redis.watching import Monitor, raw
from tests.support.faults import FaultProxy
from tests.support.servers import RedisServer
from tests.support.worlds import WORLDS, World

from .harness import matrix, peers
from .harness.foreign import Foreign

_numbers = itertools.count()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", type=float, default=6.0, help="seconds of each hard work together")
    parser.addoption("--write-matrix", action="store_true", help="put the table into the docs")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "meets(client, primitive, ours, direction): the matrix")
    pages = matrix.PAGES if config.getoption("--write-matrix") else ()
    config.pluginmanager.register(matrix.Scorer(pages), "scorer")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    matrix.checked(items)
    for item in items:
        if "seconds" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.timeout(float(config.getoption("--soak") or 0) * 4 + 120))


@pytest.fixture
def seconds(request: pytest.FixtureRequest) -> float:
    """How long each hard work together is to last."""
    return float(request.config.getoption("--soak") or 0)


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """One redis-server for all."""
    with RedisServer() as server:
        yield server


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    return redis_server.url


@pytest.fixture
def peek(redis_server: RedisServer) -> Iterator[Any]:
    """A plain look at the server, whose database is empty when the test begins."""
    with raw(redis_server.port) as client:
        client.flushall()
        yield client


@pytest.fixture
def monitor(redis_server: RedisServer, peek: Any) -> Iterator[Monitor]:
    """Everything that the server executes from now on."""
    with Monitor(redis_server.port) as monitor:
        yield monitor


@pytest.fixture
def proxy(redis_server: RedisServer) -> Iterator[FaultProxy]:
    with FaultProxy(redis_server.port) as proxy:
        yield proxy


@pytest.fixture
def name() -> str:
    """A name that no other test uses: what a JVM remembers of a lock outlives a test."""
    return f"k{next(_numbers)}"


@pytest.fixture(params=sorted(WORLDS))
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """Threads, then tasks; whatever a test connects is closed with it."""
    world = WORLDS[request.param]()
    yield world
    world.close()


@pytest.fixture(scope="session")
def jvm(redis_server: RedisServer) -> Iterator[Foreign]:
    """One JVM for every test that does not kill it."""
    with peers.redisson(redis_server.url) as jvm:
        yield jvm


@pytest.fixture
def victim(redis_server: RedisServer) -> Iterator[Foreign]:
    """A JVM that a test may kill; its watchdog keeps leases of 3 s."""
    with peers.redisson(redis_server.url, watchdog=3.0) as jvm:
        yield jvm


@pytest.fixture
def our_victim(redis_server: RedisServer) -> Iterator[Foreign]:
    """A Python process that a test may kill."""
    with peers.ours(redis_server.url) as process:
        yield process


@pytest.fixture
def cast(jvm: Foreign) -> Iterator[peers.Cast]:
    """The actors of a test in the shared JVM; whoever still waits then is dismissed."""
    cast = peers.Cast(jvm)
    yield cast
    cast.close()


@pytest.fixture
def java(cast: peers.Cast) -> peers.Actor:
    """One thread of Java."""
    return cast.actor()
