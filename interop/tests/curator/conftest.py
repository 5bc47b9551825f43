"""One ZooKeeper for all, and a JVM of each version of Curator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.backends.zookeeper.bare import bare
from tests.support.frames import ZkProxy
from tests.support.worlds import World
from tests.support.zookeepers import ZooKeeperServer

from ...harness.curators import curator
from ...harness.foreign import Foreign
from ...harness.peers import Cast
from .meeting import Meeting

#: Sessions of those whose end a test awaits: as short as the server's ticks allow.
BRIEF_MS = 1_000


@pytest.fixture(scope="session")
def zookeeper() -> Iterator[ZooKeeperServer]:
    """One server for every test that does not disturb it."""
    with ZooKeeperServer(tick_ms=500) as server:
        yield server


@pytest.fixture(scope="session", params=["newest", "debian"])
def version(request: pytest.FixtureRequest) -> str:
    """Which Curator."""
    return str(request.param)


@pytest.fixture(scope="session")
def jvm(zookeeper: ZooKeeperServer, version: str) -> Iterator[Foreign]:
    """One JVM of a version for every test that does not kill it."""
    with curator(zookeeper.hosts, debian=version == "debian") as jvm:
        yield jvm


@pytest.fixture
def victim(zookeeper: ZooKeeperServer, version: str) -> Iterator[Foreign]:
    """A JVM that a test may kill, with a session of 1 s."""
    with curator(zookeeper.hosts, session_ms=BRIEF_MS, debian=version == "debian") as jvm:
        yield jvm


@pytest.fixture
def path(name: str) -> str:
    """Where a thing is that no other test uses."""
    return f"/interop/{name}"


@pytest.fixture
def url(zookeeper: ZooKeeperServer) -> str:
    """The shared server for ours, without a chroot: names are paths, as Java's are."""
    return zookeeper.url()


@pytest.fixture
def peek(zookeeper: ZooKeeperServer) -> Iterator[Any]:
    """A plain look at the tree with kazoo, which takes part in nothing."""
    with bare(zookeeper.hosts) as client:
        yield client


@pytest.fixture
def zk_proxy(zookeeper: ZooKeeperServer) -> Iterator[ZkProxy]:
    """A proxy before the shared server."""
    with ZkProxy(zookeeper.port) as proxy:
        yield proxy


@pytest.fixture
def meeting(cast: Cast, world: World, zookeeper: ZooKeeperServer, peek: Any, path: str) -> Meeting:
    """People of both sides who want the same thing."""
    return Meeting(cast, world, zookeeper, peek, path)
