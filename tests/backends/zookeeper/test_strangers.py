"""Clients of another make: they ask and are asked, and may be revoked like anybody else."""

from __future__ import annotations

from typing import Any

import pytest

from interlock.events import Event

from ...support.eventually import eventually
from ...support.worlds import World
from .asked import AT_ONCE, JAVA, Connect, heard_by, looks, stranger, taken

pytestmark = pytest.mark.server


# --- asking -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("lease", "says"), [(120, b""), (30, b'{"lease": 30.0}')])
def test_node_of_ours_says_no_more_than_its_lease_and_java_can_ask(
    world: World, connect: Connect, peek: Any, lease: float, says: bytes
) -> None:
    """A lease that the session does not outlast is not worth mentioning."""
    heard = heard_by(world, taken(world, connect().lock("k", lease=lease)))
    (node,) = peek.get_children("/k")
    assert peek.get(f"/k/{node}")[0] == says

    peek.set(f"/k/{node}", b"__REVOKE__")

    assert heard.get(timeout=AT_ONCE).release_requested


def test_anything_else_that_is_written_asks_for_nothing(
    world: World, zk_url: str, peek: Any
) -> None:
    events: list[Event] = []
    hold = taken(world, world.connect(zk_url, observer=events.append).lock("k"))
    heard = heard_by(world, hold)
    (node,) = peek.get_children("/k")

    for word in (b"hello", b"__REVOKE__ ", b""):
        with looks(events):
            peek.set(f"/k/{node}", word)
        assert not hold.release_requested
    peek.set(f"/k/{node}", b"__REVOKE__")

    assert heard.get(timeout=AT_ONCE) is hold


def test_java_is_asked_in_its_own_words(world: World, connect: Connect, peek: Any) -> None:
    path = stranger(peek, f"{JAVA}-lock-")

    assert world.do(lambda: connect().request_release("k")) == 1

    assert peek.get(path)[0] == b"__REVOKE__"


# --- revoking ---------------------------------------------------------------------------------


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
