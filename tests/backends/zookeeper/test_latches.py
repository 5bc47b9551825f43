"""Latches on ZooKeeper: how they are written down, and what a lost message does to them."""

from __future__ import annotations

import json
from typing import Any
from unittest.mock import patch

import pytest

from interlock import StoreMisconfigured
from interlock.recipes import lock as recipe
from tests.support.frames import ZkProxy

from ...support.eventually import eventually
from ...support.worlds import World

pytestmark = pytest.mark.server

SOON = 5.0


def told(peek: Any) -> Any:
    """What the node of the latch says."""
    return json.loads(peek.get("/k/latch%")[0])


# --- the layout -------------------------------------------------------------------------------


def test_latch_is_a_persistent_node_that_says_how_many_are_left(
    world: World, zk_url: str, peek: Any
) -> None:
    client = world.connect(zk_url)

    world.do(lambda: client.latch("k").start(3))

    assert told(peek) == {"count": 3, "counted": []}
    assert peek.get_children("/k") == ["latch%"]
    assert peek.exists("/k/latch%").ephemeralOwner == 0


def test_whoever_counted_is_written_down(world: World, zk_url: str, peek: Any) -> None:
    latch = world.connect(zk_url).latch("k")
    world.do(lambda: latch.start(3))

    assert [world.do(latch.count_down) for _ in range(2)] == [2, 1]

    assert told(peek)["count"] == 1
    first, second = told(peek)["counted"]
    assert first != second
    assert first[14] == second[14] == "8"  # UUIDs of ours are of this version


def test_latch_that_is_down_leaves_nothing_but_a_container(
    world: World, zk_path: str, zk_proxy: ZkProxy, peek: Any
) -> None:
    latch = world.connect(zk_proxy.url(zk_path)).latch("k")

    world.do(lambda: latch.start(1))
    assert world.do(latch.count_down) == 0

    assert peek.get_children("/k") == []
    assert zk_proxy.requests.count("createContainer") >= 1


def test_latch_outlives_whoever_set_it(world: World, zk_url: str) -> None:
    client = world.connect(zk_url)
    world.do(lambda: client.latch("k").start(2))
    world.close_client(client)

    assert world.do(world.connect(zk_url).latch("k").count_down) == 1


@pytest.mark.parametrize("data", [b"", b"127.0.0.1", b"\xff", b"[]", b"{}", b'{"count": 1}'])
def test_node_of_somebody_else_is_no_latch(
    world: World, zk_url: str, peek: Any, data: bytes
) -> None:
    peek.create("/k/latch%", data, makepath=True)
    latch = world.connect(zk_url).latch("k")

    for act in (lambda: latch.start(1), latch.count_down, latch.wait):
        with pytest.raises(StoreMisconfigured, match=r"/k/latch% holds no count.*'k'"):
            world.do(act)

    assert peek.get("/k/latch%")[0] == data


# --- lost messages ----------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["lose_reply", "lose_request"])
@pytest.mark.parametrize(("count", "request_name"), [(3, "setData"), (1, "delete")])
def test_count_is_counted_once_whatever_is_lost(
    world: World, zk_url: str, zk_path: str, zk_proxy: ZkProxy, peek: Any, count: int,
    request_name: str, fault: str,
) -> None:  # fmt: skip
    latch = world.connect(zk_proxy.url(zk_path)).latch("k")
    world.do(lambda: latch.start(count))
    getattr(zk_proxy, fault)(request_name)

    assert world.do(latch.count_down) == count - 1

    other = world.connect(zk_url).latch("k")
    assert world.do(lambda: other.count()) == count - 1


def test_who_waits_passes_when_the_latch_opened_while_it_was_cut_off(
    world: World, zk_url: str, zk_path: str, zk_proxy: ZkProxy
) -> None:
    latch, other = (
        world.connect(zk_proxy.url(zk_path)).latch("k"),
        world.connect(zk_url).latch("k"),
    )
    world.do(lambda: other.start(1))
    with patch.object(recipe, "POLL_CAP", 600.0):
        coming = world.start(latch.wait)
        eventually(lambda: zk_proxy.requests.count("getChildren") == 2)

        zk_proxy.refuse()
        zk_proxy.cut()
        assert world.do(other.count_down) == 0
        zk_proxy.refuse(False)

        assert coming.result(SOON) is True


def test_who_waits_asks_again_only_after_the_last_count(
    world: World, zk_url: str, zk_path: str, zk_proxy: ZkProxy
) -> None:
    latch, other = (
        world.connect(zk_proxy.url(zk_path)).latch("k"),
        world.connect(zk_url).latch("k"),
    )
    world.do(lambda: other.start(4))
    with patch.object(recipe, "POLL_CAP", 600.0):
        coming = world.start(latch.wait)
        eventually(lambda: zk_proxy.requests.count("getData") == 2)
        zk_proxy.mark()

        assert [world.do(other.count_down) for _ in range(4)] == [3, 2, 1, 0]

        assert coming.result(SOON) is True
    assert zk_proxy.requests == ["getChildren", "getData"]
