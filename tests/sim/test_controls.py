"""Each rule broken on purpose, one at a time: the exploration must notice every one.

The product's files are not touched: a part of it is replaced by one that breaks the rule.
"""

from __future__ import annotations

from typing import Any

import pytest

from interlock import ledger
from interlock.errors import AcquireTimeout, StoreError
from interlock.ledger import BUSY, LedgerLocks, Records
from interlock.model import Busy, Grant, validity
from interlock.recipes import holding, keeper_round, lock
from interlock.recipes.lock import Acquisition, acquire, attempt, release, wake_by
from interlock.spi import LockStore
from interlock.steps import Steps, call, listen, park
from tests.support.sim import (
    Fault,
    Scenario,
    SimLease,
    SimRecords,
    Violation,
    Want,
    explore,
)

from .plans import BRISK, KEPT, PATIENT, STEADY


def only(*faults: Fault) -> frozenset[Fault]:
    return frozenset(faults)


# --- unknown outcomes: settle, withdraw, bury ---------------------------------------------


class Tombless(SimRecords):
    """A store whose withdrawals leave no tombstone."""

    def bury(self, owner: str, reason: str) -> None:
        pass


def test_without_a_tombstone_a_late_request_leaves_a_ghost() -> None:
    broken = Scenario((BRISK, BRISK), kinds=only(Fault.ARRIVES_LATE), records=Tombless)

    with pytest.raises(Violation, match="holds the lock again after it was given back"):
        explore(broken)


def test_without_settling_the_withdrawal_overtakes_the_request() -> None:
    """The tombstone would hide it, so there is none; settling alone must be enough."""
    kinds = only(Fault.CANCELLED)
    explore(Scenario((BRISK, BRISK), faults=2, kinds=kinds, records=Tombless))
    broken = Scenario((BRISK, BRISK), kinds=kinds, records=Tombless, settles=False)

    with pytest.raises(Violation, match="after it was given back"):
        explore(broken)


@pytest.mark.parametrize("fault", [Fault.CANCELLED, Fault.INTERRUPTED])
def test_without_withdrawal_an_interruption_leaves_a_ghost(
    fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_withdrawal(seeking: Acquisition, because: BaseException) -> Steps[bool]:
        return True
        yield

    monkeypatch.setattr(lock, "_withdraw_because", no_withdrawal)

    with pytest.raises(Violation, match="the store still knows it"):
        explore(Scenario((BRISK, BRISK), kinds=only(fault)))


def plain_release(store: LockStore, grant: Grant, until: float) -> Steps[bool]:
    return (yield from release(store, grant._replace(unanswered=False), until))


def test_without_withdrawing_an_unanswered_grant_a_late_request_leaves_a_ghost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lock, "release", plain_release)

    with pytest.raises(Violation, match="after it was given back"):
        explore(Scenario((BRISK, BRISK), kinds=only(Fault.ARRIVES_LATE)))


class Forgetful(LedgerLocks):
    """A store that does not know an owner again when it repeats its question."""

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        args = (self.kind, owner, lease, waits)
        answer: Any = yield from call(forgetful(ledger.attempt), (name,), args, until)
        return int(answer[1]) if answer[0] == ledger.GRANTED else Busy(answer[1], answer[2])


def forgetful(operation: Any) -> Any:
    def attempt(records: Records, name: str, kind: str, owner: str, *rest: Any) -> Any:
        for held in records.held(name):
            if held.owner == owner:
                return BUSY, owner, held.left
        return operation(records, name, kind, owner, *rest)

    return attempt


def test_without_knowing_its_own_owner_again_a_lost_reply_blocks_the_asker() -> None:
    plan = BRISK._replace(want=Want(Forgetful("lock", True, "simulation")))
    broken = Scenario((plan, plan), kinds=only(Fault.REPLY_LOST))

    with pytest.raises(Violation, match="was told to wait for itself"):
        explore(broken)


# --- waiting ------------------------------------------------------------------------------


def ask_then_listen(seeking: Acquisition) -> Steps[Grant]:
    """The rule turned round: the question comes first, and the listening after it."""
    answer = yield from attempt(seeking, waits=True)
    if isinstance(answer, Grant):
        return answer
    topics = seeking.store.topics(seeking.name, seeking.owner, answer)
    with (yield from listen(topics, seeking.deadline)) as wakes:
        while not seeking.expired:
            yield from park(wakes, wake_by(answer, seeking))
            answer = yield from attempt(seeking, waits=True)
            if isinstance(answer, Grant):
                return answer
    raise AcquireTimeout(seeking.name, None, 0.0)


def test_listening_after_asking_misses_a_wake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "acquire", ask_then_listen)

    with pytest.raises(Violation, match="a wake was missed"):
        explore(Scenario((BRISK, BRISK), faults=0))


def test_without_a_poll_cap_a_waiter_depends_on_its_wake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "POLL_CAP", 60.0)

    with pytest.raises(Violation, match="longer than the poll cap"):
        explore(Scenario((STEADY, STEADY), faults=0))


class Stack(SimRecords):
    """A store that serves the last one first."""

    def enqueue(self, name: str, owner: str, weight: int) -> None:
        queue = self.queues.get(name, {})
        if owner not in queue:
            self.queues[name] = {owner: weight, **queue}


def test_serving_the_last_one_first_is_out_of_order() -> None:
    with pytest.raises(Violation, match="which came first"):
        explore(Scenario((STEADY,) * 3, faults=0, records=Stack))


# --- leases -------------------------------------------------------------------------------


def count_from_the_reply(seeking: Acquisition) -> Steps[Grant]:
    grant = yield from acquire(seeking)
    now = seeking.clock()
    return grant._replace(asked=now, until=validity(now, seeking.lease))


def test_a_lease_counted_from_the_reply_makes_two_believers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plans = (STEADY._replace(work=3.0), STEADY)
    kinds = only(Fault.SLOW)
    explore(Scenario(plans, kinds=kinds))
    monkeypatch.setattr(lock, "acquire", count_from_the_reply)

    with pytest.raises(Violation, match="both believe that they hold"):
        explore(Scenario(plans, kinds=kinds))


class Marginless(SimLease):
    """A hold that trusts its lease to the last moment of its own clock."""

    def _stand(self, asked: float, until: float) -> None:
        super()._stand(asked, until)
        self.until = asked + self.lease


def test_without_a_margin_for_drift_a_fast_store_makes_two_believers() -> None:
    plans = (STEADY._replace(work=3.0), STEADY)
    explore(Scenario(plans, faults=0, rate=1.01))

    with pytest.raises(Violation, match="both believe that they hold"):
        explore(Scenario(plans, faults=0, rate=1.01, lease=Marginless))


class AddingLocks(LedgerLocks):
    """A store whose renewal adds to the lease instead of setting it."""

    def renew(self, holds: Any, lease: float, until: float) -> Steps[list[bool]]:
        def renew(records: Records, lease: float, *holds: tuple[str, str]) -> list[bool]:
            ((name, owner),) = holds
            held = next((each for each in records.held(name) if each.owner == owner), None)
            if held is None:
                return [False]
            records.put(name, held.kind, owner, held.weight, held.left + lease)
            return [True]

        answers: list[bool] = yield from call(renew, (), (lease, *holds), until)
        return answers


def test_a_renewal_that_adds_promises_more_than_a_lease() -> None:
    want = Want(AddingLocks("lock", True, "simulation"))
    plans = (KEPT._replace(want=want), PATIENT._replace(want=want))

    with pytest.raises(Violation, match="longer than any lease"):
        explore(Scenario(plans, faults=0))


class Adding(SimLease):
    """A hold that adds a renewal to what it had instead of setting it."""

    def renewed(self, asked: float) -> None:
        until = self.until + self.lease
        super().renewed(asked)
        self.until = until


def test_a_hold_that_adds_its_renewals_trusts_a_lease_that_is_over() -> None:
    plans = (KEPT, PATIENT._replace(wait=8.0))

    with pytest.raises(Violation, match=r"both believe|denied while its lease stood"):
        explore(Scenario(plans, kinds=only(Fault.PAUSED_LONG), lease=Adding))


def test_silence_taken_for_a_yes_makes_two_believers(monkeypatch: pytest.MonkeyPatch) -> None:
    settled = keeper_round._settled  # pyright: ignore[reportPrivateUsage]

    def hopeful(schedule: Any, hold: Any, answer: bool | StoreError, *rest: Any) -> bool:
        return settled(schedule, hold, True if isinstance(answer, StoreError) else answer, *rest)

    monkeypatch.setattr(keeper_round, "_settled", hopeful)
    kinds = only(Fault.REFUSED, Fault.PAUSED)

    with pytest.raises(Violation, match="both believe that they hold"):
        explore(Scenario((KEPT, PATIENT), faults=2, kinds=kinds))


class Unguarded(SimLease):
    """A hold that is reported lost only when its validity is over."""

    def _stand(self, asked: float, until: float) -> None:
        super()._stand(asked, until)
        self.lost_at = self.until


def test_without_a_guard_the_loss_is_reported_too_late() -> None:
    with pytest.raises(Violation, match="was reported too late"):
        explore(Scenario((KEPT, PATIENT), faults=2, kinds=only(Fault.SLOW), lease=Unguarded))


# --- giving back --------------------------------------------------------------------------


def test_a_lease_that_stays_on_the_schedule_while_it_is_released_is_called_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plans = (KEPT, PATIENT)
    kinds = only(Fault.SLOW)
    explore(Scenario(plans, kinds=kinds))
    monkeypatch.setattr(holding, "_release_last", release_before_it_leaves_the_schedule)

    with pytest.raises(Violation, match="gives the lock back, and is told that it lost it"):
        explore(Scenario(plans, kinds=kinds))


def release_before_it_leaves_the_schedule(session: Any, lease: Any, until: Any) -> Steps[bool]:
    lease.forget()
    limit = session.clock() + holding.RELEASE
    released = yield from release(lease.store, lease.grant, limit)
    return session.schedule.drop(lease) and released


def test_a_release_that_does_not_look_at_the_clock_hides_a_loss(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plans = (STEADY._replace(work=2.98),)  # behind the validity, before the end of the lease
    explore(Scenario(plans, faults=0))
    monkeypatch.setattr(holding, "_release_last", release_without_a_look_at_the_clock)

    with pytest.raises(Violation, match="gave back a lease that was over, and was not told"):
        explore(Scenario(plans, faults=0))


def release_without_a_look_at_the_clock(session: Any, lease: Any, until: Any) -> Steps[bool]:
    lease.forget()
    kept = session.schedule.drop(lease)
    limit = session.clock() + holding.RELEASE
    released = yield from release(lease.store, lease.grant, limit)
    return kept and released


def test_a_release_that_is_not_handed_to_the_keeper_leaves_a_ghost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plans = (KEPT, KEPT)
    kinds = only(Fault.REQUEST_LOST)
    explore(Scenario(plans, faults=2, kinds=kinds))
    monkeypatch.setattr(holding, "hand_to_keeper", lambda session, lease: session.drop(lease))

    with pytest.raises(Violation, match="the store still knows it"):
        explore(Scenario(plans, faults=2, kinds=kinds))


# --- tokens -------------------------------------------------------------------------------


class Counterless(SimRecords):
    """A store whose tokens are those of a clock that stands still."""

    def next_token(self, name: str, owner: str) -> int:
        return 1


def test_tokens_that_do_not_grow_are_noticed() -> None:
    with pytest.raises(Violation, match="token 1 was granted after 1"):
        explore(Scenario((STEADY, STEADY), faults=0, records=Counterless))
