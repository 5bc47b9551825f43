"""What Java and we tell each other of read/write locks, and who comes in where both wait."""

from __future__ import annotations

from typing import Any

import pytest

from interlock.model import Busy

from ...support.eventually import eventually
from ...support.worlds import World
from .readwrite import CHANNEL, LEASE, QUEUE, Desk, hold, javas, reads, writes
from .watching import Monitor, litter

pytestmark = pytest.mark.server


@pytest.fixture
def desk(world: World, redis_url: str, peek: Any) -> Desk:
    return Desk(world, redis_url, peek)


def published(monitor: Monitor) -> list[str]:
    """What was said on Java's channel, whether or not anybody heard it."""
    seen = [each.words for each in monitor.commands() if each.verb == "PUBLISH"]
    return [words[2] for words in seen if words[1] == CHANNEL]


def test_java_is_told_when_the_last_reader_leaves_and_not_before(
    desk: Desk, redis_server: Any
) -> None:
    desk.ask(reads(1))
    desk.ask(reads(2))
    with Monitor(redis_server.port) as monitor:
        desk.release(reads(1))
        assert published(monitor) == []
        desk.release(reads(2))
        assert published(monitor) == ["0"]
        desk.release(reads(2))
        desk.withdraw(reads(2))
        assert published(monitor) == ["0"]


def test_d9_java_is_told_twice_when_a_writer_leaves(desk: Desk, redis_server: Any) -> None:
    """Once for all that sleep, and once for one that has its refusal in hand but does not yet."""
    desk.ask(writes(1))
    with Monitor(redis_server.port) as monitor:
        desk.release(writes(1))
        assert published(monitor) == ["1", "0"]


def test_d10_java_is_told_twice_when_a_writer_reads_on(desk: Desk, redis_server: Any) -> None:
    """A reader of Java that is about to sleep may come in as well as those that do."""
    desk.ask(writes(1))
    with Monitor(redis_server.port) as monitor:
        desk.downgrade(writes(1))
        assert published(monitor) == ["1", "0"]
        desk.downgrade(writes(1))
        assert published(monitor) == ["1", "0"]
        desk.release(writes(1))
        assert published(monitor) == ["1", "0", "0"]


def test_java_is_told_when_the_last_of_the_dead_is_taken_away(
    desk: Desk, redis_server: Any
) -> None:
    desk.ask(reads(1))
    desk.end(reads(1))
    with Monitor(redis_server.port) as monitor:
        assert not desk.withdraw(reads(2))
        assert published(monitor) == ["0"]
    assert not desk.peek.exists("k")


# --- both wait ---------------------------------------------------------------------------------


def test_where_java_waits_the_lock_stays_free_and_our_first_ones_are_told(desk: Desk) -> None:
    desk.ask(writes(1))
    with desk.java_waits() as java, desk.subscribed(1) as subscriber:
        desk.waits(reads(2), reads(3), writes(4), reads(5))
        assert desk.release(writes(1))
        assert java.heard() == ["1", "0"]
        assert subscriber.heard() == [reads(2), reads(3)]
        assert not desk.peek.exists("k", hold(reads(2)))
        assert desk.queue() == [reads(2), reads(3), writes(4), reads(5)]  # they keep their places

        assert desk.gets(reads(2))
        assert isinstance(desk.ask(reads(6)), Busy)  # but it lets in who came before
        assert desk.holders() == [reads(2), reads(3)]
        assert desk.queue() == [writes(4), reads(5)]


def test_where_java_waits_only_one_writer_is_told(desk: Desk) -> None:
    desk.ask(reads(1))
    with desk.java_waits() as java, desk.subscribed(1) as subscriber:
        with desk.subscribed(2):
            desk.waits(writes(2, client=2), writes(3), writes(4), reads(5))
        assert desk.release(reads(1))
        assert java.heard() == ["0"]
        assert subscriber.heard() == [writes(3)]
        assert desk.queue() == [writes(3), writes(4), reads(5)]


def test_a_reader_that_leaves_others_reading_hands_over_though_java_waits(desk: Desk) -> None:
    """Nothing was freed that Java could have."""
    desk.ask(reads(1))
    desk.ask(reads(2))
    with desk.java_waits() as java, desk.subscribed(1) as subscriber:
        with desk.subscribed(2):
            desk.waits(writes(3, client=2), reads(4))
        assert desk.release(reads(1))
        assert (java.heard(), subscriber.heard()) == ([], [reads(4)])
        assert desk.holders() == [reads(2), reads(4)]
        assert desk.left() == LEASE


def test_a_writer_that_reads_on_lets_ours_in_and_tells_java(desk: Desk) -> None:
    desk.ask(writes(1))
    with desk.java_waits() as java, desk.subscribed(1) as subscriber:
        desk.waits(reads(2))
        assert desk.downgrade(writes(1))
        assert (java.heard(), subscriber.heard()) == (["1", "0"], [reads(2)])
        assert desk.holders() == [writes(1), reads(2)]


@pytest.mark.parametrize("mode", ["read", "write"])
def test_our_waiter_is_woken_by_javas_message(desk: Desk, mode: str) -> None:
    mine = desk.client._session.identity
    getattr(desk, f"java_{mode}s")(javas())
    waiting = desk.waiting(f"{mine}:{'16' if mode == 'read' else '15'}")
    eventually(lambda: desk.listeners() == 1)
    eventually(lambda: desk.peek.zcard(QUEUE) == 1)
    assert not waiting.done()

    getattr(desk, f"java_stops_to_{mode}")(javas())
    grant = waiting.result(5)
    assert desk.woken == [grant.owner]
    eventually(lambda: desk.listeners() == 0)
    assert desk.release(grant.owner)
    assert litter(desk.peek) == set()


@pytest.mark.slow
def test_javas_silent_downgrade_is_found_out_within_the_poll_cap(desk: Desk) -> None:
    desk.java_writes(javas())
    desk.java_reads(javas())
    waiting = desk.waiting(f"{desk.client._session.identity}:15")
    eventually(lambda: desk.peek.zcard(QUEUE) == 1)
    desk.peek.hdel("k", f"{javas()}:write")
    desk.peek.hset("k", "mode", "read")
    assert desk.release(waiting.result(10).owner)
    assert desk.holders() == [javas()]
