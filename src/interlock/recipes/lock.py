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
obtained after an unanswered question is given back by withdrawing too: that question may still be
on its way.  Whatever interrupts an acquisition, a withdrawal follows unless the store is
known to know nothing of us; if the withdrawal fails as well, it is owed, and the keeper withdraws.

Silence.  A store that cannot be asked is borne from the first question on: by a waiter with a
timeout until its deadline, by one without for `PATIENCE`; a mere try fails at once.  However late
each answer is, an acquisition ends within `GRACE` of its deadline: the questions, the look for
the holder's name and the withdrawal share one limit, and what cannot be confirmed by then is owed.
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
from ..spi import LockStore
from ..steps import Steps, Wakes, listen, park
from ..words import duration

Clock: TypeAlias = Callable[[], float]

#: A lost wake costs a waiter no more than this; half of it is jitter.
POLL_CAP = 2.0

#: Behind a holder that wakes no waiter when it releases, a waiter asks this often.
SILENT_CAP = 0.2

#: How long the store may fail to answer a waiter without a timeout before the waiter gives up.
PATIENCE = 30.0

#: A question that is asked so long after the last failure begins a silence of its own.
LULL = 5.0

#: A waiter says that it still waits each time this many seconds have passed.
REPORT = 10.0

#: However short the wait, one question may take this long to be answered.
ANSWER = 1.0

#: How long a withdrawal may hold up the exception that caused it.
WITHDRAWAL = 1.0

#: How long a silent store may keep a caller beyond its deadline.  Two seconds are promised; the
#: rest of them is for the machine.
GRACE = 1.9

#: How much of that is kept for taking back what was asked.
RESERVE = 0.3

#: However late it is, what has to be asked has this long to be answered.
CHANCE = 0.1

#: What is known of a busy lock before the first question.
UNASKED = Busy(None, None)

#: How often a grant may arrive too late to be trusted before we say so.
LATE_GRANTS = 3


class Silence:
    """Since when the store has answered no question of a client's acquisitions.

    A waiter in the local queue, behind a sibling that was not answered, need not find it out anew.
    """

    __slots__ = ("_noted", "since", "unheard_until")

    def __init__(self) -> None:
        self._noted, self.since = -math.inf, math.inf
        #: Until when a majority that is decided does not wait for it: see `majority`.
        self.unheard_until = -math.inf

    def noted(self, asked: float, now: float) -> float:
        """A question of `asked` has failed; answers since when there is silence."""
        lasting = asked - self._noted < LULL
        self.since, self._noted = min(asked, self.since if lasting else asked), now
        return self.since


class AcquisitionHost(Protocol):
    """Who an acquisition is for."""

    silence: Silence

    def notify(self, event: Event) -> None:
        """Something happened."""
        ...

    def owe(self, store: LockStore, name: str, owner: str, lease: float) -> None:
        """Take over a withdrawal that could not be confirmed."""
        ...


@dataclass(slots=True)
class Acquisition:
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
    #: A mere try: its caller does not want to know who holds the lock.
    try_once: bool = False
    host: AcquisitionHost | None = None
    #: The name was busy last time: listen at once, and save the question that would say so.
    was_busy: bool = False
    #: When the caller must have an answer, whatever is silent; never later than `GRACE` allows.
    limit: float = math.inf
    #: Whether it goes on while the store cannot be asked, or only asks once more.
    persists: bool = True
    maybe_known: bool = field(default=False, init=False)
    unanswered: bool = field(default=False, init=False)
    failures: int = field(default=0, init=False)
    troubled: bool = field(default=False, init=False)
    parked: bool = field(default=False, init=False)
    reports: int = field(default=0, init=False)

    @property
    def expired(self) -> bool:
        return self.clock() >= self.deadline

    @property
    def ends(self) -> float:
        """When it must have ended."""
        return min(self.limit, self.deadline + GRACE)

    @property
    def last(self) -> float:
        """The last instant for any answer but that to its withdrawal."""
        ends = self.ends
        return ends - min(RESERVE, (ends - self.began) / 4)


def acquire(acquisition: Acquisition) -> Steps[Grant]:
    """Take the lock, waiting until the deadline.

    Cost: one round trip when free; behind others two to enqueue and one to claim, and at
    most one a second while waiting (ten behind a holder that wakes no waiter).
    If interrupted: nothing is left in the store.
    """
    try:
        answer: Grant | Busy = UNASKED
        if not acquisition.was_busy:
            answer = yield from attempt(acquisition, waits=False)
        while isinstance(answer, Busy):
            answer = yield from _wait(acquisition, answer)
        return answer
    except GeneratorExit:
        _notify(acquisition, Abandoned(acquisition.name, acquisition.owner))
        raise
    except OutcomeUnknown as unknown:
        if (yield from _withdraw_because(acquisition, unknown)):
            # The outcome is known after all: the store knows nothing of us.
            raise StoreUnavailable(str(unknown), unknown.store) from unknown
        raise
    except BaseException as interruption:
        if acquisition.maybe_known:
            yield from _withdraw_because(acquisition, interruption)
        raise


def _wait(acquisition: Acquisition, busy: Busy) -> Steps[Grant | Busy]:
    """Listen, then ask and park in turn while the same topics are the right ones."""
    if acquisition.expired:
        raise (yield from give_up(acquisition, busy.holder))
    topics = acquisition.store.topics(acquisition.name, acquisition.owner, busy)
    with (yield from listen(topics, acquisition.deadline)) as wakes:
        if acquisition.expired and busy is not UNASKED:
            raise (yield from give_up(acquisition, busy.holder))
        while True:
            answer = yield from attempt(acquisition, waits=True)
            if isinstance(answer, Grant) or acquisition.expired:
                return answer
            if acquisition.store.topics(acquisition.name, acquisition.owner, answer) != topics:
                return answer
            yield from _park(acquisition, answer, wakes)


def _park(acquisition: Acquisition, busy: Busy, wakes: Wakes) -> Steps[None]:
    """Wait for a reason to ask again, and now and then say that we do."""
    acquisition.parked = True
    waited = _waited(acquisition)
    _notify(acquisition, Parked(acquisition.name, acquisition.owner, busy.holder, waited))
    if waited >= REPORT * (acquisition.reports + 1):
        yield from _report(acquisition, busy)
    if (yield from park(wakes, wake_by(busy, acquisition))):
        _notify(acquisition, Woken(acquisition.name, acquisition.owner))


def _report(acquisition: Acquisition, busy: Busy) -> Steps[None]:
    """Say now and then that this waiter still waits, and for which holder.  One round trip."""
    acquisition.reports += 1
    holder = yield from _holder(acquisition, busy.holder, acquisition.deadline)
    _notify(
        acquisition,
        StillWaiting(acquisition.name, acquisition.owner, holder, _waited(acquisition)),
    )


def wake_by(busy: Busy, acquisition: Acquisition) -> float:
    """The instant at which a parked waiter asks again, wake or no wake."""
    cap = SILENT_CAP if busy.silent else POLL_CAP
    pause = cap * (1 - acquisition.jitter / 2)
    if busy.left is not None:
        pause = min(pause, busy.left + 0.001)
    return min(acquisition.clock() + pause, acquisition.deadline)


def attempt(acquisition: Acquisition, waits: bool) -> Steps[Grant | Busy]:
    """Ask until there is an answer that can be trusted, or patience ends."""
    late = 0
    while True:
        asked, known, until = acquisition.clock(), acquisition.maybe_known, acquisition.deadline
        if until < asked + ANSWER or acquisition.limit < math.inf:
            until = min(max(until, asked + ANSWER), acquisition.last)
        # From here on the store may know us, whatever strikes before the answer is in hand.
        acquisition.maybe_known = True
        try:
            answer = yield from acquisition.store.attempt(
                acquisition.name, acquisition.owner, acquisition.lease, waits, until
            )
        except (StoreMisconfigured, StoreUnavailable, OutcomeUnknown) as failure:
            yield from _pause_or_raise(acquisition, failure, known, asked)
            continue
        answered, acquisition.failures = acquisition.clock(), 0
        if acquisition.host is not None:
            acquisition.host.silence.since = math.inf
        if isinstance(answer, Busy):
            acquisition.maybe_known = known or waits or acquisition.unanswered or answer.placed
            return answer
        until = acquisition.store.valid_until(asked, acquisition.lease)
        if answered < until:
            return Grant(
                acquisition.name, acquisition.owner, answer, asked, until, acquisition.unanswered
            )
        late += 1
        if late == LATE_GRANTS or answered >= acquisition.last:
            raise _too_slow(acquisition)


def _pause_or_raise(
    acquisition: Acquisition, failure: StoreError, known: bool, asked: float
) -> Steps[None]:
    """Pause before the next question, or let the failure through."""
    if isinstance(failure, OutcomeUnknown):
        acquisition.unanswered = True
    elif not failure.partial:
        acquisition.maybe_known = known  # the question was not executed
    if isinstance(failure, StoreMisconfigured) or failure.final:
        raise failure
    acquisition.failures += 1
    now = acquisition.clock()
    patience = _patience(acquisition, asked, now)
    # The first failure may be that of one connection.
    if now >= acquisition.deadline or (patience <= 0 and acquisition.failures > 1):
        raise failure
    _trouble(acquisition, failure, max(patience, 0.0))
    if acquisition.failures > 1:
        pause = min(0.05 * 2**acquisition.failures, 1.0) * (1 - acquisition.jitter / 2)
        yield from park(None, min(now + pause, acquisition.deadline))


def _patience(acquisition: Acquisition, asked: float, now: float) -> float:
    """For how many more seconds the store may fail to answer."""
    silent = asked if acquisition.host is None else acquisition.host.silence.noted(asked, now)
    if not acquisition.persists:
        return 0.0
    if acquisition.deadline < math.inf:
        return acquisition.deadline - now
    return max(silent, acquisition.began) + PATIENCE - now


def _trouble(acquisition: Acquisition, failure: StoreError, patience: float) -> None:
    first, acquisition.troubled = not acquisition.troubled, True
    event = Troubled(
        acquisition.name, acquisition.owner, str(failure), failure.store, patience, first
    )
    _notify(acquisition, event)


def _withdraw_because(acquisition: Acquisition, because: BaseException) -> Steps[bool]:
    """Remove every trace of us; True when the store has confirmed it."""
    store, name, owner = acquisition.store, acquisition.name, acquisition.owner
    now = acquisition.clock()
    until = max(min(now + WITHDRAWAL, acquisition.ends), now + CHANCE)
    try:
        yield from store.withdraw(name, owner, until)
    except GeneratorExit:
        raise
    except BaseException as failure:
        # The first exception goes on; this one may only annotate it.
        words = f"the store did not confirm that {owner[:8]}… is withdrawn from lock {name!r}"
        because.add_note(f"{words} ({failure}); the keeper tries it again")
        if acquisition.host is not None:
            acquisition.host.owe(store, name, owner, acquisition.lease)
        _notify(acquisition, Withdrawn(name, owner, confirmed=False))
        return False
    _notify(acquisition, Withdrawn(name, owner, confirmed=True))
    return True


def release(store: LockStore, grant: Grant, until: float) -> Steps[bool]:
    """Give the lock back; False when the lease had already ended.  One round trip.

    A lost reply is made good by withdrawing, which does the same and may be repeated; after it
    the store cannot tell whether the lease had ended before, and the caller need not know.
    """
    try:
        if grant.unanswered:
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
        words = f"the store did not confirm the release of lock {grant.name!r}"
        interruption.add_note(f"{words} ({failure}); the keeper tries it again")


def give_up(acquisition: Acquisition, owner: str | None) -> Steps[AcquireTimeout]:
    """Say who holds the lock, as well as the store can tell."""
    waited = _waited(acquisition)
    holder = (
        None
        if acquisition.try_once
        else (yield from _holder(acquisition, owner, acquisition.last))
    )
    timeout = round(acquisition.deadline - acquisition.began, 9)
    return AcquireTimeout(acquisition.name, holder, waited, timeout)


def _holder(acquisition: Acquisition, owner: str | None, latest: float) -> Steps[str | None]:
    """The holder, for people: its host, process and program if the store knows them."""
    until = min(acquisition.clock() + ANSWER, latest)
    try:
        info = yield from acquisition.store.look(acquisition.name, until)
    except StoreError:
        info = None
    if info is not None and info.holders:
        return str(info.holders[0])
    return f"owner {owner[:8]}…" if owner else None


def _too_slow(acquisition: Acquisition) -> StoreUnavailable:
    return StoreUnavailable(
        f"lock {acquisition.name!r} was granted, but each answer took longer than its lease of "
        f"{duration(acquisition.lease)}; ask for a longer lease"
    )


def _waited(acquisition: Acquisition) -> float:
    return max(0.0, acquisition.clock() - acquisition.began)


def _notify(acquisition: Acquisition, event: Event) -> None:
    if acquisition.host is not None:
        acquisition.host.notify(event)
