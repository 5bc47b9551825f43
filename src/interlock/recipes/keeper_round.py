"""The keeper's round, which never ends: it acts on what the schedule has decided.

Theory of operation.  What is lost is reported before anything is asked, and then one thing is
asked at a time: every renewal that is due, side by side and in one round trip; or some of the
withdrawals that are owed; or the store is told anew which process this is.  No answer is awaited
beyond the next loss, nor so long that a hold which becomes due meanwhile has too little time left.
So a store that is silent about one group of holds delays neither the renewal nor the loss of
another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from ..errors import InterlockError, StoreError
from ..model import RELEASE_REQUESTED
from ..steps import Steps, Wakes, park, side_by_side
from .lock import Clock
from .renewal import (
    BY_ANSWER,
    BY_CLOCK,
    BY_TERMS,
    NEVER,
    Due,
    Group,
    Kept,
    PendingWithdrawal,
    RenewalSchedule,
)

#: Describes this process to the store; answers in how many seconds to say it again.
Introduce: TypeAlias = Callable[[float], Steps[float]]

#: How many are withdrawn, or asked about, in one round trip.
MOST = 250


def retry_pause(lease: float) -> float:
    """How long to wait before asking again for a renewal that was not answered."""
    return max(0.02, min(lease / 12, 1.0))


def keep(
    schedule: RenewalSchedule, wakes: Wakes, clock: Clock, introduce: Introduce
) -> Steps[None]:
    """Renew what is due, report what is lost, withdraw what is owed; until closed.

    Cost: one round trip for all that are due, each third of a lease.
    """
    introduce_at = clock()
    schedule.rescan()
    while not schedule.closed:
        turn = schedule.due(clock())
        yield from _act(schedule, turn, clock)
        if turn.idle and clock() >= introduce_at:
            # No renewal waits for it.
            introduce_at = clock() + (yield from introduce(min(turn.next_at, clock() + 1.0)))
        elif turn.idle:
            yield from park(wakes, min(turn.next_at, introduce_at))


def _act(schedule: RenewalSchedule, turn: Due, clock: Clock) -> Steps[None]:
    """Do what was decided: report, then ask for one thing, so that the next loss is not missed.

    A step of its own: what it has at hand it lets go of at its end, so that a keeper that sleeps
    keeps no hold alive.
    """
    for hold in turn.lost:
        hold.lose(BY_TERMS if hold.renew_at == NEVER else BY_CLOCK)
    for hold in schedule.newly_suspended():
        hold.suspend()
    if turn.batches:
        yield from _renew_all(schedule, turn, clock)
    elif turn.owed:
        yield from _withdraw_some(schedule, turn, clock)


def _answer_by(turn: Due, now: float) -> float:
    """How long an answer may be awaited.

    No loss may be reported late because the answer is slow to come; and a hold that becomes due
    meanwhile keeps half of its time to be asked for.
    """
    spared = (turn.next_due + turn.next_loss) / 2
    return max(min(turn.next_loss, spared, now + 1.0), now + 0.005)


def _renew_all(schedule: RenewalSchedule, turn: Due, clock: Clock) -> Steps[None]:
    """Renew every group that is due, side by side: no group waits for another."""
    until = _answer_by(turn, clock())
    outcomes = yield from side_by_side(
        *(_renew(schedule, group, holds, until, clock) for group, holds in turn.batches)
    )
    _raise_first(outcomes)


def _raise_first(outcomes: Iterable[object]) -> None:
    """Raise what went wrong in one of them, now that all have ended."""
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome


def _renew(
    schedule: RenewalSchedule, group: Group, holds: list[Kept], until: float, clock: Clock
) -> Steps[None]:
    asked = clock()
    pairs = [(hold.name, hold.owner) for hold in holds]
    answers: Iterable[bool | str | StoreError]
    try:
        answers = yield from group.store.renew(pairs, group.lease, until)
    except StoreError as failure:
        answers = [failure] * len(holds)
    gone = [
        hold
        for hold, answer in zip(holds, answers, strict=True)
        if not _settled(schedule, hold, answer, asked, clock)
    ]
    yield from _report(gone, until, clock)


def _report(gone: list[Kept], until: float, clock: Clock) -> Steps[None]:
    """Report what is lost, and why; whatever interrupts the question why, it is reported."""
    try:
        while gone and clock() < until:
            reasons = yield from side_by_side(
                *(reason_of(hold, until, BY_ANSWER) for hold in gone[:MOST])
            )
            for reason in reasons:
                if isinstance(reason, BaseException):
                    raise reason
                gone.pop(0).lose(reason)
    finally:
        for hold in gone:
            hold.lose(BY_ANSWER)


def _settled(
    schedule: RenewalSchedule,
    hold: Kept,
    answer: bool | str | StoreError,
    asked: float,
    clock: Clock,
) -> bool:
    """Note what the store said of a hold; False when that is a loss."""
    if answer is False:
        # Released in the meantime?  Then it is no loss.
        return not schedule.drop(hold)
    if answer is True or answer == RELEASE_REQUESTED:
        hold.renewed(asked)
        if asked <= schedule.made_due_at and hold.renew_at != NEVER:
            hold.renew_at = asked  # something has changed since then
        if answer == RELEASE_REQUESTED:
            hold.note_request()
    else:
        hold.suspend()
        hold.renew_at = clock() + retry_pause(hold.lease)
    schedule.settle(hold)
    return True


def reason_of(hold: Kept, until: float, otherwise: str) -> Steps[str]:
    """Why the store does not know a hold any more, if the client that ended it has said so."""
    try:
        told = yield from hold.store.withdrawal_reason(hold.name, hold.owner, until)
    except StoreError:
        return otherwise
    return told or otherwise


def _withdraw_some(schedule: RenewalSchedule, turn: Due, clock: Clock) -> Steps[None]:
    """Withdraw some of those that are owed, side by side; the others have their turn later."""
    until = _answer_by(turn, clock())
    withdrawn = yield from side_by_side(
        *(_withdraw(schedule, owed, until, clock) for owed in turn.owed[:MOST])
    )
    if False in withdrawn:
        schedule.postpone_withdrawals(clock() + 1.0)  # the others would fare no better
    _raise_first(withdrawn)


def _withdraw(
    schedule: RenewalSchedule, owed: PendingWithdrawal, until: float, clock: Clock
) -> Steps[bool]:
    """Withdraw an owner; False when the store did not confirm it."""
    if (
        not owed.store.leases_expire or clock() < owed.expires
    ):  # else its lease has ended by itself
        try:
            yield from owed.store.withdraw(owed.name, owed.owner, until)
        except InterlockError:
            return False
    schedule.settle_withdrawal(owed)
    return True
