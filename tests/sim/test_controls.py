"""Each rule broken on purpose, one at a time: the exploration must notice every one.

The product's files are not touched: a part of it is replaced by one that breaks the rule.
"""

from __future__ import annotations

from typing import Any

import pytest

from interlock import ledger
from interlock.errors import AcquireTimeout, StoreError
from interlock.ledger import BUSY, LedgerLocks, Shelf
from interlock.model import Busy, Grant, validity
from interlock.recipes import keep, lock
from interlock.recipes.lock import Seeking, acquire, attempt, release, wake_by
from interlock.steps import Steps, call, listen, park
from interlock.stores import LockStore
from interlock.testing.sim import (
    Fault,
    Scenario,
    SimHold,
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
    def no_withdrawal(seeking: Seeking, because: BaseException) -> Steps[bool]:
        return True
        yield

    monkeypatch.setattr(lock, "_withdraw_because", no_withdrawal)

    with pytest.raises(Violation, match="the store still knows it"):
        explore(Scenario((BRISK, BRISK), kinds=only(fault)))


def plain_release(store: LockStore, grant: Grant, until: float) -> Steps[bool]:
    return (yield from release(store, grant._replace(doubted=False), until))


def test_without_withdrawing_a_doubted_grant_a_late_request_leaves_a_ghost() -> None:
    broken = Scenario((BRISK, BRISK), kinds=only(Fault.ARRIVES_LATE), release=plain_release)

    with pytest.raises(Violation, match="after it was given back"):
        explore(broken)


class Forgetful(LedgerLocks):
    """A store that does not know an owner again when it repeats its question."""

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        args = (self.kind, owner, lease, waits)
        answer: Any = yield from call(forgetful(ledger.attempt), (name,), args, until)
        return int(answer[1]) if answer[0] == ledger.GRANTED else Busy(answer[1], answer[2])


def forgetful(operation: Any) -> Any:
    def attempt(shelf: Shelf, name: str, kind: str, owner: str, *rest: Any) -> Any:
        for held in shelf.held(name):
            if held.owner == owner:
                return BUSY, owner, held.left
        return operation(shelf, name, kind, owner, *rest)

    return attempt


def test_without_knowing_its_own_owner_again_a_lost_reply_blocks_the_asker() -> None:
    plan = BRISK._replace(want=Want(Forgetful("lock", True, "simulation")))
    broken = Scenario((plan, plan), kinds=only(Fault.REPLY_LOST))

    with pytest.raises(Violation, match="was told to wait for itself"):
        explore(broken)


# --- waiting ------------------------------------------------------------------------------


def ask_then_listen(seeking: Seeking) -> Steps[Grant]:
    """The rule turned round: the question comes first, and the listening after it."""
    answer = yield from attempt(seeking, waits=True)
    if isinstance(answer, Grant):
        return answer
    with (yield from listen(seeking.store.topics(seeking.name, seeking.owner, answer))) as wakes:
        while not seeking.expired:
            yield from park(wakes, wake_by(answer, seeking))
            answer = yield from attempt(seeking, waits=True)
            if isinstance(answer, Grant):
                return answer
    raise AcquireTimeout(seeking.name, None, 0.0)


def test_listening_after_asking_misses_a_wake() -> None:
    with pytest.raises(Violation, match="a wake was missed"):
        explore(Scenario((BRISK, BRISK), faults=0, acquire=ask_then_listen))


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


def count_from_the_reply(seeking: Seeking) -> Steps[Grant]:
    grant = yield from acquire(seeking)
    now = seeking.clock()
    return grant._replace(asked=now, until=validity(now, seeking.lease))


def test_a_lease_counted_from_the_reply_makes_two_believers() -> None:
    plans = (STEADY._replace(work=3.0), STEADY)
    kinds = only(Fault.SLOW)
    explore(Scenario(plans, kinds=kinds))

    with pytest.raises(Violation, match="both believe that they hold"):
        explore(Scenario(plans, kinds=kinds, acquire=count_from_the_reply))


class Marginless(SimHold):
    """A hold that trusts its lease to the last moment of its own clock."""

    def stand(self, asked: float) -> None:
        super().stand(asked)
        self.until = asked + self.lease


def test_without_a_margin_for_drift_a_fast_store_makes_two_believers() -> None:
    plans = (STEADY._replace(work=3.0), STEADY)
    explore(Scenario(plans, faults=0, rate=1.01))

    with pytest.raises(Violation, match="both believe that they hold"):
        explore(Scenario(plans, faults=0, rate=1.01, hold=Marginless))


class AddingLocks(LedgerLocks):
    """A store whose renewal adds to the lease instead of setting it."""

    def renew(self, holds: Any, lease: float, until: float) -> Steps[list[bool]]:
        def renew(shelf: Shelf, lease: float, *holds: tuple[str, str]) -> list[bool]:
            ((name, owner),) = holds
            held = next((each for each in shelf.held(name) if each.owner == owner), None)
            if held is None:
                return [False]
            shelf.put(name, held.kind, owner, held.weight, held.left + lease)
            return [True]

        answers: list[bool] = yield from call(renew, (), (lease, *holds), until)
        return answers


def test_a_renewal_that_adds_promises_more_than_a_lease() -> None:
    want = Want(AddingLocks("lock", True, "simulation"))
    plans = (KEPT._replace(want=want), PATIENT._replace(want=want))

    with pytest.raises(Violation, match="longer than any lease"):
        explore(Scenario(plans, faults=0))


class Adding(SimHold):
    """A hold that adds a renewal to what it had instead of setting it."""

    def renewed(self, asked: float) -> None:
        until = self.until + self.lease
        super().renewed(asked)
        self.until = until


def test_a_hold_that_adds_its_renewals_trusts_a_lease_that_is_over() -> None:
    plans = (KEPT, PATIENT._replace(wait=8.0))

    with pytest.raises(Violation, match=r"both believe|denied while its lease stood"):
        explore(Scenario(plans, kinds=only(Fault.PAUSED_LONG), hold=Adding))


def test_silence_taken_for_a_yes_makes_two_believers(monkeypatch: pytest.MonkeyPatch) -> None:
    settled = keep._settled  # pyright: ignore[reportPrivateUsage]

    def hopeful(rota: Any, hold: Any, answer: bool | StoreError, *rest: Any) -> bool:
        return settled(rota, hold, True if isinstance(answer, StoreError) else answer, *rest)

    monkeypatch.setattr(keep, "_settled", hopeful)
    kinds = only(Fault.REFUSED, Fault.PAUSED)

    with pytest.raises(Violation, match="both believe that they hold"):
        explore(Scenario((KEPT, PATIENT), faults=2, kinds=kinds))


class Unguarded(SimHold):
    """A hold that is reported lost only when its validity is over."""

    def stand(self, asked: float) -> None:
        super().stand(asked)
        self.lost_at = self.until


def test_without_a_guard_the_loss_is_reported_too_late() -> None:
    with pytest.raises(Violation, match="was reported too late"):
        explore(Scenario((KEPT, PATIENT), faults=2, kinds=only(Fault.SLOW), hold=Unguarded))


# --- tokens -------------------------------------------------------------------------------


class Counterless(SimRecords):
    """A store whose tokens are those of a clock that stands still."""

    def next_token(self, name: str, owner: str) -> int:
        return 1


def test_tokens_that_do_not_grow_are_noticed() -> None:
    with pytest.raises(Violation, match="token 1 was granted after 1"):
        explore(Scenario((STEADY, STEADY), faults=0, records=Counterless))
