"""Kazoo's own locks, with nodes named as Curator's: a third reading of names and order."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Any

import pytest

from tests.support.eventually import eventually
from tests.support.worlds import World

from ...harness.foreign import SOON
from ...harness.matrix import BOTH, TO_THEM, TO_US, meets
from ...harness.peers import Cast
from ...python.kazoos import CuratorsLock, CuratorsReadLock, CuratorsWriteLock
from .meeting import OURS, Javan, newest
from .standing import standing

pytestmark = meets("kazoo")

THEIRS = {"mutex": CuratorsLock, "write": CuratorsWriteLock, "read": CuratorsReadLock}
#: Kazoo's own names exclude nobody: these are its locks with other names for their nodes.
NAMED = "{}, named as Curator's"
LOCKS = {
    "mutex": (NAMED.format("Lock"), "lock()"),
    "write": (NAMED.format("WriteLock"), "rwlock()"),
}

locks = pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=meets(None, *names)) for kind, names in LOCKS.items()]
)


def begun(lock: Any) -> Future[Any]:
    """Let kazoo wait for a lock in a thread of its own."""
    turn: Future[Any] = Future()
    threading.Thread(target=lambda: turn.set_result(lock.acquire()), daemon=True).start()
    return turn


@locks
@meets(direction=TO_US)
def test_we_wait_for_kazoo(kind: str, world: World, url: str, peek: Any, path: str) -> None:
    theirs, mine = THEIRS[kind](peek, path), OURS[kind](world.connect(url), path)
    theirs.acquire()
    token = theirs.token()
    assert world.do(lambda: mine.acquire(blocking=False)) is None
    turn = world.start(mine.acquire)
    eventually(lambda: len(standing(peek, path)) == 2)
    assert not turn.done()
    theirs.release()
    hold = turn.result(SOON)
    assert hold.token > token
    world.do(hold.release)


@locks
@meets(direction=TO_THEM)
def test_kazoo_waits_for_us(kind: str, world: World, url: str, peek: Any, path: str) -> None:
    theirs, mine = THEIRS[kind](peek, path), OURS[kind](world.connect(url), path)
    hold = world.do(mine.acquire)
    assert theirs.acquire(blocking=False) is False
    turn = begun(theirs)
    eventually(lambda: len(standing(peek, path)) == 2)
    assert not turn.done()
    world.do(hold.release)
    assert turn.result(SOON) is True
    theirs.release()


@meets(primitive=NAMED.format("ReadLock"), ours="rwlock()", direction=BOTH)
def test_readers_of_both_share_and_keep_writers_out(
    world: World, url: str, peek: Any, path: str
) -> None:
    client = world.connect(url)
    theirs = CuratorsReadLock(peek, path)
    hold = world.do(OURS["read"](client, path).acquire)
    assert theirs.acquire(timeout=SOON) is True
    turn = world.start(OURS["write"](world.connect(url), path).acquire)
    eventually(lambda: len(standing(peek, path)) == 3)
    world.do(hold.release)
    assert not turn.done()
    theirs.release()
    world.do(turn.result(SOON).release)


@newest
@locks
@meets(direction=BOTH)
def test_three_makes_are_granted_in_the_order_of_their_coming(
    kind: str, world: World, url: str, peek: Any, path: str, cast: Cast
) -> None:
    first, last = (Javan(cast.actor(), kind, path) for _ in range(2))
    theirs, mine = THEIRS[kind](peek, path), OURS[kind](world.connect(url), path)
    first.take()
    kazoos = begun(theirs)
    eventually(lambda: len(standing(peek, path)) == 2)
    ours = world.start(mine.acquire)
    eventually(lambda: len(standing(peek, path)) == 3)
    javas = last.seek()
    eventually(lambda: len(standing(peek, path)) == 4)

    first.give()
    assert kazoos.result(SOON) is True
    assert not ours.done()
    assert not javas.done()
    theirs.release()
    hold = ours.result(SOON)
    assert not javas.done()
    world.do(hold.release)
    assert javas.result(SOON) is True
