"""What can be read from the ledger, and that reading changes nothing."""

from __future__ import annotations

import pytest

from interlock import ledger
from interlock.model import TOMBSTONE, Holder

from .desk import LEASE, Desk


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_reason_of_a_withdrawal_can_be_read_by_its_owner(desk: Desk) -> None:
    desk.attempt("a")
    desk.withdraw("a", "stuck since noon")

    assert ledger.withdrawal_reason(desk.records, "name", "a") == "stuck since noon"
    assert ledger.withdrawal_reason(desk.records, "name", "b") == ""


def test_withdrawal_without_a_reason_keeps_the_one_that_was_given_before(desk: Desk) -> None:
    """The owner itself withdraws when it gives up; the operator's reason must survive it."""
    desk.withdraw("a", "stuck since noon")

    desk.withdraw("a")

    assert ledger.withdrawal_reason(desk.records, "name", "a") == "stuck since noon"


def test_names_in_use_are_told_with_their_kinds(desk: Desk) -> None:
    ledger.attempt(desk.records, "a lock", "lock", "x", LEASE, False)
    ledger.attempt(desk.records, "read", "rwlock", "x", LEASE, False)
    ledger.set_permits(desk.records, "gpu", "semaphore", 4)
    ledger.set_count(desk.records, "import", 3)

    kinds = {"a lock": "lock", "read": "rwlock", "gpu": "semaphore", "import": "latch"}
    assert dict(ledger.names(desk.records)) == kinds
    assert {name: ledger.kind_of(desk.records, name) for name in kinds} == kinds


def test_names_whose_leases_have_ended_are_not_in_use(desk: Desk) -> None:
    desk.attempt("a")
    desk.clock.now += LEASE

    assert ledger.names(desk.records) == []
    assert ledger.kind_of(desk.records, "name") is None


def test_holders_are_described_as_their_client_introduced_itself(desk: Desk) -> None:
    ledger.introduce(desk.records, Holder("client", "host", 42, "app"))
    desk.attempt("client:1")

    (holder,) = desk.look().holders

    assert str(holder) == "host:42 (app)"


def test_look_tells_who_holds_and_how_many_wait(desk: Desk) -> None:
    desk.attempt("a")
    desk.wait("b")

    info = ledger.look(desk.records, "name")

    assert info is not None
    assert (info.holders[0].owner, info.expires_in, info.waiters) == ("a", LEASE, 1)
    assert ledger.look(desk.records, "other") is None


def test_looking_changes_nothing(desk: Desk) -> None:
    desk.attempt("a")
    desk.wait("b")
    desk.clock.now += TOMBSTONE  # every lease and every tomb is over

    assert desk.look() is None
    assert ledger.names(desk.records) == []
    assert (desk.woken, desk.queue) == ([], ["b"])
