"""What a waiter can see of a name without asking: whether to ask, and whether anything stirs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from interlock.backends.sqlite.watch import Sight
from interlock.ledger import count_down, pass_latch, renew, set_count, set_permits, withdraw

from .shelf import ANN, BOB, CID, DAN, Shelf


@pytest.fixture
def sight(shelf: Shelf, path: Path) -> Callable[[str], Sight]:
    """How an owner stands."""
    return lambda owner: shelf.world.glance([("k", owner)])[0]


Seen = Callable[[str], Sight]


def test_a_waiter_behind_a_holder_is_not_due_until_it_holds(shelf: Shelf, sight: Seen) -> None:
    for owner in (ANN, BOB, CID):
        shelf.attempt(owner)
    assert not sight(BOB).due

    shelf.release(ANN)

    assert (sight(BOB).due, sight(CID).due) == (True, False)


def test_a_lock_that_nobody_holds_is_everybodys_business(shelf: Shelf, sight: Seen) -> None:
    assert sight(ANN).due
    shelf.attempt(ANN, lease=1.0)
    assert not sight(BOB).due

    shelf.later(1100)

    assert sight(BOB).due


def test_readers_are_due_together_and_the_writer_behind_them_is_not(
    shelf: Shelf, sight: Seen
) -> None:
    shelf.write(ANN)
    shelf.read(BOB)
    shelf.read(CID)
    shelf.write(DAN)

    shelf.release(ANN, "rwlock")

    assert [sight(owner).due for owner in (BOB, CID, DAN)] == [True, True, False]


def test_a_writer_is_due_once_the_last_reader_has_gone(shelf: Shelf, sight: Seen) -> None:
    shelf.read(ANN)
    shelf.read(BOB)
    shelf.write(CID)

    shelf.release(ANN, "rwlock")
    assert not sight(CID).due
    shelf.release(BOB, "rwlock")

    assert sight(CID).due


def test_who_waits_for_more_permits_than_there_are_is_not_due_even_if_nobody_has_any(
    shelf: Shelf, sight: Seen
) -> None:
    shelf.permit(ANN, permits=1)
    shelf.permit(BOB, weight=2)

    shelf.release(ANN, "semaphore")
    assert not sight(BOB).due
    shelf.call(set_permits, "k", "semaphore", 2)

    assert sight(BOB).due


def test_permits_that_do_not_suffice_for_the_first_wake_nobody(shelf: Shelf, sight: Seen) -> None:
    shelf.permit(ANN, weight=2, permits=3)
    shelf.permit(BOB)
    shelf.permit(CID, weight=2)
    shelf.permit(DAN)

    shelf.release(BOB, "semaphore")
    assert (sight(CID).due, sight(DAN).due) == (False, False)
    shelf.call(withdraw, "k", "semaphore", CID)

    assert sight(DAN).due


def test_a_latch_is_nobodys_business_until_it_is_down(shelf: Shelf, sight: Seen) -> None:
    shelf.call(set_count, "k", 2)
    for owner in (ANN, BOB):
        shelf.call(pass_latch, "k", owner, True)
    assert not sight(ANN).due

    shelf.call(count_down, "k", CID)
    assert not sight(ANN).due
    shelf.call(count_down, "k", DAN)

    assert (sight(ANN).due, sight(BOB).due) == (True, True)


def test_those_who_wait_for_a_latch_do_not_stand_before_each_other(
    shelf: Shelf, sight: Seen
) -> None:
    shelf.call(set_count, "k", 1)
    for owner in (ANN, BOB, CID):
        shelf.call(pass_latch, "k", owner, True)

    assert [sight(owner).ahead for owner in (ANN, BOB, CID)] == [0, 0, 0]


def test_those_who_wait_for_a_share_are_counted_in_order(shelf: Shelf, sight: Seen) -> None:
    shelf.permit(ANN, permits=1)
    for owner in (BOB, CID, DAN):
        shelf.permit(owner)

    assert [sight(owner).ahead for owner in (BOB, CID, DAN)] == [0, 1, 2]


def test_signs_change_with_holders_tokens_and_facts(shelf: Shelf, sight: Seen) -> None:
    steps: list[Callable[[], object]] = [
        lambda: shelf.permit(ANN, permits=2),
        lambda: shelf.permit(BOB),
        lambda: shelf.permit(BOB),
        lambda: shelf.release(ANN, "semaphore"),
        lambda: shelf.call(set_permits, "k", "semaphore", 1),
    ]
    seen = [sight(CID).signs]
    for step in steps:
        step()
        seen.append(sight(CID).signs)

    assert len(set(seen)) == len(seen)


def test_questions_and_renewals_are_no_signs(shelf: Shelf, sight: Seen) -> None:
    shelf.attempt(ANN)
    shelf.attempt(BOB)
    before = sight(BOB)

    shelf.attempt(BOB)
    shelf.attempt(CID)
    shelf.asked(renew, 60.0, ("k", ANN))

    assert sight(BOB) == before
