"""Java beside us on the same read/write locks: what Redisson does to them, done by hand."""

from __future__ import annotations

from typing import Any

import pytest

from interlock.backends.redis.keys import Topic, wake_topic
from interlock.model import Busy

from ...support.worlds import World
from .readwrite import CHANNEL, READ, Desk, hold, javas, reads, writes

pytestmark = pytest.mark.server


@pytest.fixture
def desk(world: World, redis_url: str, peek: Any) -> Desk:
    return Desk(world, redis_url, peek)


def test_java_and_we_read_together(desk: Desk) -> None:
    desk.java_reads(javas(), count=2)
    assert desk.gets(reads(1))
    assert desk.fields() == {"mode": "read", javas(): "2", reads(1): "1"}
    assert isinstance(desk.ask(writes(2)), Busy)

    assert desk.release(reads(1))
    assert desk.fields() == {"mode": "read", javas(): "2"}
    assert desk.peek.exists(hold(javas(), 1), hold(javas(), 2)) == 2


def test_a_waiter_is_told_of_java_and_listens_where_java_speaks(desk: Desk) -> None:
    desk.ask(reads(1))
    desk.java_reads(javas())
    desk.ask(reads(2))
    busy = desk.waits(writes(3))
    assert busy == Busy(javas(), busy.left, silent=False, foreign=True)
    topics = READ.topics("k", writes(3), busy)
    assert topics == (wake_topic(writes(3)), Topic(CHANNEL, None))


def test_a_waiter_behind_ours_alone_does_not_listen_there(desk: Desk) -> None:
    desk.ask(reads(1))
    busy = desk.ask(writes(2))
    assert isinstance(busy, Busy) and busy.holder == reads(1) and not busy.foreign
    assert READ.topics("k", writes(2), busy) == (wake_topic(writes(2)),)


def test_javas_writer_keeps_everybody_out_whether_it_reads_or_not(desk: Desk) -> None:
    desk.java_writes(javas(), count=3)
    for _ in range(2):
        before = desk.fields()
        for owner in (reads(1), writes(1)):
            busy = desk.ask(owner)
            assert isinstance(busy, Busy) and busy.holder == javas() and busy.foreign
        assert desk.fields() == before
        desk.java_reads(javas())


def test_looking_tells_javas_writer_that_reads_in_both_modes(desk: Desk) -> None:
    desk.java_writes(javas(), count=2, lease=20.0)
    desk.java_reads(javas(), count=2, lease=9.0)
    info = desk.look()
    assert info is not None
    assert [(each.owner, each.mode) for each in info.holders] == [
        (javas(), "write"),
        (javas(), "read"),
    ]
    writing, reading = (each.expires_in or 0 for each in info.holders)
    assert 15 < writing <= 20 and 4 < reading <= 9
    assert info.expires_in == reading


def test_a_reader_of_java_lives_as_long_as_one_of_its_holds(desk: Desk) -> None:
    desk.ask(reads(1), 60.0)
    desk.java_reads(javas(), lease=9.0)
    desk.java_reads(javas(), lease=30.0)
    busy, info = desk.ask(writes(2)), desk.look()
    assert isinstance(busy, Busy) and busy.left is not None and 25 < busy.left <= 30
    assert info is not None and info.expires_in is not None and 25 < info.expires_in <= 30


def test_javas_only_reader_lives_as_long_as_the_hash(desk: Desk) -> None:
    """A multilock of Java's gives a reader a short lease, and then the hash alone a long one."""
    desk.java_reads(javas(), lease=2.0)
    desk.peek.pexpire("k", 20_000)
    desk.end(javas())
    for owner in (writes(1), writes(2)):
        busy, info = desk.ask(owner), desk.look()
        assert isinstance(busy, Busy) and busy.left is not None and 15 < busy.left <= 20
        assert info is not None and [each.owner for each in info.holders] == [javas()]
        assert info.expires_in is not None and 15 < info.expires_in <= 20
        assert not desk.withdraw(owner)
    assert desk.gets(reads(3))
    assert desk.withdraw(reads(3)) and not desk.peek.exists("k")  # as Redisson has it


def test_a_lock_without_an_end_is_held_and_nobody_knows_how_long(desk: Desk) -> None:
    desk.java_writes(javas())
    desk.peek.persist("k")
    busy, info = desk.ask(reads(1)), desk.look()
    assert isinstance(busy, Busy) and busy.left is None
    assert info is not None and info.expires_in is None


@pytest.mark.parametrize("reading", [False, True])
def test_an_operator_ends_all_that_java_holds(desk: Desk, reading: bool) -> None:
    desk.java_writes(javas(), count=2)
    if reading:
        desk.java_reads(javas(), count=3)
    with desk.subscribed(1) as subscriber:
        desk.waits(reads(1))
        assert desk.withdraw(javas(), "revoked")
        assert subscriber.heard() == [reads(1)]
    assert desk.fields() == {"mode": "read", reads(1): "1"}
    assert desk.peek.keys("{k}:*") == [hold(reads(1))]


def test_a_force_unlock_ends_readers_though_their_keys_stay(desk: Desk) -> None:
    desk.ask(reads(1))
    desk.peek.delete("k")
    assert not desk.renew(reads(1))
    assert not desk.release(reads(1))
    assert desk.gets(writes(2))
    assert not desk.renew(reads(1))
    assert desk.holders() == [f"{writes(2)}:write"]
