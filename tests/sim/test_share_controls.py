"""Each rule of sharing broken on purpose, one at a time: the exploration must notice.

The product's files are not touched: a part of it is replaced by one that breaks the rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from interlock import ledger
from interlock.ledger import BUSY, WHOLE, Held, LedgerPermits, LedgerRw, Queued, Records, locks
from interlock.model import PROVISIONAL
from interlock.steps import Call, Steps
from tests.support.sim import Fault, Plan, Scenario, SimRwLease, Violation, Want, explore

from .plans import (
    BRISK_LIGHT,
    BRISK_READER,
    BRISK_WRITER,
    HASTY_WRITER,
    HEAVY,
    LIGHT,
    READER,
    TURNING,
    WRITER,
)


def only(*faults: Fault) -> frozenset[Fault]:
    return frozenset(faults)


def instead(steps: Steps[Any], operation: Any) -> Steps[Any]:
    """Let the store do something else than the operation that is asked for."""
    reply = None
    try:
        while True:
            request = steps.send(reply)
            assert isinstance(request, Call)
            operation.__name__ = request.operation.__name__  # by which the watch knows it
            reply = yield request._replace(operation=operation)
    except StopIteration as end:
        return end.value


# --- nobody overtakes -------------------------------------------------------------------------


def overtaking(records: Records, name: str, kind: str, asker: Queued) -> tuple[Any, ...] | None:
    """Whoever fits is let in, whoever waits."""
    held = locks.hand_over(records, name, kind, asker.owner)
    if locks.fits(held, asker.weight, locks.room_of(records, name, kind)):
        return None
    return BUSY, held[0].owner, min(each.left for each in held)


OVERTAKEN = {"rwlock": (READER, WRITER, READER), "semaphore": (LIGHT, HEAVY, LIGHT)}


@pytest.mark.parametrize("plans", OVERTAKEN.values(), ids=OVERTAKEN)
def test_without_the_rule_that_nobody_overtakes_one_that_wants_all_is_overtaken(
    plans: tuple[Plan, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "_refused", overtaking)

    with pytest.raises(Violation, match="which came first"):
        explore(Scenario(plans, faults=0))


def skipping(records: Records, name: str, kind: str, asker: str | None = None) -> Sequence[Held]:
    """Hand over to whoever fits, past those who do not."""
    room, held = locks.room_of(records, name, kind), list(records.held(name))
    queue: dict[str, int] = getattr(records, "queues").get(name, {})  # noqa: B009 - of the records
    for owner, weight in list(queue.items()):
        if owner == asker:
            break
        if locks.fits(held, weight, room) and records.wake(name, owner):
            records.dequeue(name, owner)
            records.put(name, kind, owner, weight, PROVISIONAL)
            held.append(Held(kind, owner, weight, PROVISIONAL))
    return held


def test_handing_over_past_a_heavy_waiter_is_out_of_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "hand_over", skipping)

    with pytest.raises(Violation, match="which came first"):
        explore(Scenario((LIGHT, LIGHT, HEAVY, LIGHT), faults=0))


# --- how much there is ------------------------------------------------------------------------


def counting_heads(held: Iterable[Held], weight: int, room: int) -> bool:
    """Holders are counted, and not what they hold."""
    return len(list(held)) + 1 <= room


@pytest.mark.parametrize("plans", [(HEAVY, LIGHT), (WRITER, READER)], ids=["permits", "readers"])
def test_without_counting_weights_too_many_hold(
    plans: tuple[Plan, Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "fits", counting_heads)

    with pytest.raises(Violation, match="is on record, where there is room for"):
        explore(Scenario(plans, faults=0))


class Modest(LedgerRw):
    """Writers that take no more than a reader does: the store cannot know better."""

    def _share(self) -> tuple[Any, ...]:
        return (1,)


def test_writer_that_does_not_take_the_whole_shares_with_readers() -> None:
    modest = WRITER._replace(want=Want(Modest("write", "simulation"), WHOLE, WHOLE))

    with pytest.raises(Violation, match="both believe that they hold"):
        explore(Scenario((modest, READER), faults=0))


class Anonymous(LedgerPermits):
    """A semaphore that counts permits, and does not know its owners again."""

    def attempt(self, *args: Any, **options: Any) -> Steps[Any]:
        return instead(super().attempt(*args, **options), self._anonymously)

    @staticmethod
    def _anonymously(records: Records, name: str, kind: str, owner: str, *rest: Any) -> Any:
        mine = locks.share_of(records.held(name), owner)
        if mine is not None and mine.left > PROVISIONAL:
            owner = f"{owner} again"
        return ledger.attempt(records, name, kind, owner, *rest)


def test_without_knowing_its_own_owner_again_a_lost_reply_leaks_a_permit() -> None:
    anonymous = Want(Anonymous("semaphore", 2, 1, "simulation"), 1, 2)
    plan = BRISK_LIGHT._replace(want=anonymous)

    with pytest.raises(Violation, match="again has ended, and the store still knows it"):
        explore(Scenario((plan, plan), kinds=only(Fault.REPLY_LOST)))


# --- letting in -------------------------------------------------------------------------------


def one_at_a_time(
    records: Records, name: str, kind: str, asker: str | None = None
) -> Sequence[Held]:
    """Hand over to the first waiter, and to no other that would fit beside it."""
    head, held = records.head(name), list(records.held(name))
    if head is None or head.owner == asker:
        return held
    if locks.fits(held, head.weight, locks.room_of(records, name, kind)):
        records.dequeue(name, head.owner)
        if records.wake(name, head.owner):
            records.put(name, kind, head.owner, head.weight, PROVISIONAL)
            held.append(Held(kind, head.owner, head.weight, PROVISIONAL))
    return held


def test_readers_that_are_let_in_one_at_a_time_miss_their_wake(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(locks, "hand_over", one_at_a_time)

    with pytest.raises(Violation, match="a wake was missed"):
        explore(Scenario((WRITER, READER, READER), faults=0))


class Silent(LedgerRw):
    """A read/write lock that hands nothing over when a waiter gives up."""

    def withdraw(self, *args: Any, **options: Any) -> Steps[Any]:
        return instead(super().withdraw(*args, **options), self._silently)

    @staticmethod
    def _silently(records: Records, name: str, kind: str, owner: str, reason: str) -> int:
        records.bury(owner, reason)
        records.dequeue(name, owner)
        return ledger.release(records, name, kind, owner)


def test_without_handing_over_when_a_writer_gives_up_readers_miss_their_wake() -> None:
    silent = HASTY_WRITER._replace(want=Want(Silent("write", "simulation"), WHOLE, WHOLE))

    with pytest.raises(Violation, match="a wake was missed"):
        explore(Scenario((READER, silent, READER), faults=0))


# --- reading on -------------------------------------------------------------------------------


class Quiet(LedgerRw):
    """A read/write lock that lets nobody in when a writer reads on."""

    def downgrade(self, *args: Any, **options: Any) -> Steps[Any]:
        return instead(super().downgrade(*args, **options), self._quietly)

    @staticmethod
    def _quietly(records: Records, name: str, kind: str, owner: str, lease: float) -> int:
        records.put(name, kind, owner, 1, lease)
        return ledger.RELEASED


def test_without_handing_over_when_a_writer_reads_on_readers_miss_their_wake() -> None:
    quiet = TURNING._replace(want=Want(Quiet("write", "simulation"), WHOLE, WHOLE))

    with pytest.raises(Violation, match="a wake was missed"):
        explore(Scenario((quiet, READER), faults=0))


class Literal(LedgerRw):
    """A read/write lock that gives a holder what it asks for, whatever it has become."""

    def attempt(self, *args: Any, **options: Any) -> Steps[Any]:
        return instead(super().attempt(*args, **options), self._literally)

    @staticmethod
    def _literally(records: Records, name: str, kind: str, owner: str, *rest: Any) -> Any:
        answer = ledger.attempt(records, name, kind, owner, *rest)
        if answer[0] == ledger.GRANTED:
            records.put(name, kind, owner, rest[2], rest[0])
        return answer


def test_late_question_taken_literally_makes_a_reader_a_writer_again() -> None:
    turning = BRISK_WRITER._replace(downgrades=True)
    literal = turning._replace(want=Want(Literal("write", "simulation"), WHOLE, WHOLE))
    kinds = only(Fault.ARRIVES_LATE)
    explore(Scenario((turning, BRISK_READER), kinds=kinds))

    with pytest.raises(Violation, match="is on record, where there is room for"):
        explore(Scenario((literal, BRISK_READER), kinds=kinds))


class Receding(SimRwLease):
    """A lease that trusts the last answer, though a later question was answered before it."""

    def renewed(self, asked: float) -> None:
        self._stand(asked, self.store.valid_until(asked, self.lease))


def test_slow_answer_that_takes_back_what_the_keeper_renewed_is_a_false_loss() -> None:
    plans = (TURNING._replace(lease=1.0, kept=True), READER)
    kinds = only(Fault.SLOW)
    explore(Scenario(plans, kinds=kinds))

    with pytest.raises(Violation, match="was reported too late"):
        explore(Scenario(plans, kinds=kinds, rw_lease=Receding))
