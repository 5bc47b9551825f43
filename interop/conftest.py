"""The servers and one JVM for all tests of a mode; options; and the table at the end."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from tests.backends.redis.watching import Monitor
from tests.support.faults import FaultProxy
from tests.support.worlds import WORLDS, World

from .harness import matrix, modes, peers
from .harness.foreign import Foreign

_numbers = itertools.count()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", type=float, default=6.0, help="seconds of each hard work together")
    parser.addoption("--write-matrix", action="store_true", help="put the table into the docs")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "meets(client, primitive, ours, direction): the matrix")
    config.addinivalue_line("markers", "modes(*names): on which servers a test is run")
    pages = matrix.PAGES if config.getoption("--write-matrix") else ()
    config.pluginmanager.register(matrix.Scorer(pages), "scorer")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    matrix.checked(items)
    for item in items:
        if "seconds" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.timeout(float(config.getoption("--soak") or 0) * 4 + 120))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """All tests of one mode come one after another, so that its servers are started once."""
    if "mode" in metafunc.fixturenames:
        mark = metafunc.definition.get_closest_marker("modes")
        chosen = mark.args if mark else ("single",)
        metafunc.parametrize("mode", chosen, indirect=True, scope="session")


@pytest.fixture
def seconds(request: pytest.FixtureRequest) -> float:
    """How long each hard work together is to last."""
    return float(request.config.getoption("--soak") or 0)


@pytest.fixture(scope="session")
def mode(request: pytest.FixtureRequest) -> str:
    """One server, Sentinels, or a cluster."""
    return str(request.param)


@pytest.fixture(scope="session")
def servers(mode: str) -> Iterator[modes.Servers]:
    """The servers of a mode, for all of its tests."""
    with modes.MODES[mode]() as servers:
        yield servers


@pytest.fixture
def redis_url(servers: modes.Servers) -> str:
    return servers.url


@pytest.fixture
def peek(servers: modes.Servers) -> Iterator[Any]:
    """A plain look at the servers, whose database is empty when the test begins."""
    with servers.peek() as client:
        client.flushall()
        yield client


@pytest.fixture
def monitor(servers: modes.Servers, name: str, peek: Any) -> Iterator[Monitor]:
    """Everything that the server of the name executes from now on."""
    with Monitor(servers.port_of(name)) as monitor:
        yield monitor


@pytest.fixture
def proxy(servers: modes.Servers, name: str) -> Iterator[FaultProxy]:
    with FaultProxy(servers.port_of(name)) as proxy:
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
def jvm(servers: modes.Servers) -> Iterator[Foreign]:
    """One JVM for every test of a mode that does not kill it."""
    with peers.redisson(servers.url) as jvm:
        yield jvm


@pytest.fixture
def victim(servers: modes.Servers) -> Iterator[Foreign]:
    """A JVM that a test may kill; its watchdog keeps leases of 3 s."""
    with peers.redisson(servers.url, watchdog=3.0) as jvm:
        yield jvm


@pytest.fixture
def our_victim(servers: modes.Servers) -> Iterator[Foreign]:
    """A Python process that a test may kill."""
    with peers.ours(servers.url) as process:
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
