"""How a lock is taken, given back and taken back.

Theory of operation.  An acquisition asks once without listening, because a free lock should
cost one round trip.  If it is busy, the acquisition first listens and *then* asks again, so
that no wake can fall between the question and the waiting; from then on it parks until a
wake, the end of the holder's lease, the poll cap or its deadline, and asks again.  A wake is
a hint: if it is lost, the poll cap finds the lock free a little later, and nothing else.

The lease counts from the instant *before* the question was sent, on our own clock, less a
margin for drift.  A renewal sets it anew, in the same way.

Unknown outcomes.  When a question was sent and its answer not seen, the store may have
granted.  Two ways lead out of it, and both are safe because an owner names one acquisition:
to ask again (an owner that holds is granted again), or to withdraw, which removes every
trace and buries the owner, so that the old question is refused if it arrives late.  A grant
obtained after such a doubt is given back by withdrawing too: the old question may still be
on its way.  Whatever interrupts an acquisition, a withdrawal follows unless the store is
known to know nothing of us; if the withdrawal fails as well, it is owed, and the keeper pays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from ..errors import (
    AcquireTimeout,
    OutcomeUnknown,
    StoreError,
    StoreMisconfigured,
    StoreUnavailable,
)
from ..events import Abandoned, Event, Parked, StillWaiting, Troubled, Withdrawn, Woken
from ..model import Busy, Grant
from ..steps import Steps, Wakes, listen, park
from ..stores import LockStore

Clock: TypeAlias = Callable[[], float]

#: A lost wake costs a waiter no more than this; half of it is jitter.
POLL_CAP = 2.0

#: Behind a holder that tells nobody when it releases, a waiter asks this often.
SILENT_CAP = 0.2

#: How long the store may fail to answer a waiter before the waiter gives up.
PATIENCE = 30.0

#: A waiter says that it still waits each time this many seconds have passed.
REPORT = 10.0

#: However short the wait, one question may take this long to be answered.
ANSWER = 1.0

#: How long a withdrawal may hold up the exception that caused it.
WITHDRAWAL = 1.0

#: What is known of a crowded lock before the first question.
UNASKED = Busy(None, None)

#: How often a grant may arrive too late to be trusted before we say so.
LATE_GRANTS = 3


class Host(Protocol):
    """Who an acquisition is for."""

    def tell(self, event: Event) -> None:
        """Something happened."""
        ...

    def owe(self, store: LockStore, name: str, owner: str, lease: float) -> None:
        """Take over a withdrawal that could not be confirmed."""
        ...


@dataclass(slots=True)
class Seeking:
    """One acquisition under way: what it wants, and what the store may know of it."""

    store: LockStore
    name: str
    owner: str
    lease: float
    began: float
    deadline: float
    clock: Clock
    #: Where in [0, 1) this waiter stands between the earliest and the latest poll.
    jitter: float = 0.0
    #: A mere try: nobody will read who holds the lock.
    trial: bool = False
    host: Host | None = None
    #: The name was busy last time: listen at once, and save the question that would say so.
    crowded: bool = False
    traced: bool = field(default=False, init=False)
    doubted: bool = field(default=False, init=False)
    answered: float = field(default=-math.inf, init=False)
    failures: int = field(default=0, init=False)
    parked: bool = field(default=False, init=False)
    reports: int = field(default=0, init=False)

    @property
    def expired(self) -> bool:
        return self.clock() >= self.deadline


def acquire(seeking: Seeking) -> Steps[Grant]:
    """Take the lock, waiting until the deadline.

    Cost: one round trip when free; behind others two to enqueue and one to claim, and at
    most one a second while waiting (ten behind a holder that tells nobody).
    If interrupted: nothing is left in the store.
    """
    try:
        answer: Grant | Busy = UNASKED
        if not seeking.crowded:
            answer = yield from attempt(seeking, waits=False)
        while isinstance(answer, Busy):
            answer = yield from _wait(seeking, answer)
        return answer
    except GeneratorExit:
        _tell(seeking, Abandoned(seeking.name, seeking.owner))
        raise
    except OutcomeUnknown as doubt:
        if (yield from _withdraw_because(seeking, doubt)):
            # The outcome is known after all: the store knows nothing of us.
            raise StoreUnavailable(str(doubt), doubt.store) from doubt
        raise
    except BaseException as interruption:
        if seeking.traced:
            yield from _withdraw_because(seeking, interruption)
        raise


def _wait(seeking: Seeking, busy: Busy) -> Steps[Grant | Busy]:
    """Listen, then ask and park in turn while the same topics are the right ones."""
    if seeking.expired:
        raise (yield from give_up(seeking, busy.holder))
    topics = seeking.store.topics(seeking.name, seeking.owner, busy)
    with (yield from listen(topics)) as wakes:
        while True:
            answer = yield from attempt(seeking, waits=True)
            if isinstance(answer, Grant) or seeking.expired:
                return answer
            if seeking.store.topics(seeking.name, seeking.owner, answer) != topics:
                return answer
            yield from _park(seeking, answer, wakes)


def _park(seeking: Seeking, busy: Busy, wakes: Wakes) -> Steps[None]:
    """Wait for a reason to ask again, and now and then say that we do."""
    seeking.parked = True
    waited = _waited(seeking)
    _tell(seeking, Parked(seeking.name, seeking.owner, busy.holder, waited))
    if waited >= REPORT * (seeking.reports + 1):
        yield from _report(seeking, busy)
    if (yield from park(wakes, wake_by(busy, seeking))):
        _tell(seeking, Woken(seeking.name, seeking.owner))


def _report(seeking: Seeking, busy: Busy) -> Steps[None]:
    """Say now and then that somebody still waits, and for whom.  One round trip."""
    seeking.reports += 1
    holder = yield from _holder(seeking, busy.holder)
    _tell(seeking, StillWaiting(seeking.name, seeking.owner, holder, _waited(seeking)))


def wake_by(busy: Busy, seeking: Seeking) -> float:
    """The instant at which a parked waiter asks again, wake or no wake."""
    cap = SILENT_CAP if busy.silent else POLL_CAP
    pause = cap * (1 - seeking.jitter / 2)
    if busy.left is not None:
        pause = min(pause, busy.left + 0.001)
    return min(seeking.clock() + pause, seeking.deadline)


def attempt(seeking: Seeking, waits: bool) -> Steps[Grant | Busy]:
    """Ask until there is an answer that can be trusted, or patience ends."""
    late = 0
    while late < LATE_GRANTS:
        asked, traced = seeking.clock(), seeking.traced
        until = max(seeking.deadline, asked + ANSWER)
        # From here on the store may know us, whatever strikes before the answer is in hand.
        seeking.traced = True
        try:
            answer = yield from seeking.store.attempt(
                seeking.name, seeking.owner, seeking.lease, waits, until
            )
        except (StoreMisconfigured, StoreUnavailable, OutcomeUnknown) as failure:
            yield from _bear(seeking, failure, traced)
            continue
        seeking.answered, seeking.failures = seeking.clock(), 0
        if isinstance(answer, Busy):
            seeking.traced = traced or waits or seeking.doubted or answer.placed
            return answer
        until = seeking.store.good_until(asked, seeking.lease)
        if seeking.answered < until:
            return Grant(seeking.name, seeking.owner, answer, asked, until, seeking.doubted)
        late += 1
    raise _too_slow(seeking)


def _bear(seeking: Seeking, failure: StoreError, traced: bool) -> Steps[None]:
    """Pause before the next question, or let the failure through."""
    if isinstance(failure, OutcomeUnknown):
        seeking.doubted = True
    elif not failure.partial:
        seeking.traced = traced  # the question was not executed
    if isinstance(failure, StoreMisconfigured) or failure.final:
        raise failure
    seeking.failures += 1
    now = seeking.clock()
    if now >= seeking.deadline or not _patient(seeking, now):
        raise failure
    _tell(seeking, Troubled(seeking.name, seeking.owner, str(failure)))
    if seeking.failures > 1:
        pause = min(0.05 * 2**seeking.failures, 1.0) * (1 - seeking.jitter / 2)
        yield from park(None, min(now + pause, seeking.deadline))


def _patient(seeking: Seeking, now: float) -> bool:
    """A store that never answered gets a second chance; one that did gets some time."""
    if seeking.answered == -math.inf:
        return seeking.failures < 2
    return now - seeking.answered < PATIENCE


def _withdraw_because(seeking: Seeking, because: BaseException) -> Steps[bool]:
    """Remove every trace of us; True when the store has confirmed it."""
    store, name, owner = seeking.store, seeking.name, seeking.owner
    try:
        yield from store.withdraw(name, owner, seeking.clock() + WITHDRAWAL)
    except GeneratorExit:
        raise
    except BaseException as failure:
        # The first exception goes on; this one may only annotate it.
        because.add_note(f"could not withdraw {owner[:8]}… from {name!r}: {failure}")
        if seeking.host is not None:
            seeking.host.owe(store, name, owner, seeking.lease)
        _tell(seeking, Withdrawn(name, owner, confirmed=False))
        return False
    _tell(seeking, Withdrawn(name, owner, confirmed=True))
    return True


def release(store: LockStore, grant: Grant, until: float) -> Steps[bool]:
    """Give the lock back; False when the lease had already ended.  One round trip.

    A lost reply is made good by withdrawing, which does the same and may be repeated; after
    it nobody can tell whether the lease had ended before, and nobody needs to.
    """
    try:
        if grant.doubted:
            return (yield from store.withdraw(grant.name, grant.owner, until))
        return (yield from store.release(grant.name, grant.owner, until))
    except GeneratorExit:
        raise
    except (OutcomeUnknown, StoreUnavailable):
        yield from store.withdraw(grant.name, grant.owner, until)
        return True
    except StoreError:
        raise
    except BaseException as interruption:
        yield from _release_anyway(store, grant, until, interruption)
        raise


def _release_anyway(
    store: LockStore, grant: Grant, until: float, interruption: BaseException
) -> Steps[None]:
    try:
        yield from store.withdraw(grant.name, grant.owner, until)
    except GeneratorExit:
        raise
    except BaseException as failure:
        # The first exception goes on; this one may only annotate it.
        interruption.add_note(f"could not confirm the release of {grant.name!r}: {failure}")


def give_up(seeking: Seeking, owner: str | None) -> Steps[AcquireTimeout]:
    """Say who holds the lock, as well as the store can tell."""
    waited = _waited(seeking)
    holder = None if seeking.trial else (yield from _holder(seeking, owner))
    return AcquireTimeout(seeking.name, holder, waited)


def _holder(seeking: Seeking, owner: str | None) -> Steps[str | None]:
    """The holder, for people: its host, process and program if the store knows them."""
    try:
        info = yield from seeking.store.look(seeking.name, seeking.clock() + ANSWER)
    except StoreError:
        info = None
    if info is not None and info.holders:
        return str(info.holders[0])
    return f"owner {owner[:8]}…" if owner else None


def _too_slow(seeking: Seeking) -> StoreUnavailable:
    return StoreUnavailable(
        f"lock {seeking.name!r} was granted, but each answer took longer than its lease of "
        f"{seeking.lease:.3g} s; ask for a longer lease"
    )


def _waited(seeking: Seeking) -> float:
    return max(0.0, seeking.clock() - seeking.began)


def _tell(seeking: Seeking, event: Event) -> None:
    if seeking.host is not None:
        seeking.host.tell(event)
