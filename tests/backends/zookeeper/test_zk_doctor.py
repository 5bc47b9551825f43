"""What a client finds of ZooKeeper: what could make its locks unsafe, servers do not tell."""

from __future__ import annotations

import pytest

from ...support.worlds import World

pytestmark = pytest.mark.server


def test_nothing_is_found(world: World, zk_url: str) -> None:
    assert world.do(world.connect(zk_url).doctor) == ()
