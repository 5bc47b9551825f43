"""Curator's Revoker and our request_release(): each side can ask the other for what it holds."""

from __future__ import annotations

import queue
from typing import Any

import pytest

from tests.support.eventually import eventually

from ...harness.foreign import SOON
from ...harness.matrix import TO_THEM, TO_US, meets
from .meeting import Javan, Meeting

pytestmark = meets("Curator", "Revoker")

KINDS = [
    pytest.param("mutex", marks=meets(ours="lock()")),
    pytest.param("read", marks=meets(ours="rwlock()")),
    pytest.param("write", marks=meets(ours="rwlock()")),
]

each_kind = pytest.mark.parametrize("kind", KINDS)

REVOKE = b"__REVOKE__"


def own_node(meeting: Meeting) -> str:
    (node,) = meeting.inside()
    return f"{meeting.path}/{node}"


def revocable(meeting: Meeting, kind: str) -> Javan:
    """A holder of Java's that listens to such wishes."""
    java = meeting.java(kind)
    java.actor.ask(kind, "make_revocable", meeting.path)
    java.take()
    return java


def wishes(java: Javan) -> int:
    """How often it was asked."""
    return int(java.actor.ask(java.kind, "revoked", java.path))


@each_kind
@meets(direction=TO_US)
def test_java_asks_us_for_what_we_hold(kind: str, meeting: Meeting) -> None:
    ours, heard = meeting.ours(kind), queue.SimpleQueue[Any]()
    ours.take()
    meeting.world.do(lambda: ours.hold.on_release_requested(heard.put))
    node = own_node(meeting)
    assert meeting.peek.get(node)[0] == b""
    meeting.cast.jvm.ask(kind="peer", verb="revoke", path=node)
    assert heard.get(timeout=SOON) is ours.hold
    assert meeting.peek.get(node)[0] == REVOKE
    assert ours.hold.release_requested
    assert not ours.hold.lost
    waiting = meeting.java("write" if kind == "read" else kind)
    meeting.queue_up(waiting)
    ours.give()
    assert waiting.turn.result(SOON) is True


@each_kind
@meets(direction=TO_THEM)
def test_we_ask_java_for_what_it_holds(kind: str, meeting: Meeting) -> None:
    java = revocable(meeting, kind)
    waiting = meeting.ours("write" if kind == "read" else kind)
    node = own_node(meeting)
    meeting.queue_up(waiting)
    assert meeting.peek.get(node)[0] == b""
    assert meeting.world.do(lambda: waiting.client.request_release(meeting.path)) == 1
    eventually(lambda: wishes(java) == 1)
    assert meeting.peek.get(node)[0] == REVOKE
    assert not waiting.turn.done()
    java.give()
    assert waiting.token


@each_kind
@meets(direction=TO_US)
def test_other_words_of_java_ask_us_for_nothing(kind: str, meeting: Meeting) -> None:
    ours, heard = meeting.ours(kind), queue.SimpleQueue[Any]()
    ours.take()
    meeting.world.do(lambda: ours.hold.on_release_requested(heard.put))
    node = own_node(meeting)
    eventually(lambda: meeting.watchers(node.rpartition("/")[2]), SOON)
    for word in (b"127.0.0.1", REVOKE + b" ", b""):
        meeting.peek.set(node, word)
        # It has read the word: it watches again.
        eventually(lambda: meeting.watchers(node.rpartition("/")[2]), SOON)
        assert not ours.hold.release_requested
    meeting.cast.jvm.ask(kind="peer", verb="revoke", path=node)
    assert heard.get(timeout=SOON) is ours.hold
    assert heard.empty()


@meets(ours="lock()", direction=TO_THEM)
def test_java_that_does_not_listen_keeps_what_it_has(meeting: Meeting) -> None:
    """We write the word all the same, as Java's own Revoker does; nothing else happens."""
    java, client = meeting.java("mutex"), meeting.world.connect(meeting.url)
    java.take()
    node = own_node(meeting)
    assert meeting.world.do(lambda: client.request_release(meeting.path)) == 1
    assert meeting.peek.get(node)[0] == REVOKE
    assert java.actor.ask("mutex", "owned", meeting.path) is True
    assert meeting.world.do(lambda: client.lock(meeting.path).acquire(blocking=False)) is None


@meets(ours="lock()", direction=TO_THEM)
def test_forced_revocation_takes_the_lock_from_java(meeting: Meeting) -> None:
    """Java goes on believing, as it does whenever its node is removed; the token tells."""
    java, waiting = meeting.java("mutex"), meeting.ours("mutex")
    java.take()
    token = java.token
    meeting.queue_up(waiting)
    ended = meeting.world.do(lambda: waiting.client.revoke(meeting.path, reason="stuck"))
    assert [each.token for each in ended.holders] == [token]
    assert waiting.token > token
    assert java.actor.ask("mutex", "owned", meeting.path) is True
    java.give()
    assert not waiting.hold.lost
