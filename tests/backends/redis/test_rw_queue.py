"""The queue of a read/write lock: nobody of ours overtakes, and readers come in together."""

from __future__ import annotations

from typing import Any

import pytest

from interlock import StoreError
from interlock.drive import now
from interlock.model import PROVISIONAL, Busy

from ...support.eventually import eventually
from ...support.worlds import World
from .readwrite import LEASE, QUEUE, READ, Desk, hold, reads, writes
from .watching import litter

pytestmark = pytest.mark.server


@pytest.fixture
def desk(world: World, redis_url: str, peek: Any) -> Desk:
    return Desk(world, redis_url, peek)


def test_a_writer_that_waits_is_not_overtaken_by_readers(desk: Desk) -> None:
    desk.ask(reads(1))
    with desk.subscribed(1) as subscriber:
        desk.waits(writes(2))
        assert isinstance(desk.ask(reads(3)), Busy)  # not even a mere try
        desk.waits(reads(3))
        assert desk.queue() == [writes(2), reads(3)]

        assert desk.release(reads(1))
        assert desk.holders() == [f"{writes(2)}:write"]
        assert subscriber.heard() == [writes(2)]
        assert desk.queue() == [reads(3)]


def test_readers_that_lead_the_queue_come_in_together_up_to_the_next_writer(desk: Desk) -> None:
    desk.ask(writes(1))
    with desk.subscribed(1, 2) as subscriber:
        desk.waits(reads(2), reads(3, client=2), writes(4), reads(5))
        assert desk.release(writes(1))
        assert desk.fields() == {"mode": "read", reads(2): "1", reads(3, client=2): "1"}
        assert subscriber.heard() == [reads(2), reads(3, client=2)]
        assert desk.queue() == [writes(4), reads(5)]

        assert desk.release(reads(2))
        assert desk.queue() == [writes(4), reads(5)]  # the other one still reads
        assert desk.release(reads(3, client=2))
        assert desk.holders() == [f"{writes(4)}:write"]


@pytest.mark.parametrize("waiter", [reads(2), writes(2)], ids=["read", "write"])
def test_what_is_handed_over_is_provisional_until_it_is_claimed(desk: Desk, waiter: str) -> None:
    desk.ask(writes(1))
    with desk.subscribed(1):
        desk.waits(waiter)
        desk.release(writes(1))
    keys = ["k", hold(waiter)] if waiter == reads(2) else ["k"]
    assert desk.provisional(*keys)
    assert desk.peek.zcard(QUEUE) == 0

    assert desk.gets(waiter)
    assert {desk.left(key) for key in keys} == {LEASE}
    assert desk.release(waiter)
    assert litter(desk.peek) == set()


def test_a_waiter_that_nobody_hears_for_holds_nobody_up(desk: Desk) -> None:
    desk.ask(reads(1))
    with desk.subscribed(1):
        with desk.subscribed(2):
            desk.waits(writes(2, client=2), reads(3))
        # The writer's client has gone.
        assert desk.gets(reads(4))
        assert desk.queue() == []
        assert desk.holders() == [reads(1), reads(3), reads(4)]


def test_the_dead_among_the_waiters_are_passed_over(desk: Desk) -> None:
    desk.ask(writes(1))
    with desk.subscribed(1) as subscriber:
        with desk.subscribed(2):
            desk.waits(reads(2, client=2), writes(3, client=2), reads(4), reads(5))
        assert desk.release(writes(1))
        assert desk.holders() == [reads(4), reads(5)]
        assert subscriber.heard() == [reads(4), reads(5)]
        assert desk.queue() == []


def test_a_writer_that_gives_up_lets_the_readers_behind_it_in(desk: Desk) -> None:
    desk.ask(reads(1))
    with desk.subscribed(1) as subscriber:
        desk.waits(writes(2), reads(3), reads(4), writes(5))
        assert not desk.withdraw(writes(2))
        assert desk.holders() == [reads(1), reads(3), reads(4)]
        assert subscriber.heard() == [reads(3), reads(4)]
        assert desk.queue() == [writes(5)]


def test_a_waiter_that_gives_up_what_it_was_handed_passes_it_on(desk: Desk) -> None:
    desk.ask(writes(1))
    with desk.subscribed(1):
        desk.waits(writes(2), writes(3))
        desk.release(writes(1))
        assert desk.withdraw(writes(2))
        assert desk.holders() == [f"{writes(3)}:write"]


def test_whoever_asks_after_the_holder_died_lets_those_in_who_came_before(desk: Desk) -> None:
    desk.ask(writes(1))
    with desk.subscribed(1) as subscriber:
        desk.waits(reads(2), reads(3), writes(4))
        desk.peek.delete("k")
        busy = desk.waits(writes(5))
        assert busy.holder == reads(2)
        assert desk.holders() == [reads(2), reads(3)]
        assert desk.queue() == [writes(4), writes(5)]
        assert subscriber.heard() == [reads(2), reads(3)]


def test_whoever_asks_itself_is_not_woken_for_it(desk: Desk) -> None:
    desk.ask(writes(1))
    with desk.subscribed(1) as subscriber:
        desk.waits(reads(2), reads(3))
        desk.peek.delete("k")
        assert desk.gets(reads(3))
        assert subscriber.heard() == [reads(2)]
        assert desk.queue() == []


def test_readers_die_and_the_writer_that_waits_is_let_in_by_whoever_asks(desk: Desk) -> None:
    desk.ask(reads(1))
    with desk.subscribed(1):
        desk.waits(writes(2))
        desk.end(reads(1))
        busy = desk.waits(reads(3))
        assert busy.holder == writes(2)
        assert busy.left is not None and 0 < busy.left <= PROVISIONAL
    assert desk.queue() == [reads(3)]


def test_a_try_leaves_no_trace(desk: Desk) -> None:
    desk.ask(writes(1))
    assert isinstance(desk.ask(reads(2)), Busy) and isinstance(desk.ask(writes(3)), Busy)
    assert desk.queue() == []
    assert desk.release(writes(1))
    assert litter(desk.peek) == set()


def test_a_waiter_keeps_its_place_and_the_queue_ends_by_itself(desk: Desk) -> None:
    desk.ask(reads(1))
    with desk.subscribed(1):
        desk.waits(writes(2), writes(3), writes(2), writes(3), writes(2))
    assert desk.queue() == [writes(2), writes(3)]
    assert desk.left(QUEUE) == 10


def test_a_withdrawn_owner_is_refused_and_told_why(desk: Desk) -> None:
    desk.ask(reads(1))
    assert desk.withdraw(reads(1), "revoked by ops")
    with pytest.raises(StoreError, match="was withdrawn"):
        desk.ask(reads(1))
    assert desk.run(READ.withdrawal_reason("k", reads(1), now() + 10)) == "revoked by ops"
    assert not desk.withdraw(reads(1))
    assert not desk.peek.exists("k", hold(reads(1)))


def test_those_who_wait_for_another_kind_of_thing_are_nobody(desk: Desk) -> None:
    """They were left behind in the queue when the name was something else."""
    plain = reads(7)[:-1] + "1"
    desk.ask(writes(1))
    with desk.subscribed(1) as subscriber:
        desk.peek.zadd(QUEUE, {plain: 1})
        desk.waits(reads(2))
        assert desk.queue() == [reads(2)]
        desk.peek.zadd(QUEUE, {plain: 1})
        assert desk.release(writes(1))
        assert desk.holders() == [reads(2)]
        assert subscriber.heard() == [reads(2)]


# --- from writing to reading -----------------------------------------------------------------


def test_a_writer_that_reads_on_lets_the_leading_readers_in(desk: Desk) -> None:
    desk.ask(writes(1))
    with desk.subscribed(1) as subscriber:
        desk.waits(reads(2), reads(3), writes(4), reads(5))
        assert desk.downgrade(writes(1))
        assert desk.holders() == [writes(1), reads(2), reads(3)]
        assert subscriber.heard() == [reads(2), reads(3)]
        assert desk.queue() == [writes(4), reads(5)]

        assert desk.downgrade(writes(1))  # said again
        assert desk.queue() == [writes(4), reads(5)]
    # Now that nobody hears for the writer, whoever comes says so.
    assert desk.gets(reads(6))


def test_a_writer_that_reads_on_passes_over_the_dead(desk: Desk) -> None:
    desk.ask(writes(1))
    with desk.subscribed(1) as subscriber:
        with desk.subscribed(2):
            desk.waits(writes(2, client=2), reads(3, client=2), reads(4))
        assert desk.downgrade(writes(1))
        assert desk.holders() == [writes(1), reads(4)]
        assert subscriber.heard() == [reads(4)]
        assert desk.queue() == []


def test_a_question_that_comes_late_makes_no_reader_a_writer_again(desk: Desk) -> None:
    desk.ask(writes(1))
    assert desk.downgrade(writes(1))
    assert desk.gets(reads(2))
    assert desk.gets(writes(1))
    assert desk.fields() == {"mode": "read", writes(1): "1", reads(2): "1"}


def test_nobody_becomes_a_reader_who_held_nothing(desk: Desk) -> None:
    assert not desk.downgrade(writes(1))
    desk.ask(writes(2))
    assert not desk.downgrade(writes(1))
    assert desk.fields() == {"mode": "write", f"{writes(2)}:write": "1"}


# --- with all that belongs to an acquisition ---------------------------------------------------


def test_waiters_are_woken_at_once_and_in_order(desk: Desk, world: World, redis_url: str) -> None:
    """Of two clients; the leases are long, so that only wakes let anybody in in time."""
    other = Desk(world, redis_url, desk.peek)
    mine, theirs = desk.client._session.identity, other.client._session.identity
    desk.ask(f"{mine}:16")
    first, second = desk.waiting(f"{mine}:25"), other.waiting(f"{theirs}:15")
    eventually(lambda: len(desk.queue()) == 2)
    third = other.waiting(f"{theirs}:26")
    eventually(lambda: len(desk.queue()) == 3)

    desk.release(f"{mine}:16")
    assert first.result(5).owner == f"{mine}:25" and second.result(5).owner == f"{theirs}:15"
    assert not third.done()
    desk.release(f"{mine}:25")
    other.release(f"{theirs}:15")
    assert third.result(5).token > max(first.result().token, second.result().token)
    other.release(f"{theirs}:26")
    assert desk.woken == [f"{mine}:25"]
    assert other.woken == [f"{theirs}:15", f"{theirs}:26"]
    assert litter(desk.peek) == set()
