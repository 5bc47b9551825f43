"""Asking for what others hold, in Curator's manner."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest

from interlock import Unsupported
from interlock.backends.zookeeper import namespace
from interlock.backends.zookeeper.layout import REVOKE
from interlock.backends.zookeeper.namespace import Node
from interlock.backends.zookeeper.transport.transport import Transport
from interlock.events import Event, ReleaseRequested
from tests.support.frames import ZkProxy

from ...support.eventually import eventually
from ...support.worlds import World
from .asked import AT_ONCE, JAVA, Connect, heard_by, looks, said, stranger, taken

pytestmark = pytest.mark.server

#: Seconds of a lease of which a node says nothing: the session is shorter.
LONG = 120


@contextmanager
def passed_on(fired: threading.Event) -> Iterator[None]:
    """Tell when the change of a node was heard of, and passed on."""
    wake = Transport._wake

    def noting(transport: Transport, topic: Any) -> None:
        wake(transport, topic)
        if isinstance(topic, Node):
            fired.set()

    with patch.object(Transport, "_wake", noting):
        yield


# --- asking -----------------------------------------------------------------------------------


def test_holder_hears_at_once_that_somebody_asks(world: World, connect: Connect) -> None:
    hold = taken(world, connect().lock("k"))
    heard = heard_by(world, hold)
    assert not hold.release_requested

    assert world.do(lambda: connect().request_release("k")) == 1

    assert heard.get(timeout=AT_ONCE) is hold
    assert hold.release_requested
    assert not hold.lost


def test_each_of_two_clients_can_ask_the_other(world: World, connect: Connect) -> None:
    alice, bob = connect(), connect()
    heard = [
        heard_by(world, taken(world, client.lock(name)))
        for client, name in ((alice, "a"), (bob, "b"))
    ]

    assert (
        world.do(lambda: alice.request_release("b"))
        == world.do(lambda: bob.request_release("a"))
        == 1
    )

    assert [each.get(timeout=AT_ONCE).name for each in heard] == ["a", "b"]


def test_who_gives_it_back_lets_the_next_one_have_it(world: World, connect: Connect) -> None:
    hold = taken(world, connect().lock("k"))
    heard = heard_by(world, hold)
    bob = connect()
    coming = world.start(bob.lock("k").acquire)

    world.do(lambda: bob.request_release("k"))
    world.do(heard.get(timeout=AT_ONCE).release)

    assert coming.result(AT_ONCE).token > hold.token


def test_who_begins_to_listen_later_is_told_as_well(world: World, connect: Connect) -> None:
    hold = taken(world, connect().lock("k"))
    world.do(lambda: connect().request_release("k"))

    first = heard_by(world, hold)
    assert first.get(timeout=AT_ONCE) is hold
    second = heard_by(world, hold)

    assert second.get(timeout=AT_ONCE) is hold
    assert first.empty()


def test_question_that_comes_while_the_keeper_looks_is_heard_at_once(
    world: World, connect: Connect, peek: Any
) -> None:
    hold = taken(world, connect().lock("k"))
    (node,) = peek.get_children("/k")
    fired, judged = threading.Event(), namespace.judged

    def after_the_question(*seen: Any) -> Any:
        """The keeper has its answer, and then hears that it is not true any more."""
        if not fired.is_set():
            peek.set(f"/k/{node}", REVOKE)
            assert fired.wait(AT_ONCE)
        return judged(*seen)

    with patch.object(namespace, "judged", after_the_question), passed_on(fired):
        heard = heard_by(world, hold)

        assert heard.get(timeout=AT_ONCE) is hold


def test_observer_is_told_once_however_often_somebody_asks(
    world: World, connect: Connect, zk_url: str
) -> None:
    events: list[Event] = []
    client, other = world.connect(zk_url, observer=events.append), connect()
    hold = taken(world, client.lock("k"))
    heard = heard_by(world, hold)

    for _ in range(3):
        with looks(events):
            assert world.do(lambda: other.request_release("k")) == 1

    assert [event for event in events if isinstance(event, ReleaseRequested)] == [
        ReleaseRequested("k", hold.owner, hold.token)
    ]
    assert heard.get(timeout=AT_ONCE) is hold
    assert heard.empty()


def test_only_who_holds_is_asked(world: World, connect: Connect, peek: Any) -> None:
    hold = taken(world, connect().lock("k", lease=LONG))
    coming = world.start(connect().lock("k", lease=LONG).acquire)
    eventually(lambda: len(said(peek)) == 2)
    assert said(peek) == [b"", b""]

    assert world.do(lambda: connect().request_release("k")) == 1

    assert said(peek) == [REVOKE, b""]
    world.do(hold.release)
    assert not coming.result(AT_ONCE).release_requested


def test_every_reader_is_asked_and_no_writer_that_waits(
    world: World, connect: Connect, peek: Any
) -> None:
    holds = [taken(world, connect().rwlock("k").read()) for _ in range(2)]
    heard = [heard_by(world, hold) for hold in holds]
    coming = world.start(connect().rwlock("k", lease=LONG).write().acquire)
    eventually(lambda: len(said(peek)) == 3)

    assert world.do(lambda: connect().request_release("k")) == 2

    assert [each.get(timeout=AT_ONCE) for each in heard] == holds
    assert said(peek) == [REVOKE, REVOKE, b""]
    for hold in holds:
        world.do(hold.release)
    assert not coming.result(AT_ONCE).release_requested


def test_writer_is_asked(world: World, connect: Connect) -> None:
    heard = heard_by(world, taken(world, connect().rwlock("k").write()))

    assert world.do(lambda: connect().request_release("k")) == 1

    assert heard.get(timeout=AT_ONCE).release_requested


def test_nobody_is_asked_for_what_is_free(world: World, connect: Connect) -> None:
    client = connect()
    assert world.do(lambda: client.request_release("k")) == 0
    world.do(taken(world, client.lock("k")).release)

    assert world.do(lambda: client.request_release("k")) == 0


@pytest.mark.parametrize("lost", ["lose_reply", "lose_request"])
def test_who_was_asked_is_counted_even_if_a_message_was_lost(
    world: World, connect: Connect, zk_proxy: ZkProxy, zk_path: str, lost: str
) -> None:
    heard = heard_by(world, taken(world, connect().lock("k")))
    asking = world.connect(zk_proxy.url(zk_path))
    world.do(lambda: asking.inspect("k"))
    getattr(zk_proxy, lost)("setData")

    assert world.do(lambda: asking.request_release("k")) == 1

    assert heard.get(timeout=AT_ONCE).release_requested


# --- what cannot be asked for -----------------------------------------------------------------


def test_nobody_can_be_asked_for_a_latch(world: World, connect: Connect) -> None:
    client = connect()
    world.do(lambda: client.latch("k").start(1))

    with pytest.raises(Unsupported, match=r"'k' is a latch.*revoke"):
        world.do(lambda: client.request_release("k"))


def test_nobody_can_be_asked_for_a_permit(world: World, connect: Connect, peek: Any) -> None:
    path = stranger(peek, f"{JAVA}-lease-", name="k/leases")

    with pytest.raises(Unsupported, match="'k' is a semaphore"):
        world.do(lambda: connect().request_release("k"))

    assert peek.get(path)[0] == b"127.0.0.1"


def test_other_stores_name_the_one_that_can(world: World) -> None:
    client = world.connect("memory://asking")

    with pytest.raises(Unsupported, match=r"memory://asking .*'k'.*ZooKeeper"):
        world.do(lambda: client.request_release("k"))


@pytest.mark.parametrize("name", ["", b"bytes", 7, None])
def test_wrong_names_are_refused_before_anything_is_sent(world: World, name: Any) -> None:
    client = world.connect("zk://127.0.0.1:1")  # where nobody listens

    with pytest.raises((ValueError, TypeError), match="name"):
        world.do(lambda: client.request_release(name))
