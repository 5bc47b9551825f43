"""Worlds, and a look from outside, for the tests of the ZooKeeper backend."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.zookeepers import ZooKeeperServer

from ...support.worlds import WORLDS, World
from .asked import Connect
from .bare import bare


@pytest.fixture(params=sorted(WORLDS))
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """Threads, then tasks; whatever a test connects is closed with it."""
    world = WORLDS[request.param]()
    yield world
    world.close()


@pytest.fixture
def peek(zookeeper: ZooKeeperServer, zk_path: str) -> Iterator[Any]:
    """Plain kazoo below the path of this test, which is empty."""
    with bare(zookeeper.hosts) as client:
        client.ensure_path(zk_path)
        client.chroot = zk_path
        yield client


@pytest.fixture
def connect(world: World, zk_url: str) -> Connect:
    """Make clients whose keepers look by themselves only after some ten seconds."""
    return lambda: world.connect(f"{zk_url}?session_timeout=60")
