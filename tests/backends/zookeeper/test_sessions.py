"""A session ends, or is replaced: what was of it is lost, and nobody is granted by its nodes."""

from __future__ import annotations

from typing import Any

import pytest

from interlock import LockLost
from interlock.events import Lost
from tests.support.frames import ZkProxy
from tests.support.zookeepers import ZooKeeperServer

from ...support.worlds import World
from .scenes import (
    NEW_NODE,
    SOON,
    Departure,
    Recorder,
    Waiter,
    cut_off,
    eventually,
    expire,
    forget_session,
    introduced,
    kazoo_of,
    owners,
    queue,
    stands,
    transport_of,
)

pytestmark = pytest.mark.server

# --- a session that the servers ended ---------------------------------------------------------


def test_holder_of_an_ended_session_learns_why(
    zookeeper: ZooKeeperServer, world: World, zk_url: str, peek: Any
) -> None:
    recorder = Recorder()
    client = world.connect(zk_url, observer=recorder)
    hold = world.do(client.lock("k").acquire)

    expire(client, zookeeper.hosts)

    assert recorder.hear(Lost).cause == "its session with the servers has ended"
    assert hold.lost
    with pytest.raises(LockLost, match="its session with the servers has ended"):
        world.do(hold.release)
    assert queue(peek) == []


def test_late_release_never_touches_the_next_sessions_node(
    zookeeper: ZooKeeperServer, world: World, zk_url: str, peek: Any
) -> None:
    recorder = Recorder()
    client = world.connect(zk_url, observer=recorder)
    old = world.do(client.lock("k").acquire)
    expire(client, zookeeper.hosts)
    recorder.hear(Lost)
    new = world.do(client.lock("k").acquire)

    with pytest.raises(LockLost):
        world.do(old.release)

    assert owners(peek) == [new.owner]
    assert not new.lost
    assert new.token > old.token
    world.do(new.release)
    assert queue(peek) == []


def test_waiter_of_an_ended_session_goes_to_the_end(
    zk_proxy: ZkProxy, world: World, zk_path: str, zk_url: str, peek: Any
) -> None:
    """Its node goes when the servers have not heard of it for long enough."""
    first = world.do(world.connect(zk_url).lock("k").acquire)
    second = Waiter(world, zk_proxy.url(zk_path) + "?session_timeout=1")
    third = Waiter(world, zk_url)
    gone = Departure(peek, f"/k/{queue(peek)[1]}")

    cut_off(zk_proxy, second.client)
    gone.wait()
    assert owners(peek) == [first.owner, third.owner]
    zk_proxy.refuse(False)

    stands(peek, [first.owner, third.owner, second.owner])
    assert not second.granted
    world.do(first.release)
    token = third.hold().token
    third.leave()
    assert second.hold().token > token
    second.leave()
    assert queue(peek) == []


def test_waiter_is_not_disturbed_when_somebody_elses_session_ends(
    zookeeper: ZooKeeperServer, world: World, zk_url: str, peek: Any
) -> None:
    first = world.do(world.connect(zk_url).lock("k").acquire)
    second, third = Waiter(world, zk_url), Waiter(world, zk_url)
    place = queue(peek)[2]

    expire(second.client, zookeeper.hosts)

    stands(peek, [first.owner, third.owner, second.owner])
    assert queue(peek)[1] == place
    world.do(first.release)
    third.leave()
    second.leave()


# --- a session that was replaced while the servers still keep its nodes -----------------------


def test_waiter_is_never_granted_by_the_node_of_a_dying_session(
    zk_proxy: ZkProxy, world: World, zk_path: str, zk_url: str, peek: Any
) -> None:
    """Its old node is the first of the queue when it comes back, and will be gone in a moment."""
    first = world.do(world.connect(zk_url).lock("k").acquire)
    second = Waiter(world, zk_proxy.url(zk_path))
    third = Waiter(world, zk_url)
    old = queue(peek)[1]
    dying = peek.exists(f"/k/{old}").ephemeralOwner

    cut_off(zk_proxy, second.client)
    world.do(first.release)
    forget_session(second.client)
    zk_proxy.refuse(False)

    held = third.hold()
    stands(peek, [third.owner, second.owner])
    assert old not in queue(peek)
    assert not second.granted
    world.do(held.release)
    assert second.hold().token > held.token
    (node,) = queue(peek)
    assert peek.exists(f"/k/{node}").ephemeralOwner not in (0, dying)
    second.leave()


def test_node_of_a_lost_create_is_not_adopted_by_the_next_session(
    zk_proxy: ZkProxy, world: World, zk_path: str, zk_url: str, peek: Any
) -> None:
    client = world.connect(zk_proxy.url(zk_path))
    world.do(world.do(client.lock("k").acquire).release)
    introduced(peek)
    zk_proxy.lose_reply(NEW_NODE)
    zk_proxy.refuse()

    waiting = world.start(client.lock("k").acquire)
    (old,) = eventually(lambda: queue(peek), "no node was made")
    eventually(lambda: not client._session.link._transport.connected, "still connected")
    dying = peek.exists(f"/k/{old}").ephemeralOwner
    forget_session(client)
    zk_proxy.refuse(False)

    hold = waiting.result(SOON)
    (new,) = queue(peek)
    assert new != old
    stat = peek.exists(f"/k/{new}")
    assert stat.ephemeralOwner != dying
    assert stat.czxid == hold.token
    world.do(hold.release)


def test_holder_whose_session_was_replaced_has_lost_and_leaves_no_node(
    zk_proxy: ZkProxy, world: World, zk_path: str, zk_url: str, peek: Any
) -> None:
    """Its node would stay for a minute, so that nobody else could have the lock."""
    recorder = Recorder()
    client = world.connect(f"{zk_proxy.url(zk_path)}?session_timeout=60", observer=recorder)
    hold = world.do(client.lock("k").acquire)
    behind = Waiter(world, zk_url)

    cut_off(zk_proxy, client)
    forget_session(client)
    zk_proxy.refuse(False)

    assert recorder.hear(Lost).cause == "its session with the servers has ended"
    assert hold.lost
    behind.leave()
    assert queue(peek) == []


def test_session_is_known_while_the_connection_is_away(
    zk_proxy: ZkProxy, world: World, zk_path: str
) -> None:
    """An answer that needs no server then belongs to it, and costs no hold."""
    client = world.connect(zk_proxy.url(zk_path))
    hold = world.do(client.lock("k").acquire)
    session = kazoo_of(client).client_id[0]
    assert transport_of(client).session == session

    cut_off(zk_proxy, client)

    assert transport_of(client).session == session
    zk_proxy.refuse(False)
    world.do(hold.release)
