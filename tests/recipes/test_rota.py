"""What is due, decided without any I/O."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from interlock.model import Grant, guard, validity
from interlock.recipes.keep import NEVER, Owed, Rota
from interlock.testing.sim import SimHold

from .hand import Paper

STORE = Paper()


def new_rota() -> Rota:
    return Rota(nullcontext())


def hold(
    owner: str = "a:1", asked: float = 100.0, lease: float = 12.0, kept: bool = True
) -> SimHold:
    grant = Grant(f"name of {owner}", owner, 1, asked, validity(asked, lease))
    return SimHold(STORE, grant, lease, kept)


def due(rota: Rota, now: float) -> list[list[str]]:
    """The owners that are renewed now, batch by batch."""
    return [[each.owner for each in holds] for _, holds in rota.turn(now).batches]


def test_hold_is_due_a_third_of_its_lease_after_it_was_asked_for() -> None:
    rota = new_rota()
    rota.add(hold(asked=100.0, lease=12.0))

    early, in_time = rota.turn(100.0), rota.turn(104.0)

    assert early.idle and early.next_at == 104.0
    assert [len(holds) for _, holds in in_time.batches] == [1]
    assert not in_time.idle


def test_holds_with_one_lease_go_in_one_batch() -> None:
    rota = new_rota()
    for number in range(10_000):
        rota.add(hold(f"a:{number}"))
    rota.add(hold("b:1", lease=9.0))

    batches = due(rota, 104.0)

    assert sorted(len(batch) for batch in batches) == [1, 10_000]


def test_holds_that_are_nearly_due_come_along() -> None:
    rota = new_rota()
    rota.add(hold("a:1", asked=100.0))
    rota.add(hold("a:2", asked=100.9))
    rota.add(hold("a:3", asked=101.1))

    turn = rota.turn(104.0)

    assert [[each.owner for each in holds] for _, holds in turn.batches] == [["a:1", "a:2"]]
    assert turn.next_at == pytest.approx(105.1)


def test_hold_is_lost_by_the_clock_before_its_validity_ends() -> None:
    rota, silent = new_rota(), hold()
    rota.add(silent)
    assert silent.lost_at == silent.until - guard(12.0) < silent.until

    before = rota.turn(silent.lost_at - 0.001)
    rota.settle(silent)
    after = rota.turn(silent.lost_at)

    assert before.lost == [] and before.next_loss == silent.lost_at
    assert after.lost == [silent] and after.batches == []
    assert rota.holds() == []


def test_hold_that_is_not_kept_is_never_renewed_but_lost_in_time() -> None:
    rota, fixed = new_rota(), hold(kept=False)
    rota.add(fixed)

    assert rota.turn(110.0).idle
    assert rota.turn(fixed.lost_at).lost == [fixed]


def test_dropping_a_hold_twice_is_noticed() -> None:
    rota, held = new_rota(), hold()
    rota.add(held)

    assert rota.drop(held)
    assert not rota.drop(held)
    assert rota.turn(104.0).idle


def test_new_hold_wakes_the_keeper_only_if_it_is_due_before_the_keeper_looks() -> None:
    rota = new_rota()
    rota.add(hold("a:1", asked=100.0))
    rota.turn(100.0)

    later, sooner = hold("a:2", asked=101.0), hold("b:1", asked=100.5, lease=3.0)

    assert not rota.add(later)
    assert rota.add(sooner)


def test_keeper_at_work_need_not_be_woken_and_a_missing_one_must() -> None:
    rota = new_rota()
    assert rota.add(hold("a:1"))
    rota.turn(104.0)  # it goes to work on a:1

    assert not rota.add(hold("a:2", asked=104.0))
    rota.unattended()
    assert rota.add(hold("a:3", asked=104.0))


def test_lock_taken_again_and_again_does_not_wake_the_keeper_each_time() -> None:
    rota = new_rota()
    rota.add(first := hold("a:1", asked=100.0))
    rota.turn(100.0)
    rota.drop(first)

    woken = []
    for number in range(2, 50):
        again = hold(f"a:{number}", asked=100.0 + number / 100)
        woken.append(rota.add(again))
        rota.drop(again)

    assert not any(woken)


def test_new_instants_of_a_renewed_hold_are_noted() -> None:
    rota, held = new_rota(), hold()
    rota.add(held)
    rota.turn(104.0)
    held.renewed(104.0)

    rota.settle(held)

    assert rota.turn(104.0).next_at == 108.0


def test_instants_of_a_hold_that_was_dropped_meanwhile_are_not_noted() -> None:
    rota, held = new_rota(), hold()
    rota.add(held)
    rota.turn(104.0)
    rota.drop(held)

    rota.settle(held)

    assert rota.turn(104.0).next_at == NEVER


@pytest.mark.parametrize(("now", "count"), [(101.9, 0), (102.0, 1)])
def test_owed_withdrawal_is_due_at_its_instant(now: float, count: int) -> None:
    rota = new_rota()
    rota.owe(Owed(STORE, "name", "a:1", expires=130.0, due=102.0))

    turn = rota.turn(now)

    assert len(turn.owed) == count
    assert turn.idle is (count == 0)
    assert turn.next_at == 102.0


def test_debt_stays_on_the_list_until_it_is_settled() -> None:
    rota, debt = new_rota(), Owed(STORE, "name", "a:1", expires=130.0, due=102.0)
    rota.owe(debt)

    assert rota.turn(102.0).owed == rota.turn(102.0).owed == [debt]
    rota.settle_debt(debt)
    assert rota.turn(102.0).owed == []
