"""Worlds, and a look from outside, for the tests of the ZooKeeper backend."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from interlock.testing.zookeepers import ZooKeeperServer

from ..redis.worlds import WORLDS, World
from .bare import bare


@pytest.fixture(params=sorted(WORLDS))
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """Threads, then tasks; whatever a test connects is closed with it."""
    world = WORLDS[request.param]()
    yield world
    world.close()


@pytest.fixture
def peek(zookeeper: ZooKeeperServer, zk_path: str) -> Iterator[Any]:
    """Plain kazoo below the path of this test, which is not there yet."""
    with bare(zookeeper.hosts + zk_path) as client:
        yield client
