"""What the ledger, and its client, make of a writer that goes on as a reader."""

from __future__ import annotations

import pytest

from interlock import LockLost
from interlock.ledger import GRANTED, NOT_HELD, RELEASED, LedgerRw
from interlock.model import Grant, Terms, validity
from interlock.recipes.renewal import BY_CLOCK
from interlock.recipes.rw_lease import downgrade
from tests.support.sim.leases import SimLease, SimRwLease
from tests.support.sim.sessions import SimSession

from .desk import LEASE, RwDesk


@pytest.fixture
def desk() -> RwDesk:
    return RwDesk()


def test_downgrade_lets_waiting_readers_in_and_no_writer(desk: RwDesk) -> None:
    desk.write("v")
    desk.wait("a")
    desk.wait("b")
    desk.wait_to_write("w")

    assert desk.downgrade("v") == RELEASED

    assert desk.modes == {"v": "read", "a": "read", "b": "read"}
    assert desk.queue == ["w"]


def test_downgrade_makes_the_lease_whole(desk: RwDesk) -> None:
    desk.write("v")
    desk.clock.now += 10.0

    desk.downgrade("v")

    assert desk.lefts == {"v": LEASE}


def test_downgrade_may_be_repeated(desk: RwDesk) -> None:
    desk.write("v")

    assert [desk.downgrade("v"), desk.downgrade("v")] == [RELEASED, RELEASED]
    assert desk.modes == {"v": "read"}


def test_downgrade_of_what_is_not_held_makes_nobody_a_reader(desk: RwDesk) -> None:
    desk.write("v")
    desk.clock.now += LEASE

    assert desk.downgrade("v") == NOT_HELD
    assert desk.downgrade("a") == NOT_HELD
    assert desk.holders == []


def test_question_to_write_that_comes_after_the_downgrade_makes_no_reader_a_writer(
    desk: RwDesk,
) -> None:
    """Its first copy was answered; a second one was delayed on the way."""
    desk.write("v")
    desk.downgrade("v")
    desk.read("a")

    assert desk.write("v")[0] == GRANTED

    assert desk.modes == {"v": "read", "a": "read"}


class LossSession(SimSession):
    """A session that keeps what it is told."""

    cause = ""

    def renewed(self, lease: SimLease) -> None: ...

    def lost(self, lease: SimLease, cause: str) -> None:
        self.cause = cause


def test_answer_that_comes_after_the_lease_has_ended_revives_nothing() -> None:
    now = [0.0]
    session, store = LossSession(lambda: now[0]), LedgerRw("write", "here")
    grant = Grant("name", "w", 7, 0.0, validity(0.0, 10.0))
    lease = SimRwLease(session, store, ("rwlock", "name"), grant, Terms(10.0), lambda: None)
    session.schedule.add(lease)
    asking = downgrade(session, lease)
    next(asking)

    now[0] = 20.0  # the keeper has not noticed yet
    with pytest.raises(LockLost):
        asking.send(RELEASED)

    assert lease.lost
    assert session.cause == BY_CLOCK
    assert not session.schedule.knows(lease)
