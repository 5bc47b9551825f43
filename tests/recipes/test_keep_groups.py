"""The keeper's round with many groups: one that is silent is in nobody's way."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

from interlock.errors import OutcomeUnknown, StoreUnavailable
from interlock.model import Grant, guard, validity
from interlock.recipes.keeper_round import MOST, keep
from interlock.recipes.renewal import BY_ANSWER, BY_CLOCK, PendingWithdrawal, RenewalSchedule
from interlock.steps import Call, Park, Steps, Together

from .hand import Clock, Hand, Paper, Place
from .rounds import Watched

DOWN = StoreUnavailable("out of reach")


class Timed(Watched):
    """A hold that knows when its loss was reported."""

    clock: Clock
    reported: float | None = None

    def lose(self, cause: str) -> None:
        super().lose(cause)
        self.reported = self.clock()


class Groups:
    """A keeper under the test's hand, with a hold in each of several groups."""

    def __init__(self, *leases: float) -> None:
        self.clock, self.store, self.schedule = Clock(), Paper(), RenewalSchedule(nullcontext())
        self.holds = [self.new_hold(number, lease) for number, lease in enumerate(leases)]
        self.hand = Hand(keep(self.schedule, Place(), self.clock, self._introduce))

    def new_hold(self, number: int, lease: float) -> Timed:
        now = self.clock()
        grant = Grant(f"name {number}", f"owner:{number}", 1, now, validity(now, lease))
        hold = Timed(self.store, grant, lease, True)
        hold.clock, hold.lost_at = self.clock, grant.until - guard(lease)
        self.schedule.add(hold)
        return hold

    def _introduce(self, until: float) -> Steps[float]:
        return 1e6
        yield

    def owe(self, number: int) -> None:
        owner = f"debtor:{number}"
        self.schedule.owe(
            PendingWithdrawal(self.store, "name", owner, self.clock() + 1000.0, self.clock())
        )

    def sleep(self) -> Any:
        """Let the keeper sleep until it asks for something; answers what."""
        while isinstance(self.hand.request, Park) and not self.over:
            self.clock.now = max(self.clock.now, self.hand.request.until)
            self.hand.reply(False)
        return self.hand.request

    @property
    def over(self) -> bool:
        """Whether everything is lost."""
        return all(hold.reported is not None for hold in self.holds)

    def silence(self) -> None:
        """Nothing is answered until everything is lost."""
        while not self.over:
            request = self.sleep()
            if not self.over:
                self.clock.now = max(self.clock.now, *(each.until for each in calls_of(request)))
                self.hand.fail(OutcomeUnknown("no answer"))


def calls_of(request: Any) -> tuple[Call, ...]:
    return request.calls if isinstance(request, Together) else (request,)


def renewed(request: Any) -> list[str]:
    """Which names a request renews."""
    return [name for each in calls_of(request) for name, _ in each.args[0]]


def test_groups_that_are_due_together_are_renewed_in_one_request() -> None:
    keeping = Groups(12.0, 12.1, 12.2)
    keeping.clock.now += 4.1
    for hold in keeping.holds:
        hold.renew_at = keeping.clock.now
        keeping.schedule.settle(hold)

    request = keeping.hand.reply(True).request

    assert isinstance(request, Together)
    assert renewed(request) == ["name 0", "name 1", "name 2"]
    assert len({each.until for each in request.calls}) == 1
    keeping.hand.reply([[True], [True], [True]])
    assert isinstance(keeping.hand.request, Park)
    assert all(hold.until == validity(104.1, hold.lease) for hold in keeping.holds)


@pytest.mark.parametrize(
    "leases",
    [
        [0.3 + number / 100 for number in range(40)],
        [1.0 + number / 1000 for number in range(40)],
        [1.0, *(60.0 + number for number in range(39))],
        [0.1 * 1.2**number for number in range(40)],
    ],
    ids=["hundredths", "thousandths", "one short", "all lengths"],
)
@pytest.mark.parametrize("debts", [0, 1000])
def test_silence_is_a_loss_of_each_of_many_groups_before_its_validity_ends(
    leases: list[float], debts: int
) -> None:
    keeping = Groups(*leases)
    for number in range(debts):
        keeping.owe(number)

    keeping.silence()

    late = [hold.reported - hold.until for hold in keeping.holds if hold.reported is not None]
    assert len(late) == 40 and max(late) <= -0.01
    assert all(hold.fate == [BY_CLOCK] for hold in keeping.holds)


def test_answer_that_is_slow_to_come_does_not_make_another_group_late() -> None:
    """A short lease that becomes due meanwhile is asked for with half of its time left."""
    keeping = Groups(60.0, 1.2)
    long, short = keeping.holds
    long.renew_at = 100.0
    keeping.schedule.settle(long)
    request = keeping.hand.reply(True).request
    assert renewed(request) == ["name 0"]

    keeping.clock.now = request.until
    keeping.hand.fail(OutcomeUnknown("no answer"))

    assert short.renew_at < keeping.clock.now < (short.renew_at + short.lost_at) / 2 + 0.001
    assert renewed(keeping.hand.request) == ["name 1"]
    keeping.hand.reply([True])
    assert short.fate == []


def test_loss_that_is_due_is_reported_before_a_debt_is_paid() -> None:
    keeping = Groups(12.0, 60.0)
    lost, kept = keeping.holds
    lost.lost_at = 104.5
    keeping.schedule.settle(lost)
    assert keeping.sleep().until == 104.5
    keeping.owe(1)
    keeping.clock.now = 104.5

    keeping.hand.fail(DOWN)

    assert lost.fate == [BY_CLOCK]
    assert keeping.hand.request.operation == "withdraw"
    assert kept.fate == []


def test_debts_are_paid_side_by_side_and_not_all_at_once() -> None:
    keeping = Groups()
    for number in range(MOST + 10):
        keeping.owe(number)
    request = keeping.hand.reply(True).request
    assert len(request.calls) == MOST

    keeping.hand.reply([True] * MOST)

    assert len(keeping.hand.request.calls) == 10
    keeping.hand.reply([True] * 10)
    assert keeping.schedule.pending() == []


def test_renewal_that_is_due_goes_before_the_rest_of_the_debts() -> None:
    keeping = Groups(12.0)
    for number in range(MOST + 1):
        keeping.owe(number)
    keeping.hand.reply(True)
    keeping.clock.now = 104.0

    keeping.hand.reply([True] * MOST)

    assert renewed(keeping.hand.request) == ["name 0"]
    assert keeping.hand.reply([True]).request.operation == "withdraw"


def test_debts_that_were_confirmed_are_not_paid_again_though_another_was_not() -> None:
    keeping = Groups()
    for number in range(3):
        keeping.owe(number)

    keeping.hand.reply(True).reply([True, DOWN, False])

    assert [owed.owner for owed in keeping.schedule.pending()] == ["debtor:1"]
    assert keeping.hand.request.until == 101.0


def test_losses_of_several_groups_are_each_reported_with_their_reasons() -> None:
    keeping = Groups(12.0, 12.1)
    keeping.clock.now += 4.1
    for hold in keeping.holds:
        hold.renew_at = keeping.clock.now
        keeping.schedule.settle(hold)
    keeping.hand.reply(True).reply([[False], [False]])
    assert [each.operation for each in keeping.hand.request.calls] == [
        "withdrawal_reason",
        "withdrawal_reason",
    ]

    keeping.hand.reply(["stuck since noon", ""])

    assert [hold.fate for hold in keeping.holds] == [["stuck since noon"], [BY_ANSWER]]


def test_losses_are_reported_without_their_reasons_when_it_is_late() -> None:
    keeping = Groups(12.0)
    request = keeping.sleep()
    keeping.clock.now = request.until

    keeping.hand.reply([False])

    assert keeping.holds[0].fate == [BY_ANSWER]
    assert "withdrawal_reason" not in keeping.hand.story


def test_stumble_over_one_group_lets_the_others_be_renewed() -> None:
    keeping = Groups(12.0, 12.1)
    keeping.clock.now += 4.1
    for hold in keeping.holds:
        hold.renew_at = keeping.clock.now
        keeping.schedule.settle(hold)
    keeping.hand.reply(True)

    keeping.hand.reply([["one", "too many"], [True]])

    assert isinstance(keeping.hand.error, ValueError)
    assert keeping.holds[1].until == validity(104.1, 12.1)
