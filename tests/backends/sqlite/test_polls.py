"""What a waiter can see of a name without asking: whether to ask, and whether anything stirs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from interlock.backends.sqlite.transport.watch import WaiterState
from interlock.ledger import count_down, pass_latch, renew, set_count, set_permits, withdraw

from .lockfile import ANN, BOB, CID, DAN, LockFile


@pytest.fixture
def sight(file: LockFile, path: Path) -> Callable[[str], WaiterState]:
    """How an owner stands."""
    return lambda owner: file.shared.poll([("k", owner)])[0]


Seen = Callable[[str], WaiterState]


def test_a_waiter_behind_a_holder_is_not_due_until_it_holds(file: LockFile, sight: Seen) -> None:
    for owner in (ANN, BOB, CID):
        file.attempt(owner)
    assert not sight(BOB).due

    file.release(ANN)

    assert (sight(BOB).due, sight(CID).due) == (True, False)


def test_a_lock_that_nobody_holds_is_everybodys_business(file: LockFile, sight: Seen) -> None:
    assert sight(ANN).due
    file.attempt(ANN, lease=1.0)
    assert not sight(BOB).due

    file.later(1100)

    assert sight(BOB).due


def test_readers_are_due_together_and_the_writer_behind_them_is_not(
    file: LockFile, sight: Seen
) -> None:
    file.write(ANN)
    file.read(BOB)
    file.read(CID)
    file.write(DAN)

    file.release(ANN, "rwlock")

    assert [sight(owner).due for owner in (BOB, CID, DAN)] == [True, True, False]


def test_a_writer_is_due_once_the_last_reader_has_gone(file: LockFile, sight: Seen) -> None:
    file.read(ANN)
    file.read(BOB)
    file.write(CID)

    file.release(ANN, "rwlock")
    assert not sight(CID).due
    file.release(BOB, "rwlock")

    assert sight(CID).due


def test_who_waits_for_more_permits_than_there_are_is_not_due_even_if_nobody_has_any(
    file: LockFile, sight: Seen
) -> None:
    file.permit(ANN, permits=1)
    file.permit(BOB, weight=2)

    file.release(ANN, "semaphore")
    assert not sight(BOB).due
    file.call(set_permits, "k", "semaphore", 2)

    assert sight(BOB).due


def test_permits_that_do_not_suffice_for_the_first_wake_nobody(
    file: LockFile, sight: Seen
) -> None:
    file.permit(ANN, weight=2, permits=3)
    file.permit(BOB)
    file.permit(CID, weight=2)
    file.permit(DAN)

    file.release(BOB, "semaphore")
    assert (sight(CID).due, sight(DAN).due) == (False, False)
    file.call(withdraw, "k", "semaphore", CID)

    assert sight(DAN).due


def test_a_latch_is_nobodys_business_until_it_is_down(file: LockFile, sight: Seen) -> None:
    file.call(set_count, "k", 2)
    for owner in (ANN, BOB):
        file.call(pass_latch, "k", owner, True)
    assert not sight(ANN).due

    file.call(count_down, "k", CID)
    assert not sight(ANN).due
    file.call(count_down, "k", DAN)

    assert (sight(ANN).due, sight(BOB).due) == (True, True)


def test_those_who_wait_for_a_latch_do_not_stand_before_each_other(
    file: LockFile, sight: Seen
) -> None:
    file.call(set_count, "k", 1)
    for owner in (ANN, BOB, CID):
        file.call(pass_latch, "k", owner, True)

    assert [sight(owner).ahead for owner in (ANN, BOB, CID)] == [0, 0, 0]


def test_those_who_wait_for_a_share_are_counted_in_order(file: LockFile, sight: Seen) -> None:
    file.permit(ANN, permits=1)
    for owner in (BOB, CID, DAN):
        file.permit(owner)

    assert [sight(owner).ahead for owner in (BOB, CID, DAN)] == [0, 1, 2]


def test_signs_change_with_holders_tokens_and_facts(file: LockFile, sight: Seen) -> None:
    steps: list[Callable[[], object]] = [
        lambda: file.permit(ANN, permits=2),
        lambda: file.permit(BOB),
        lambda: file.permit(BOB),
        lambda: file.release(ANN, "semaphore"),
        lambda: file.call(set_permits, "k", "semaphore", 1),
    ]
    seen = [sight(CID).signs]
    for step in steps:
        step()
        seen.append(sight(CID).signs)

    assert len(set(seen)) == len(seen)


def test_questions_and_renewals_are_no_signs(file: LockFile, sight: Seen) -> None:
    file.attempt(ANN)
    file.attempt(BOB)
    before = sight(BOB)

    file.attempt(BOB)
    file.attempt(CID)
    file.asked(renew, 60.0, ("k", ANN))

    assert sight(BOB) == before
