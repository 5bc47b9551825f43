"""Leases of readers and writers: Redisson's rules, without the defects that lose holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from interlock.drive import now
from interlock.model import Busy

from ...support.worlds import World
from .readwrite import LEASE, READ, WRITE, Desk, hold, javas, reads, writes
from .watching import litter

pytestmark = pytest.mark.server


@pytest.fixture
def desk(world: World, redis_url: str, peek: Any) -> Desk:
    return Desk(world, redis_url, peek)


each_mode = pytest.mark.parametrize("owner", [reads(1), writes(1)], ids=["read", "write"])


# --- the same question twice -----------------------------------------------------------------


@each_mode
def test_d1_a_question_executed_twice_is_one_hold(desk: Desk, owner: str) -> None:
    first, second = desk.ask(owner), desk.ask(owner)
    assert isinstance(first, int) and isinstance(second, int) and first < second
    assert set(desk.fields().values()) <= {"read", "write", "1"}

    assert desk.release(owner)
    assert litter(desk.peek) == set()
    assert not desk.release(owner)


def test_d15_a_writer_that_asks_again_sets_its_lease_and_adds_nothing(desk: Desk) -> None:
    desk.ask(writes(1), 10.0)
    desk.ask(writes(1), 10.0)
    assert desk.left() == 10
    desk.ask(writes(1), 5.0)
    assert desk.left() == 5


def test_a_reader_that_asks_again_sets_its_own_lease(desk: Desk) -> None:
    desk.ask(reads(1), 5.0)
    desk.ask(reads(1), 10.0)
    assert desk.left(hold(reads(1))) == desk.left() == 10


@each_mode
def test_a_renewal_sets_and_never_adds(desk: Desk, owner: str) -> None:
    desk.ask(owner, 10.0)
    assert desk.renew(owner, 30.0) and desk.renew(owner, 30.0)
    assert desk.left() == 30
    assert desk.left(hold(owner)) == (30 if owner == reads(1) else 0)


def test_many_holds_of_both_modes_are_renewed_together(desk: Desk) -> None:
    names = [f"n{number}" for number in range(300)]
    owners = [reads(each) if each % 3 else writes(each) for each in range(300)]
    holds = list(zip(names, owners, strict=True))
    for name, owner in holds[:-1]:
        desk.run((READ if owner[-1] == "5" else WRITE).attempt(name, owner, 5.0, False, now() + 9))
    desk.peek.set("n0", "something else by now")

    answers = desk.run(READ.renew(holds, 30.0, now() + 10))
    assert answers == [False, *[True] * 298, False]
    assert {desk.left(name) for name in names[1:-1]} == {30.0}
    assert desk.run(READ.renew([], 30.0, now() + 10)) == []


# --- several leases, one hash ----------------------------------------------------------------


def test_a_short_lease_does_not_cut_a_long_one(desk: Desk) -> None:
    desk.ask(reads(1), 60.0)
    desk.ask(reads(2), 5.0)
    assert (desk.left(hold(reads(2))), desk.left()) == (5, 60)

    assert desk.release(reads(2))
    assert desk.left() == 60


def test_the_hash_lives_as_long_as_the_longest_reader_that_is_left(desk: Desk) -> None:
    desk.ask(reads(1), 60.0)
    desk.ask(reads(2), 5.0)
    desk.java_reads(javas(), count=2, lease=25.0)
    assert desk.release(reads(1))
    assert desk.left() == 25
    assert desk.withdraw(javas())
    assert desk.left() == 5
    assert desk.holders() == [reads(2)]


def test_d13a_no_reader_that_leaves_cuts_the_lease_of_a_writer(desk: Desk) -> None:
    desk.java_writes(javas(), lease=20.0)
    desk.java_reads(javas(), lease=3.0)
    before = desk.fields()
    for owner in (reads(1), writes(1)):
        assert isinstance(desk.ask(owner, waits=True), Busy)
        assert not desk.release(owner) and not desk.withdraw(owner)
    assert desk.fields() == before
    assert desk.left() == 20


def test_d13b_a_renewal_does_not_cut_the_longer_lease_of_another_reader(desk: Desk) -> None:
    desk.ask(reads(1), 60.0)
    desk.ask(reads(2), 5.0)
    assert desk.renew(reads(2), 30.0)
    assert (desk.left(hold(reads(2))), desk.left()) == (30, 60)
    assert desk.left(hold(reads(1))) == 60


def test_a_renewal_raises_the_end_of_the_hash(desk: Desk) -> None:
    desk.ask(reads(1), 5.0)
    desk.ask(reads(2), 5.0)
    assert desk.renew(reads(2), 30.0)
    assert (desk.left(hold(reads(1))), desk.left()) == (5, 30)


def test_d11_a_writer_is_renewed_whatever_becomes_of_readers(desk: Desk) -> None:
    """Redisson forgets to renew a writer that has read and stopped reading."""
    desk.ask(writes(1), 5.0)
    assert isinstance(desk.ask(reads(2)), Busy)
    assert not desk.release(reads(2)) and not desk.withdraw(reads(2))
    assert desk.renew(writes(1), 30.0)
    assert desk.left() == 30
    assert desk.downgrade(writes(1), 5.0)
    assert desk.gets(reads(3)) and desk.release(reads(3))
    assert desk.renew(writes(1), 30.0)
    assert desk.left() == desk.left(hold(writes(1))) == 30


def test_a_provisional_lease_does_not_cut_a_whole_one(desk: Desk) -> None:
    desk.ask(writes(1))
    with desk.subscribed(1):
        desk.waits(reads(2))
        assert desk.downgrade(writes(1), 30.0)
        assert desk.provisional(hold(reads(2)))
    assert desk.left() == 30


def test_a_writer_that_reads_on_has_the_lease_it_asks_for(desk: Desk) -> None:
    desk.ask(writes(1), 60.0)
    assert desk.downgrade(writes(1), 10.0)
    assert desk.fields() == {"mode": "read", writes(1): "1"}
    assert desk.left() == desk.left(hold(writes(1))) == 10
    assert desk.downgrade(writes(1), 20.0)  # said again
    assert desk.left() == desk.left(hold(writes(1))) == 20
    assert desk.release(writes(1))
    assert litter(desk.peek) == set()
    assert not desk.downgrade(writes(1))
    assert litter(desk.peek) == set()


def test_the_hash_always_has_an_end(desk: Desk) -> None:
    steps: list[Callable[[], object]] = [
        lambda: desk.ask(reads(1)),
        lambda: desk.waits(writes(2), reads(3), reads(4), writes(5)),
        lambda: desk.release(reads(1)),
        lambda: desk.ask(writes(2)),
        lambda: desk.downgrade(writes(2)),
        lambda: desk.ask(reads(3)),
        lambda: desk.renew(reads(3)),
        lambda: desk.release(writes(2)),
        lambda: desk.withdraw(reads(4)),
        lambda: desk.release(reads(3)),
    ]
    with desk.subscribed(1):
        for step in steps:
            step()
            assert desk.peek.pttl("k") > 0
    assert desk.holders() == [f"{writes(5)}:write"]


# --- the dead --------------------------------------------------------------------------------


def test_d14_a_dead_reader_keeps_no_writer_out(desk: Desk) -> None:
    desk.ask(reads(1))
    desk.end(reads(1))
    assert desk.look() is None
    assert desk.gets(writes(2))
    assert desk.holders() == [f"{writes(2)}:write"]


def test_d14_a_dead_reader_is_forgotten_though_another_one_reads(desk: Desk) -> None:
    desk.ask(reads(1), 60.0)
    desk.java_reads(javas(), count=3, lease=50.0)
    desk.ask(reads(2))
    for number in (1, 3):
        desk.end(javas(), number)
    desk.end(reads(1))

    assert isinstance(desk.ask(writes(3)), Busy)
    assert desk.holders() == [javas(), reads(2)]  # Java's second hold lives
    desk.end(javas(), 2)
    assert isinstance(desk.ask(writes(3)), Busy)
    assert desk.holders() == [reads(2)]
    desk.end(reads(2))
    assert desk.gets(writes(3))


@pytest.mark.parametrize("verb", ["release", "withdraw"])
def test_whoever_leaves_takes_the_dead_along(desk: Desk, verb: str) -> None:
    desk.ask(reads(1), 60.0)
    desk.ask(reads(2))
    desk.end(reads(1))
    assert getattr(desk, verb)(reads(2))
    assert not desk.peek.exists("k")


def test_a_reader_whose_lease_has_ended_holds_nothing(desk: Desk) -> None:
    desk.ask(reads(1))
    desk.ask(reads(2))
    desk.end(reads(1))
    assert not desk.renew(reads(1))
    assert not desk.downgrade(reads(1))
    assert not desk.release(reads(1))
    assert desk.holders() == [reads(2)]
    assert desk.renew(reads(2))


def test_a_dead_reader_that_asks_again_is_as_new(desk: Desk) -> None:
    desk.ask(reads(1), 60.0)
    desk.ask(reads(2))
    with desk.subscribed(2):
        desk.waits(writes(3, client=2))
        desk.end(reads(1))
        assert isinstance(desk.ask(reads(1)), Busy)  # somebody came before it
    assert desk.gets(reads(1), LEASE)  # who has gone
