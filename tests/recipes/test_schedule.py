"""What is due, decided without any I/O."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from interlock.model import Grant, guard, validity
from interlock.recipes.renewal import NEVER, PendingWithdrawal, RenewalSchedule
from tests.support.sim import SimHold

from .hand import Paper

STORE = Paper()


def new_rota() -> RenewalSchedule:
    return RenewalSchedule(nullcontext())


def hold(
    owner: str = "a:1", asked: float = 100.0, lease: float = 12.0, kept: bool = True
) -> SimHold:
    grant = Grant(f"name of {owner}", owner, 1, asked, validity(asked, lease))
    return SimHold(STORE, grant, lease, kept)


def due(schedule: RenewalSchedule, now: float) -> list[list[str]]:
    """The owners that are renewed now, batch by batch."""
    return [[each.owner for each in holds] for _, holds in schedule.due(now).batches]


def test_hold_is_due_a_third_of_its_lease_after_it_was_asked_for() -> None:
    schedule = new_rota()
    schedule.add(hold(asked=100.0, lease=12.0))

    early, in_time = schedule.due(100.0), schedule.due(104.0)

    assert early.idle and early.next_at == 104.0
    assert [len(holds) for _, holds in in_time.batches] == [1]
    assert not in_time.idle


def test_holds_with_one_lease_go_in_one_batch() -> None:
    schedule = new_rota()
    for number in range(10_000):
        schedule.add(hold(f"a:{number}"))
    schedule.add(hold("b:1", lease=9.0))

    batches = due(schedule, 104.0)

    assert sorted(len(batch) for batch in batches) == [1, 10_000]


def test_holds_that_are_nearly_due_come_along() -> None:
    schedule = new_rota()
    schedule.add(hold("a:1", asked=100.0))
    schedule.add(hold("a:2", asked=100.9))
    schedule.add(hold("a:3", asked=101.1))

    turn = schedule.due(104.0)

    assert [[each.owner for each in holds] for _, holds in turn.batches] == [["a:1", "a:2"]]
    assert turn.next_at == pytest.approx(105.1)


def test_hold_is_lost_by_the_clock_before_its_validity_ends() -> None:
    schedule, silent = new_rota(), hold()
    schedule.add(silent)
    assert silent.lost_at == silent.until - guard(12.0) < silent.until

    before = schedule.due(silent.lost_at - 0.001)
    schedule.settle(silent)
    after = schedule.due(silent.lost_at)

    assert before.lost == [] and before.next_loss == silent.lost_at
    assert after.lost == [silent] and after.batches == []
    assert schedule.holds() == []


def test_hold_that_is_not_kept_is_never_renewed_but_lost_in_time() -> None:
    schedule, fixed = new_rota(), hold(kept=False)
    schedule.add(fixed)

    assert schedule.due(110.0).idle
    assert schedule.due(fixed.lost_at).lost == [fixed]


def test_dropping_a_hold_twice_is_noticed() -> None:
    schedule, held = new_rota(), hold()
    schedule.add(held)

    assert schedule.drop(held)
    assert not schedule.drop(held)
    assert schedule.due(104.0).idle


def test_new_hold_wakes_the_keeper_only_if_it_is_due_before_the_keeper_looks() -> None:
    schedule = new_rota()
    schedule.add(hold("a:1", asked=100.0))
    schedule.due(100.0)

    later, sooner = hold("a:2", asked=101.0), hold("b:1", asked=100.5, lease=3.0)

    assert not schedule.add(later)
    assert schedule.add(sooner)


def test_keeper_at_work_need_not_be_woken_and_a_missing_one_must() -> None:
    schedule = new_rota()
    assert schedule.add(hold("a:1"))
    schedule.due(104.0)  # it goes to work on a:1

    assert not schedule.add(hold("a:2", asked=104.0))
    schedule.unattended()
    assert schedule.add(hold("a:3", asked=104.0))


def test_lock_taken_again_and_again_does_not_wake_the_keeper_each_time() -> None:
    schedule = new_rota()
    schedule.add(first := hold("a:1", asked=100.0))
    schedule.due(100.0)
    schedule.drop(first)

    woken = []
    for number in range(2, 50):
        again = hold(f"a:{number}", asked=100.0 + number / 100)
        woken.append(schedule.add(again))
        schedule.drop(again)

    assert not any(woken)


def test_new_instants_of_a_renewed_hold_are_noted() -> None:
    schedule, held = new_rota(), hold()
    schedule.add(held)
    schedule.due(104.0)
    held.renewed(104.0)

    schedule.settle(held)

    assert schedule.due(104.0).next_at == 108.0


def test_instants_of_a_hold_that_was_dropped_meanwhile_are_not_noted() -> None:
    schedule, held = new_rota(), hold()
    schedule.add(held)
    schedule.due(104.0)
    schedule.drop(held)

    schedule.settle(held)

    assert schedule.due(104.0).next_at == NEVER


@pytest.mark.parametrize(("now", "count"), [(101.9, 0), (102.0, 1)])
def test_owed_withdrawal_is_due_at_its_instant(now: float, count: int) -> None:
    schedule = new_rota()
    schedule.owe(PendingWithdrawal(STORE, "name", "a:1", expires=130.0, due=102.0))

    turn = schedule.due(now)

    assert len(turn.owed) == count
    assert turn.idle is (count == 0)
    assert turn.next_at == 102.0


def test_debt_stays_on_the_list_until_it_is_settled() -> None:
    schedule, debt = new_rota(), PendingWithdrawal(STORE, "name", "a:1", expires=130.0, due=102.0)
    schedule.owe(debt)

    assert schedule.due(102.0).owed == schedule.due(102.0).owed == [debt]
    schedule.settle_withdrawal(debt)
    assert schedule.due(102.0).owed == []
