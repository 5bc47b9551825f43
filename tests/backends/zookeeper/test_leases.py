"""What an onlooker is told of the end of a hold: its lease, or its session if that is shorter."""

from __future__ import annotations

from typing import Any

import pytest
from kazoo.security import make_acl

from tests.support.frames import ZkProxy

from ...support.worlds import World
from .asked import JAVA, Connect
from .scenes import eventually, introduced

pytestmark = pytest.mark.server

#: Seconds of a session here: see `connect`.
SESSION = 60.0

LEASE = 5.0


def made(client: Any, kind: str, **terms: Any) -> Any:
    """A thing of a kind, called k."""
    if kind in ("read", "write"):
        return getattr(client.rwlock("k", **terms), kind)()
    if "semaphore" in kind:
        return getattr(client, kind)("k", permits=2, **terms)
    return getattr(client, kind)("k", **terms)


KINDS = ["lock", "mutex", "read", "write", "semaphore", "leased_semaphore"]


def told(world: World, client: Any) -> float:
    """What `inspect` says, of the name and of its only holder alike."""
    info = world.do(lambda: client.inspect("k"))
    (holder,) = info.holders
    assert holder.expires_in == info.expires_in
    return float(info.expires_in)


@pytest.mark.parametrize("renew", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_lease_that_is_shorter_than_the_session_is_seen_by_others(
    world: World, connect: Connect, kind: str, renew: bool
) -> None:
    world.do(made(connect(), kind, lease=LEASE, renew=renew).acquire)

    assert told(world, connect()) == LEASE


@pytest.mark.parametrize("kind", KINDS)
def test_holder_knows_when_its_own_hold_ends(world: World, connect: Connect, kind: str) -> None:
    client = connect()
    hold = world.do(made(client, kind, lease=LEASE, renew=False).acquire)

    first = told(world, client)

    assert first <= LEASE
    assert first == pytest.approx(hold.expires_in, abs=0.5)
    eventually(lambda: told(world, client) < first - 0.5, "it does not pass")


def test_hold_that_was_renewed_ends_later(world: World, connect: Connect) -> None:
    client = connect()
    hold = world.do(client.lock("k", lease=1.5).acquire)
    until = hold._lease.until
    eventually(lambda: hold._lease.until > until, "it is not renewed")

    assert told(world, client) == pytest.approx(hold.expires_in, abs=0.3)


def test_lease_that_is_longer_than_the_session_is_as_long_as_that(
    world: World, connect: Connect, peek: Any
) -> None:
    hold = world.do(connect().lock("k", lease=2 * SESSION).acquire)
    introduced(peek)

    assert told(world, connect()) == SESSION
    assert hold.expires_in <= SESSION


def test_writer_that_reads_on_has_its_lease(world: World, connect: Connect) -> None:
    hold = world.do(connect().rwlock("k", lease=LEASE).write().acquire)
    world.do(hold.downgrade)

    assert told(world, connect()) == LEASE


def test_several_holders_end_when_each_does(world: World, connect: Connect) -> None:
    for lease in (LEASE, 3 * LEASE):
        world.do(connect().rwlock("k", lease=lease).read().acquire)

    info = world.do(lambda: connect().inspect("k"))

    assert sorted(each.expires_in for each in info.holders) == [LEASE, 3 * LEASE]
    assert info.expires_in == LEASE


def test_of_javas_holds_nothing_is_known(world: World, connect: Connect, peek: Any) -> None:
    peek.create(f"/k/{JAVA}-lock-", b'{"lease": 5}', ephemeral=True, sequence=True, makepath=True)

    assert world.do(lambda: connect().inspect("k")).expires_in is None


NONSENSE = [b"x", b"[]", b"null", b'{"lease": "5"}', b'{"lease": -1}', b'{"lease": true}', b"\xff"]


@pytest.mark.parametrize("nonsense", [*NONSENSE, b"__REVOKE__"])
def test_nonsense_in_a_node_leaves_the_session(
    world: World, connect: Connect, peek: Any, nonsense: bytes
) -> None:
    world.do(connect().lock("k", lease=LEASE).acquire)
    introduced(peek)
    (node,) = peek.get_children("/k")
    peek.set(f"/k/{node}", nonsense)

    assert told(world, connect()) == SESSION


def test_node_that_we_may_not_read_leaves_the_session(
    world: World, connect: Connect, peek: Any
) -> None:
    world.do(connect().lock("k", lease=LEASE).acquire)
    introduced(peek)
    (node,) = peek.get_children("/k")
    peek.set_acls(f"/k/{node}", [make_acl("world", "anyone", delete=True)])

    assert told(world, connect()) == SESSION


def test_it_costs_no_round_trip(
    world: World, connect: Connect, zk_proxy: ZkProxy, zk_path: str
) -> None:
    world.do(connect().lock("k", lease=LEASE).acquire)
    onlooker = world.connect(zk_proxy.url(zk_path))
    world.do(lambda: onlooker.inspect("other"))
    zk_proxy.delay(up=0.02, down=0.02)
    zk_proxy.mark()

    world.do(lambda: onlooker.inspect("k"))

    assert zk_proxy.requests == ["getChildren", "getChildren", "exists", "getData", "getData"]
    assert zk_proxy.round_trips() == 4
