"""What the ledger makes of permits: how many hold, who waits, who is let in."""

from __future__ import annotations

import pytest

from interlock import ledger
from interlock.errors import StoreMisconfigured
from interlock.ledger import BUSY, GRANTED, NOT_HELD, OTHER_KIND, RELEASED, UNSET
from interlock.ledger.stores import refusal
from interlock.model import PROVISIONAL

from .desk import LEASE, Desk, PermitDesk


@pytest.fixture
def desk() -> PermitDesk:
    """A semaphore of four permits."""
    return PermitDesk(permits=4)


# --- how many -------------------------------------------------------------------------------


def test_as_many_hold_as_there_are_permits(desk: PermitDesk) -> None:
    answers = [desk.attempt(owner) for owner in "abcde"]

    assert [answer[0] for answer in answers] == [GRANTED] * 4 + [BUSY]
    assert answers[-1] == (BUSY, "a", LEASE)
    assert [desk.holders, desk.available] == [["a", "b", "c", "d"], 0]


def test_permits_are_counted_by_their_weights(desk: PermitDesk) -> None:
    assert desk.attempt("a", weight=3)[0] == GRANTED

    assert desk.attempt("b", weight=2)[0] == BUSY
    assert desk.attempt("c", weight=1)[0] == GRANTED
    assert desk.available == 0
    assert [each.weight for each in desk.look().holders] == [3, 1]


def test_owner_that_asks_again_takes_no_second_permit(desk: PermitDesk) -> None:
    first = desk.attempt("a", weight=2)
    desk.clock.now += 10.0

    second = desk.attempt("a", weight=2)

    assert second[0] == GRANTED and second[1] > first[1]
    assert (desk.lefts, desk.available) == ({"a": LEASE}, 2)


def test_release_gives_all_permits_back_once(desk: PermitDesk) -> None:
    desk.attempt("a", weight=3)

    assert [desk.release("a"), desk.release("a")] == [RELEASED, NOT_HELD]
    assert desk.available == 4


def test_permits_of_one_whose_lease_ended_come_back(desk: PermitDesk) -> None:
    desk.attempt("a", weight=3)
    desk.clock.now += 10.0
    desk.attempt("b")
    desk.clock.now += 20.0

    assert desk.available == 3
    assert desk.attempt("c", weight=3)[0] == GRANTED
    assert desk.release("a") == NOT_HELD
    assert desk.available == 0


def test_renewal_keeps_the_weight(desk: PermitDesk) -> None:
    desk.attempt("a", weight=3)

    assert desk.renew("a") == [True]
    assert desk.available == 1


# --- no owner overtakes -----------------------------------------------------------------------


def test_heavy_waiter_is_not_overtaken_by_light_ones(desk: PermitDesk) -> None:
    desk.attempt("a", weight=3)
    desk.wait("heavy", weight=2)

    assert desk.attempt("b") == (BUSY, "a", LEASE)
    assert desk.wait("c") == (BUSY, "a", LEASE)
    assert (desk.holders, desk.queue, desk.available) == (["a"], ["heavy", "c"], 1)


def test_release_lets_in_as_many_as_fit_in_order(desk: PermitDesk) -> None:
    desk.attempt("a", weight=4)
    for owner, weight in (("b", 1), ("c", 2), ("d", 2), ("e", 1)):
        desk.wait(owner, weight)

    desk.release("a")

    assert desk.lefts == {"b": PROVISIONAL, "c": PROVISIONAL}
    assert (desk.woken, desk.queue, desk.available) == (["b", "c"], ["d", "e"], 1)


def test_dead_heavy_waiter_keeps_nobody_out(desk: PermitDesk) -> None:
    desk.attempt("a", weight=3)
    desk.wait("heavy", weight=2)
    desk.vanish("heavy")

    assert desk.attempt("b")[0] == GRANTED
    assert (desk.holders, desk.queue) == (["a", "b"], [])


def test_those_behind_a_dead_heavy_waiter_are_let_in_by_the_next_release(
    desk: PermitDesk,
) -> None:
    desk.attempt("a", weight=2)
    desk.attempt("b", weight=2)
    desk.wait("heavy", weight=4)
    desk.wait("c", weight=1)
    desk.vanish("heavy")

    desk.release("a")

    assert (desk.holders, desk.woken, desk.queue) == (["b", "c"], ["c"], [])


def test_those_behind_a_heavy_waiter_are_let_in_when_it_gives_up(desk: PermitDesk) -> None:
    desk.attempt("a", weight=3)
    desk.wait("heavy", weight=2)
    desk.wait("b")

    assert desk.withdraw("heavy") == NOT_HELD

    assert desk.lefts == {"a": LEASE, "b": PROVISIONAL}


def test_permits_handed_to_one_that_gives_up_are_passed_on(desk: PermitDesk) -> None:
    desk.attempt("a", weight=4)
    desk.wait("b", weight=3)
    desk.wait("c", weight=2)
    desk.release("a")
    assert desk.holders == ["b"]

    assert desk.withdraw("b") == RELEASED

    assert (desk.holders, desk.available) == (["c"], 2)


# --- how many there are in all ----------------------------------------------------------------


def test_first_to_ask_sets_the_permits_and_nobody_after_it(desk: PermitDesk) -> None:
    desk.attempt("a")
    desk.permits = 1

    assert desk.attempt("b")[0] == GRANTED
    assert desk.look().permits == 4


def test_semaphore_whose_permits_nobody_has_set_is_refused() -> None:
    desk = PermitDesk(permits=None)

    assert desk.attempt("a") == (UNSET,)
    assert desk.wait("a") == (UNSET,)
    assert (desk.look(), desk.queue) == (None, [])
    error = refusal("name", "semaphore", (UNSET,), "store")
    assert isinstance(error, StoreMisconfigured)
    assert "pass permits=" in str(error) and "set_permits()" in str(error)


def test_permits_that_were_set_need_not_be_said_again() -> None:
    desk = PermitDesk(permits=None)
    desk.set_permits(1)

    assert [desk.attempt("a")[0], desk.attempt("b")[0]] == [GRANTED, BUSY]


def test_more_permits_let_more_in(desk: PermitDesk) -> None:
    desk.attempt("a", weight=4)
    for owner in "bcd":
        desk.wait(owner)

    assert desk.set_permits(6) == (GRANTED,)

    assert (desk.holders, desk.woken, desk.queue) == (["a", "b", "c"], ["b", "c"], ["d"])


def test_fewer_permits_take_nothing_from_holders_and_let_nobody_in(desk: PermitDesk) -> None:
    desk.attempt("a", weight=2)
    desk.attempt("b", weight=2)

    desk.set_permits(1)

    assert (desk.holders, desk.available, desk.renew("a")) == (["a", "b"], 0, [True])
    desk.release("a")
    assert desk.wait("c") == (BUSY, "b", LEASE)
    desk.release("b")
    assert desk.holders == ["c"]


def test_no_permits_at_all_keep_everybody_waiting() -> None:
    desk = PermitDesk(permits=0)

    assert desk.wait("a") == (BUSY, None, None)
    assert desk.attempt("b") == (BUSY, "a", None)
    desk.set_permits(1)
    assert desk.holders == ["a"]


def test_setting_permits_may_be_repeated(desk: PermitDesk) -> None:
    assert [desk.set_permits(2), desk.set_permits(2)] == [(GRANTED,), (GRANTED,)]
    assert (desk.look().permits, desk.available) == (2, 2)


# --- one kind a name ----------------------------------------------------------------------------


@pytest.mark.parametrize("other", ["lock", "rwlock", "leased_semaphore"])
def test_name_that_is_a_semaphore_is_nothing_else_even_when_nobody_holds(
    desk: PermitDesk, other: str
) -> None:
    desk.set_permits(4)

    assert desk.attempt("a", waits=True, kind=other) == (OTHER_KIND, "semaphore")
    assert ledger.set_permits(desk.records, "name", "leased_semaphore", 2)[0] == OTHER_KIND
    assert ledger.set_count(desk.records, "name", 2) == (OTHER_KIND, "semaphore")
    assert (desk.holders, desk.queue, desk.look().permits) == ([], [], 4)


def test_name_that_is_a_lock_is_no_semaphore() -> None:
    desk = Desk("lock")
    desk.attempt("a")

    answer = ledger.attempt(desk.records, "name", "semaphore", "b", LEASE, True, 1, 4)

    assert answer == (OTHER_KIND, "lock")
    assert ledger.set_permits(desk.records, "name", "semaphore", 4) == (OTHER_KIND, "lock")
    assert (desk.holder, desk.queue, desk.records.declarations) == ("a", [], {})


def test_look_tells_what_is_free_and_who_waits(desk: PermitDesk) -> None:
    desk.attempt("a", weight=3)
    desk.clock.now += 10.0
    desk.wait("b", weight=2)

    info = desk.look()

    assert (info.kind, info.permits, info.available, info.waiters) == ("semaphore", 4, 1, 1)
    assert (info.expires_in, info.holders[0].mode, info.count) == (20.0, "", None)
