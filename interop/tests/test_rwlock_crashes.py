"""A reader or writer is killed: it is outlived by its lease, and by no more.

Leases are of 3 s on both sides, in place of the usual 30 s.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.eventually import eventually
from tests.support.worlds import Threads

from ..harness.foreign import Foreign
from ..harness.matrix import TO_THEM, TO_US, meets
from ..harness.peers import Cast
from .looking import SLACK, waiters
from .people import Meeting

pytestmark = meets("Redisson", "RReadWriteLock", "rwlock()")

LEASE = 3.0


@pytest.fixture
def rw(cast: Cast, redis_url: str, name: str) -> Iterator[Meeting]:
    world = Threads()
    yield Meeting(cast, world, redis_url, "read", name)
    world.close()


@pytest.mark.parametrize("held", ["read", "write"])
@meets(direction=TO_THEM)
def test_javas_writer_outlives_our_dead_by_their_lease(
    held: str, our_victim: Foreign, rw: Meeting, name: str, peek: Any
) -> None:
    terms = {"lease": LEASE}
    our_victim.ask(verb="acquire", kind=held, name=name, terms=terms, handle="h")
    writer = rw.java("write")
    writer.seek()
    eventually(lambda: writer.parked)
    our_victim.kill()
    killed, left = time.monotonic(), peek.pttl(name) / 1000
    writer.turn.result(LEASE + SLACK)
    assert left - 0.01 < time.monotonic() - killed < left + SLACK
    writer.give()


@meets(direction=TO_US)
def test_our_writer_outlives_javas_dead_reader_though_others_read_on(
    victim: Foreign, rw: Meeting, name: str, peek: Any
) -> None:
    """One of ours reads all the time and keeps the lock alive, but not the dead one."""
    victim.ask(kind="read", verb="lock", name=name)
    reader, writer = rw.ours(), rw.ours("write")
    reader.take()
    writer.seek()
    eventually(lambda: waiters(peek, name) == 1)
    victim.kill()
    dead = {field for field in peek.hkeys(name) if field not in ("mode", reader.owner)}
    assert len(dead) == 1
    eventually(lambda: dead.isdisjoint(peek.hkeys(name)), within=LEASE + 2 + SLACK)
    assert not writer.turn.done()
    reader.give()
    writer.turn.result(SLACK)
    writer.give()


@meets(direction=TO_US)
def test_our_writer_outlives_javas_dead_writer_by_its_lease(
    victim: Foreign, rw: Meeting, name: str, peek: Any
) -> None:
    victim.ask(kind="write", verb="lock", name=name)
    writer = rw.ours("write")
    writer.seek()
    eventually(lambda: waiters(peek, name) == 1)
    victim.kill()
    killed, left = time.monotonic(), peek.pttl(name) / 1000
    writer.turn.result(LEASE + SLACK)
    assert left - 0.01 < time.monotonic() - killed < left + SLACK
    writer.give()
