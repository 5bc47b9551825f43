"""Semaphores: how many permits there are, who has them, and who is next."""

from __future__ import annotations

from pathlib import Path

from interlock.ledger import look, names, set_permits
from interlock.ledger.records import BUSY, GRANTED, OTHER_KIND, UNSET

from .lockfile import ANN, BOB, CID, DAN, LockFile
from .raw import ask, holders, queue, weights


def test_permits_are_given_out_until_there_is_none(file: LockFile, path: Path) -> None:
    assert file.permit(ANN, weight=2, permits=3)[0] == GRANTED
    assert file.permit(BOB)[0] == GRANTED
    assert file.permit(CID)[0] == BUSY

    info = file.call(look, "k")
    assert (info.permits, info.available, info.waiters) == (3, 0, 1)
    assert [holder.weight for holder in info.holders] == weights(path) == [2, 1]


def test_permits_that_come_back_go_to_as_many_as_fit_in_order(file: LockFile, path: Path) -> None:
    file.permit(ANN, weight=3, permits=3)
    for owner, weight in ((BOB, 2), (CID, 2), (DAN, 1)):
        file.permit(owner, weight)

    file.release(ANN, "semaphore")

    assert (holders(path), queue(path)) == ([BOB], [CID, DAN])


def test_more_permits_are_handed_over_at_once(file: LockFile, path: Path) -> None:
    file.permit(ANN, permits=1)
    for owner, weight in ((BOB, 2), (CID, 1)):
        file.permit(owner, weight)

    file.call(set_permits, "k", "semaphore", 4)

    assert (holders(path), weights(path), queue(path)) == ([ANN, BOB, CID], [1, 2, 1], [])


def test_fewer_permits_take_nothing_away_from_those_who_have_them(
    file: LockFile, path: Path
) -> None:
    for owner in (ANN, BOB):
        file.permit(owner, permits=2)

    file.call(set_permits, "k", "semaphore", 1)
    file.release(ANN, "semaphore")

    assert file.permit(CID)[0] == BUSY
    assert holders(path) == [BOB]


def test_the_number_of_permits_is_the_first_that_was_said(file: LockFile, path: Path) -> None:
    assert file.permit(ANN) == (UNSET,)
    file.permit(ANN, permits=2)
    file.permit(BOB, permits=9)

    assert ask(path, "SELECT * FROM facts") == [("k", "semaphore", 2)]


def test_a_semaphore_stays_one_when_nobody_holds_it(file: LockFile) -> None:
    file.permit(ANN, permits=2)
    file.release(ANN, "semaphore")

    assert file.attempt(BOB) == (OTHER_KIND, "semaphore")
    assert file.call(look, "k").available == 2
    assert file.asked(names) == [("k", "semaphore")]
