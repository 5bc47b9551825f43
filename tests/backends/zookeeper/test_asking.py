"""Asking for what others hold, in Curator's manner; and taking it, whoever they are."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from interlock import Unsupported
from interlock.backends.zookeeper.locks import REVOKE
from interlock.events import Asked, Event
from interlock.testing.frames import ZkProxy

from ..redis.watching import eventually
from ..redis.worlds import World

pytestmark = pytest.mark.server

JAVA = "_c_a3a30f1f-ae02-4944-b84e-7064953fffa9"

#: Long before a keeper would look by itself; only a busy machine needs so much.
AT_ONCE = 3.0

Connect: TypeAlias = Callable[[], Any]


@pytest.fixture
def connect(world: World, zk_url: str) -> Connect:
    """Make clients whose keepers look by themselves only after twenty seconds."""
    return lambda: world.connect(f"{zk_url}?session_timeout=60")


def taken(world: World, lock: Any) -> Any:
    return world.do(lock.acquire)


def heard_by(world: World, hold: Any) -> queue.SimpleQueue[Any]:
    """What a callback of this hold is told."""
    heard: queue.SimpleQueue[Any] = queue.SimpleQueue()
    world.do(lambda: hold.on_asked(heard.put))
    return heard


def said(peek: Any, name: str = "k") -> list[bytes]:
    """What the nodes of a lock say, in the order of their queue."""
    nodes = sorted(peek.get_children(f"/{name}"), key=lambda node: node[-10:])
    return [peek.get(f"/{name}/{node}")[0] for node in nodes]


def stranger(peek: Any, node: str, name: str = "k") -> str:
    """A node as somebody else makes it."""
    path: str = peek.create(
        f"/{name}/{node}", b"127.0.0.1", ephemeral=True, sequence=True, makepath=True
    )
    return path


# --- asking -----------------------------------------------------------------------------------


def test_holder_hears_at_once_that_somebody_asks(world: World, connect: Connect) -> None:
    hold = taken(world, connect().lock("k"))
    heard = heard_by(world, hold)
    assert not hold.asked

    assert world.do(lambda: connect().ask_back("k")) == 1

    assert heard.get(timeout=AT_ONCE) is hold
    assert hold.asked
    assert not hold.lost


def test_each_of_two_clients_can_ask_the_other(world: World, connect: Connect) -> None:
    alice, bob = connect(), connect()
    heard = [
        heard_by(world, taken(world, client.lock(name)))
        for client, name in ((alice, "a"), (bob, "b"))
    ]

    assert world.do(lambda: alice.ask_back("b")) == world.do(lambda: bob.ask_back("a")) == 1

    assert [each.get(timeout=AT_ONCE).name for each in heard] == ["a", "b"]


def test_who_gives_it_back_lets_the_next_one_have_it(world: World, connect: Connect) -> None:
    hold = taken(world, connect().lock("k"))
    heard = heard_by(world, hold)
    bob = connect()
    coming = world.start(bob.lock("k").acquire)

    world.do(lambda: bob.ask_back("k"))
    world.do(heard.get(timeout=AT_ONCE).release)

    assert coming.result(AT_ONCE).token > hold.token


def test_who_begins_to_listen_later_is_told_as_well(world: World, connect: Connect) -> None:
    hold = taken(world, connect().lock("k"))
    world.do(lambda: connect().ask_back("k"))

    first = heard_by(world, hold)
    assert first.get(timeout=AT_ONCE) is hold
    second = heard_by(world, hold)

    assert second.get(timeout=AT_ONCE) is hold
    assert first.empty()


def test_observer_is_told_once_however_often_somebody_asks(
    world: World, connect: Connect, zk_url: str, peek: Any
) -> None:
    events: list[Event] = []
    hold = taken(
        world, world.connect(f"{zk_url}?session_timeout=60", observer=events.append).lock("k")
    )
    heard = heard_by(world, hold)
    other = connect()

    for _ in range(3):
        assert world.do(lambda: other.ask_back("k")) == 1
    heard.get(timeout=AT_ONCE)
    world.do(hold.release)

    assert [event for event in events if isinstance(event, Asked)] == [
        Asked("k", hold.owner, hold.token)
    ]
    assert heard.empty()


def test_only_who_holds_is_asked(world: World, connect: Connect, peek: Any) -> None:
    hold = taken(world, connect().lock("k"))
    coming = world.start(connect().lock("k").acquire)
    eventually(lambda: len(said(peek)) == 2)
    assert said(peek) == [b"", b""]

    assert world.do(lambda: connect().ask_back("k")) == 1

    assert said(peek) == [REVOKE, b""]
    world.do(hold.release)
    assert not coming.result(AT_ONCE).asked


def test_every_reader_is_asked_and_no_writer_that_waits(
    world: World, connect: Connect, peek: Any
) -> None:
    holds = [taken(world, connect().rwlock("k").read()) for _ in range(2)]
    heard = [heard_by(world, hold) for hold in holds]
    coming = world.start(connect().rwlock("k").write().acquire)
    eventually(lambda: len(said(peek)) == 3)

    assert world.do(lambda: connect().ask_back("k")) == 2

    assert [each.get(timeout=AT_ONCE) for each in heard] == holds
    assert said(peek) == [REVOKE, REVOKE, b""]
    for hold in holds:
        world.do(hold.release)
    assert not coming.result(AT_ONCE).asked


def test_writer_is_asked(world: World, connect: Connect) -> None:
    heard = heard_by(world, taken(world, connect().rwlock("k").write()))

    assert world.do(lambda: connect().ask_back("k")) == 1

    assert heard.get(timeout=AT_ONCE).asked


def test_nobody_is_asked_for_what_is_free(world: World, connect: Connect) -> None:
    client = connect()
    assert world.do(lambda: client.ask_back("k")) == 0
    world.do(taken(world, client.lock("k")).release)

    assert world.do(lambda: client.ask_back("k")) == 0


@pytest.mark.parametrize("lost", ["lose_reply", "lose_request"])
def test_who_was_asked_is_counted_even_if_a_message_was_lost(
    world: World, connect: Connect, zk_proxy: ZkProxy, zk_path: str, lost: str
) -> None:
    heard = heard_by(world, taken(world, connect().lock("k")))
    asking = world.connect(zk_proxy.url(zk_path))
    world.do(lambda: asking.inspect("k"))
    getattr(zk_proxy, lost)("setData")

    assert world.do(lambda: asking.ask_back("k")) == 1

    assert heard.get(timeout=AT_ONCE).asked


# --- other makes ------------------------------------------------------------------------------


def test_node_of_ours_says_nothing_so_that_java_can_ask(
    world: World, connect: Connect, peek: Any
) -> None:
    heard = heard_by(world, taken(world, connect().lock("k")))
    (node,) = peek.get_children("/k")
    assert peek.get(f"/k/{node}")[0] == b""

    peek.set(f"/k/{node}", b"__REVOKE__")

    assert heard.get(timeout=AT_ONCE).asked


def test_anything_else_that_is_written_asks_for_nothing(
    world: World, connect: Connect, peek: Any
) -> None:
    hold = taken(world, connect().lock("k"))
    heard = heard_by(world, hold)
    (node,) = peek.get_children("/k")

    peek.set(f"/k/{node}", b"hello")
    peek.set(f"/k/{node}", b"__REVOKE__ ")
    eventually(lambda: peek.get(f"/k/{node}")[1].version == 2)
    assert not hold.asked
    peek.set(f"/k/{node}", b"__REVOKE__")

    assert heard.get(timeout=AT_ONCE) is hold
    assert heard.empty()


def test_java_is_asked_in_its_own_words(world: World, connect: Connect, peek: Any) -> None:
    path = stranger(peek, f"{JAVA}-lock-")

    assert world.do(lambda: connect().ask_back("k")) == 1

    assert peek.get(path)[0] == b"__REVOKE__"


@pytest.mark.parametrize("node", [f"{JAVA}-lock-", "0f3a9c-lock-", "lock-"])
def test_whoever_holds_it_can_be_revoked(
    world: World, connect: Connect, peek: Any, node: str
) -> None:
    path = stranger(peek, node)
    coming = world.start(connect().lock("k").acquire)
    eventually(lambda: len(peek.get_children("/k")) == 2)

    ended = world.do(lambda: connect().revoke("k", reason="stuck"))

    assert len(ended.holders) == 1
    assert not peek.exists(path)
    assert coming.result(AT_ONCE)


@pytest.mark.parametrize("node", [f"{JAVA}-__WRIT__", f"{JAVA}-__READ__"])
def test_whoever_reads_or_writes_can_be_revoked(
    world: World, connect: Connect, peek: Any, node: str
) -> None:
    path = stranger(peek, node)

    ended = world.do(lambda: connect().revoke("k"))

    assert len(ended.holders) == 1
    assert not peek.exists(path)


# --- what cannot be asked for -----------------------------------------------------------------


def test_nobody_can_be_asked_for_a_latch(world: World, connect: Connect) -> None:
    client = connect()
    world.do(lambda: client.latch("k").set(1))

    with pytest.raises(Unsupported, match="'k' is a latch.*revoke"):
        world.do(lambda: client.ask_back("k"))


def test_nobody_can_be_asked_for_a_permit(world: World, connect: Connect, peek: Any) -> None:
    path = stranger(peek, f"{JAVA}-lease-", name="k/leases")

    with pytest.raises(Unsupported, match="'k' is a semaphore"):
        world.do(lambda: connect().ask_back("k"))

    assert peek.get(path)[0] == b"127.0.0.1"


def test_other_stores_name_the_one_that_can(world: World) -> None:
    client = world.connect("memory://asking")

    with pytest.raises(Unsupported, match=r"memory://asking .*'k'.*ZooKeeper"):
        world.do(lambda: client.ask_back("k"))


def test_wrong_names_are_refused_before_anything_is_sent(world: World) -> None:
    client = world.connect("memory://asking")
    for name in ("", b"bytes", 7, None):
        with pytest.raises((ValueError, TypeError), match="name"):
            world.do(lambda name=name: client.ask_back(name))
