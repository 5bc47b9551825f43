"""Permits when a question or its answer is lost: no lease too many, and no place left behind."""

from __future__ import annotations

from typing import Any

import pytest

from interlock import StoreUnavailable
from interlock.events import Parked
from interlock.recipes import holding
from tests.support.frames import ZkProxy

from ...support.worlds import World
from .scenes import NEW_NODE, SOON, Recorder, cut_off, eventually, introduced, kazoo_of
from .test_lost_answers import WHAT, lose
from .test_permits_layout import EVERY, holds_only, inside, made, nodes

pytestmark = pytest.mark.server

#: What only the request that makes a lease has in it.
NEW_LEASE = b"-lease-\x00"


def settled(
    world: World, proxy: ZkProxy, path: str, peek: Any, kind: str, **options: Any
) -> tuple[Any, Any]:
    """A client that has used its permit before, and says nothing of its own accord."""
    client = world.connect(proxy.url(path), **options)
    thing = made(client, kind)
    world.do(world.do(thing.acquire).release)
    introduced(peek)
    proxy.mark()
    return client, thing


@WHAT
@EVERY
@pytest.mark.parametrize("of", [NEW_NODE, NEW_LEASE], ids=["place", "lease"])
def test_lost_create_makes_one_node(
    zk_proxy: ZkProxy, world: World, zk_path: str, peek: Any, kind: str, what: str, of: bytes
) -> None:
    _, thing = settled(world, zk_proxy, zk_path, peek, kind)
    lose(zk_proxy, what, of)

    hold = world.do(thing.acquire)

    assert zk_proxy.fired == 1
    holds_only(peek, hold.owner)
    (lease,) = nodes(peek, "leases")
    assert peek.exists(f"/k/leases/{lease}").czxid == hold.token
    assert zk_proxy.requests.count("create2") == (3 if what == "request" else 2)
    world.do(hold.release)
    assert inside(peek) == ([], [])


@WHAT
def test_lost_create_of_a_weight_makes_no_lease_too_many(
    zk_proxy: ZkProxy, world: World, zk_path: str, peek: Any, what: str
) -> None:
    """Of three leases some were made, and nobody knows which."""
    client, _ = settled(world, zk_proxy, zk_path, peek, "semaphore")
    heavy = client.semaphore("k", weight=3)
    world.do(lambda: heavy.set_permits(4))
    lose(zk_proxy, what, NEW_LEASE)

    hold = world.do(heavy.acquire)

    assert zk_proxy.fired == 1
    holds_only(peek, *[hold.owner] * 3)
    world.do(hold.release)
    assert inside(peek) == ([], [])


@WHAT
@EVERY
def test_place_is_left_though_that_was_lost(
    zk_proxy: ZkProxy, world: World, zk_path: str, peek: Any, zk_url: str, kind: str, what: str
) -> None:
    """Nobody awaits it, and yet it must be done: others stand behind."""
    _, thing = settled(world, zk_proxy, zk_path, peek, kind)
    lose(zk_proxy, what, "delete")

    hold = world.do(thing.acquire)

    eventually(lambda: zk_proxy.fired == 1, "nothing was lost")
    holds_only(peek, hold.owner)
    world.do(hold.release)
    assert world.do(lambda: made(world.connect(zk_url), kind).acquire(blocking=False)) is not None


def test_place_is_left_as_soon_as_there_is_a_connection(
    zk_proxy: ZkProxy, world: World, zk_path: str, peek: Any
) -> None:
    """The connection has gone when it is time to leave: the grant does not wait for another."""
    client, thing = settled(world, zk_proxy, zk_path, peek, "mutex")
    zk_proxy.lose_request("delete", times=3)

    hold = world.do(thing.acquire)

    eventually(lambda: zk_proxy.fired == 3, "it is not tried again")
    holds_only(peek, hold.owner)
    assert not hold.lost
    assert kazoo_of(client).connected


@WHAT
@EVERY
def test_lost_release_gives_back_once(
    zk_proxy: ZkProxy, world: World, zk_path: str, peek: Any, kind: str, what: str
) -> None:
    _, thing = settled(world, zk_proxy, zk_path, peek, kind)
    hold = world.do(thing.acquire)
    holds_only(peek, hold.owner)
    lose(zk_proxy, what, "delete")

    world.do(hold.release)

    assert zk_proxy.fired == 1
    assert inside(peek) == ([], [])


@WHAT
@EVERY
@pytest.mark.parametrize("of", [NEW_NODE, NEW_LEASE, "delete"], ids=["place", "lease", "delete"])
def test_try_leaves_nothing_whatever_is_lost(
    zk_proxy: ZkProxy,
    world: World,
    zk_path: str,
    peek: Any,
    zk_url: str,
    kind: str,
    what: str,
    of: str | bytes,
) -> None:
    _, thing = settled(world, zk_proxy, zk_path, peek, kind)
    first = world.do(made(world.connect(zk_url), kind).acquire)
    holds_only(peek, first.owner)
    lose(zk_proxy, what, of)

    outcome = world.start(lambda: thing.acquire(blocking=False))
    assert outcome.exception(SOON) is not None or outcome.result() is None

    assert zk_proxy.fired == 1
    holds_only(peek, first.owner, within=5)


@WHAT
@EVERY
@pytest.mark.parametrize("of", [NEW_NODE, NEW_LEASE], ids=["place", "lease"])
def test_second_loss_is_told_and_leaves_nothing(
    zk_proxy: ZkProxy, world: World, zk_path: str, peek: Any, kind: str, what: str, of: bytes
) -> None:
    """The search is lost as well: the acquisition of one that bears no more than that, as a
    member of a majority does, fails and takes its nodes away."""
    client, thing = settled(world, zk_proxy, zk_path, peek, kind)
    lose(zk_proxy, "reply", of)
    lose(zk_proxy, what, "sync")

    with pytest.raises(StoreUnavailable):
        session, wanted = client._session, thing._request
        wish: Any = {"timeout": SOON, "persists": False}
        world.do(lambda: session.run(holding.acquire(session, wanted, **wish)))

    assert zk_proxy.fired == 2
    assert inside(peek) == ([], [])


@WHAT
@EVERY
@pytest.mark.parametrize("of", [NEW_NODE, NEW_LEASE], ids=["place", "lease"])
def test_second_loss_is_borne_by_who_waits_and_leaves_one_lease(
    zk_proxy: ZkProxy, world: World, zk_path: str, peek: Any, kind: str, what: str, of: bytes
) -> None:
    _, thing = settled(world, zk_proxy, zk_path, peek, kind)
    lose(zk_proxy, "reply", of)
    lose(zk_proxy, what, "sync")

    hold = world.do(thing.acquire)

    assert zk_proxy.fired == 2
    holds_only(peek, hold.owner)
    world.do(hold.release)
    assert inside(peek) == ([], [])


@WHAT
@EVERY
@pytest.mark.parametrize("of", [NEW_LEASE, "getChildren"], ids=["lease", "list"])
def test_waiter_keeps_its_place_whatever_is_lost(
    zk_proxy: ZkProxy,
    world: World,
    zk_path: str,
    peek: Any,
    zk_url: str,
    kind: str,
    what: str,
    of: str | bytes,
) -> None:
    recorder = Recorder()
    _, thing = settled(world, zk_proxy, zk_path, peek, kind, observer=recorder)
    first = world.do(made(world.connect(zk_url), kind).acquire)
    lose(zk_proxy, what, of)

    waiting = world.start(thing.acquire)
    owner = recorder.hear(Parked).owner

    eventually(lambda: zk_proxy.fired == 1, "nothing was lost")  # it may not be awaited
    assert inside(peek) == ([owner], [first.owner, owner])
    world.do(first.release)
    assert waiting.result(SOON).owner == owner
    holds_only(peek, owner)


@EVERY
def test_waiter_is_let_in_by_what_happened_while_it_was_cut_off(
    zk_proxy: ZkProxy, world: World, zk_path: str, peek: Any, zk_url: str, kind: str
) -> None:
    recorder = Recorder()
    client, thing = settled(world, zk_proxy, zk_path, peek, kind, observer=recorder)
    first = world.do(made(world.connect(zk_url), kind).acquire)
    waiting = world.start(thing.acquire)
    owner = recorder.hear(Parked).owner
    cut_off(zk_proxy, client)
    world.do(first.release)

    zk_proxy.refuse(False)

    assert waiting.result(SOON).owner == owner
    holds_only(peek, owner)
