"""A question or its answer is lost: whoever asked finds its own node again, and only that."""

from __future__ import annotations

from typing import Any

import pytest

from interlock import StoreUnavailable
from interlock.events import Parked
from interlock.recipes import holding
from tests.support.frames import ZkProxy

from ...support.worlds import World
from .scenes import NEW_NODE, SOON, Recorder, Waiter, introduced, owners, queue, stands

pytestmark = pytest.mark.server

WHAT = pytest.mark.parametrize("what", ["request", "reply"])


def settled(world: World, proxy: ZkProxy, path: str, peek: Any, **options: Any) -> Any:
    """A client that has used its lock before, and says nothing of its own accord."""
    client = world.connect(proxy.url(path), **options)
    world.do(world.do(client.lock("k").acquire).release)
    introduced(peek)
    proxy.mark()
    return client


def lose(proxy: ZkProxy, what: str, of: str | bytes) -> None:
    getattr(proxy, f"lose_{what}")(of)


@WHAT
def test_lost_create_makes_one_node(
    zk_proxy: ZkProxy, world: World, zk_path: str, peek: Any, what: str
) -> None:
    lock = settled(world, zk_proxy, zk_path, peek).lock("k")
    lose(zk_proxy, what, NEW_NODE)

    hold = world.do(lock.acquire)

    assert owners(peek) == [hold.owner]
    (node,) = queue(peek)
    assert peek.exists(f"/k/{node}").czxid == hold.token
    assert zk_proxy.requests.count("create2") == (2 if what == "request" else 1)
    world.do(hold.release)
    assert queue(peek) == []


@WHAT
def test_lost_list_keeps_the_node(
    zk_proxy: ZkProxy, world: World, zk_path: str, peek: Any, what: str
) -> None:
    lock = settled(world, zk_proxy, zk_path, peek).lock("k")
    lose(zk_proxy, what, "getChildren")

    hold = world.do(lock.acquire)

    assert owners(peek) == [hold.owner]
    assert zk_proxy.requests.count("create2") == 1
    world.do(hold.release)


@WHAT
def test_second_loss_is_told_and_leaves_nothing(
    zk_proxy: ZkProxy, world: World, zk_path: str, peek: Any, what: str
) -> None:
    """The search for the node is lost as well: the acquisition of one that bears no more than
    that, as a member of a majority does, fails and takes its node away."""
    client = settled(world, zk_proxy, zk_path, peek)
    lose(zk_proxy, "reply", NEW_NODE)
    lose(zk_proxy, what, "sync")

    with pytest.raises(StoreUnavailable):
        session, wanted = client._session, client.lock("k")._request
        wish: Any = {"timeout": SOON, "persists": False}
        world.do(lambda: session.run(holding.acquire(session, wanted, **wish)))

    assert zk_proxy.fired == 2
    assert queue(peek) == []


@WHAT
def test_second_loss_is_borne_by_who_waits_and_leaves_one_node(
    zk_proxy: ZkProxy, world: World, zk_path: str, peek: Any, what: str
) -> None:
    lock = settled(world, zk_proxy, zk_path, peek).lock("k")
    lose(zk_proxy, "reply", NEW_NODE)
    lose(zk_proxy, what, "sync")

    hold = world.do(lock.acquire)

    assert zk_proxy.fired == 2
    assert owners(peek) == [hold.owner]
    world.do(hold.release)
    assert queue(peek) == []


@WHAT
def test_lost_delete_gives_the_lock_back_once(
    zk_proxy: ZkProxy, world: World, zk_path: str, peek: Any, what: str, zk_url: str
) -> None:
    hold = world.do(settled(world, zk_proxy, zk_path, peek).lock("k").acquire)
    lose(zk_proxy, what, "delete")

    world.do(hold.release)

    assert zk_proxy.fired == 1
    assert queue(peek) == []
    other = world.connect(zk_url).lock("k")
    assert world.do(lambda: other.acquire(blocking=False)) is not None


@WHAT
@pytest.mark.parametrize("of", [NEW_NODE, "getChildren", "getData"], ids=["create", "list", "get"])
def test_waiter_keeps_one_place_whatever_is_lost(
    zk_proxy: ZkProxy,
    world: World,
    zk_path: str,
    peek: Any,
    zk_url: str,
    what: str,
    of: str | bytes,
) -> None:
    recorder = Recorder()
    client = settled(world, zk_proxy, zk_path, peek, observer=recorder)
    first = world.do(world.connect(zk_url).lock("k").acquire)
    lose(zk_proxy, what, of)

    waiting = world.start(client.lock("k").acquire)
    owner = recorder.hear(Parked).owner

    assert zk_proxy.fired == 1
    assert owners(peek) == [first.owner, owner]
    place = queue(peek)[1]
    behind = Waiter(world, zk_url)
    world.do(first.release)
    hold = waiting.result(SOON)
    assert queue(peek)[0] == place
    assert owners(peek) == [owner, behind.owner]
    world.do(hold.release)
    behind.leave()


@WHAT
def test_waiter_that_gives_up_over_a_lost_delete_leaves_nothing(
    zk_proxy: ZkProxy, world: World, zk_path: str, peek: Any, zk_url: str, what: str
) -> None:
    client = settled(world, zk_proxy, zk_path, peek)
    first = world.do(world.connect(zk_url).lock("k").acquire)
    lose(zk_proxy, what, "delete")

    with pytest.raises(TimeoutError):
        world.do(lambda: client.lock("k").acquire(timeout=0.1))

    assert zk_proxy.fired == 1
    stands(peek, [first.owner], within=5)


@WHAT
@pytest.mark.parametrize("of", [NEW_NODE, "getChildren", "delete"], ids=["create", "list", "del"])
def test_try_leaves_nothing_whatever_is_lost(
    zk_proxy: ZkProxy,
    world: World,
    zk_path: str,
    peek: Any,
    zk_url: str,
    what: str,
    of: str | bytes,
) -> None:
    """A try is over after the first trouble, with an error or without; it never stays behind."""
    client = settled(world, zk_proxy, zk_path, peek)
    first = world.do(world.connect(zk_url).lock("k").acquire)
    lose(zk_proxy, what, of)

    outcome = world.start(lambda: client.lock("k").acquire(blocking=False))
    assert outcome.exception(SOON) is not None or outcome.result() is None

    assert zk_proxy.fired == 1
    stands(peek, [first.owner], within=5)
