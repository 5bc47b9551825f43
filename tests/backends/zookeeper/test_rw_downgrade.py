"""A writer that reads on: it keeps its place, whatever is lost on the way."""

from __future__ import annotations

from typing import Any

import pytest

from interlock import LockLost, StoreError
from tests.support.frames import ZkProxy

from ...support.worlds import World
from .test_rw import introduced, java, nodes, queued, tries

pytestmark = pytest.mark.server


def writes(world: World, url: str) -> Any:
    return world.do(world.connect(url).rwlock("cache").write().acquire)


# --- its place --------------------------------------------------------------------------------


def test_reader_bears_the_number_of_the_writer(world: World, zk_url: str, peek: Any) -> None:
    java(peek, "__READ__")
    peek.delete(f"/cache/{peek.get_children('/cache')[0]}")
    hold = writes(world, zk_url)
    (writer,) = peek.get_children("/cache")
    session = peek.exists(f"/cache/{writer}").ephemeralOwner
    token = hold.token

    world.do(hold.downgrade)

    (reader,) = peek.get_children("/cache")
    assert reader == writer.replace("__WRIT__", "__READ__")
    assert reader.endswith("__READ__0000000001")
    data, stat = peek.get(f"/cache/{reader}")
    assert (data, stat.ephemeralOwner) == (b"", session)
    assert hold.token == token < stat.czxid
    world.do(hold.release)
    assert nodes(peek) == []


def test_downgrade_costs_one_round_trip(
    zk_proxy: ZkProxy, world: World, zk_path: str, peek: Any
) -> None:
    hold = writes(world, zk_proxy.url(zk_path))
    introduced(peek)
    zk_proxy.delay(up=0.02, down=0.02)
    zk_proxy.mark()

    world.do(hold.downgrade)

    assert (zk_proxy.requests, zk_proxy.round_trips()) == (["create2", "delete"], 1)
    zk_proxy.mark()
    world.do(hold.release)
    assert zk_proxy.requests == ["delete"]


def test_readers_up_to_the_next_writer_are_let_in(world: World, zk_url: str, peek: Any) -> None:
    hold = writes(world, zk_url)
    waiting = []
    for mode in ("read", "write", "read"):
        side = getattr(world.connect(zk_url).rwlock("cache"), mode)()
        waiting.append(world.start(side.acquire))
        queued(peek, len(waiting) + 1)
    before, writer, behind = waiting

    world.do(hold.downgrade)
    reading = before.result(20)
    assert tries(world, world.connect(zk_url).rwlock("cache").read()) is None
    assert not writer.done() and not behind.done()

    world.do(hold.release)
    world.do(reading.release)
    writing = writer.result(20)
    assert writing.token > hold.token
    assert not behind.done()
    world.do(writing.release)
    assert behind.result(20).token > writing.token


def test_writer_of_java_waits_until_the_reader_has_gone(
    world: World, zk_url: str, peek: Any
) -> None:
    hold = writes(world, zk_url)
    java(peek, "__WRIT__")

    world.do(hold.downgrade)

    assert nodes(peek) == ["__READ__0000000000", "__WRIT__0000000001"]


# --- lost on the way --------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["request", "reply"])
@pytest.mark.parametrize("of", ["create2", "delete"])
def test_downgrade_is_said_until_it_is_heard(
    zk_proxy: ZkProxy, world: World, zk_path: str, zk_url: str, peek: Any, what: str, of: str
) -> None:
    hold = writes(world, zk_proxy.url(zk_path))
    introduced(peek)
    getattr(zk_proxy, f"lose_{what}")(of)

    world.do(hold.downgrade)

    assert zk_proxy.fired == 1
    assert (hold.mode, nodes(peek)) == ("read", ["__READ__0000000000"])
    world.do(tries(world, world.connect(zk_url).rwlock("cache").read()).release)
    world.do(hold.release)
    assert nodes(peek) == []


def test_half_a_downgrade_leaves_one_writer_and_then_nothing(
    zk_proxy: ZkProxy, world: World, zk_path: str, peek: Any, zk_url: str
) -> None:
    hold = writes(world, zk_proxy.url(zk_path))
    zk_proxy.lose_request("delete", times=3)

    with pytest.raises(StoreError, match="did not confirm"):
        world.do(hold.downgrade)

    assert set(nodes(peek)) == {"__READ__0000000000", "__WRIT__0000000000"}
    info = world.do(lambda: world.connect(zk_url).inspect("cache"))
    assert [(each.owner, each.mode) for each in info.holders] == [(hold.owner, "write")]
    assert info.waiters == 0
    world.do(hold.release)
    assert nodes(peek) == []


def test_writer_whose_node_was_taken_away_cannot_read_on(
    world: World, zk_url: str, peek: Any
) -> None:
    hold = writes(world, zk_url)
    peek.delete(f"/cache/{peek.get_children('/cache')[0]}")

    with pytest.raises(LockLost):
        world.do(hold.downgrade)

    assert nodes(peek) == []
