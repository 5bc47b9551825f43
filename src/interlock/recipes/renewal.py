"""How leases are kept: who is due, and who is lost.

Theory of operation.  Every hold of a client stands on one schedule, grouped by store and length
of lease.  A hold is due for renewal a third of its lease after the last positive answer; all
that are due, or nearly so, go to the store in one batch.  An answer "not yours" is a loss at
once.  Silence moves nothing: the hold stays due, is asked for again after a short pause, and
is lost by the clock shortly *before* its validity ends, so that its body hears of it while
the store still keeps every other client out.  The schedule decides without any I/O;
`keeper_round.keep` acts.  The instants themselves are set by `lease.Lease._stand` and
`model.guard`.

The schedule does not keep a hold alive: one that neither its user nor a living thread or task can
reach any more is forgotten, and withdrawn.

The threads and tasks that acquire and release share the schedule, so it takes a mutex from
outside.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from ..spi import LockStore

NEVER = math.inf

BY_ANSWER = "the store no longer has it for this holder: it ended, or another client has it"
BY_CLOCK = "its lease ran out before the store confirmed a renewal"
BY_TERMS = "its lease ran out, and its terms (renew=False or max_hold) allow no renewal"


class Kept(Protocol):
    """A hold, as the schedule sees it."""

    store: LockStore
    name: str
    owner: str
    lease: float
    renew_at: float
    lost_at: float

    def reference(self) -> Kept | None:
        """Itself; None once the program can reach it no more, which this does not hinder."""
        ...

    def renewed(self, asked: float) -> None: ...
    def suspend(self) -> None: ...
    def note_request(self) -> None: ...
    def end(self, cause: str) -> None: ...
    def lose(self, cause: str) -> None: ...


class Group:
    """Holds of one store with one length of lease; the instants are lower bounds."""

    __slots__ = ("holds", "lease", "next_at", "next_loss", "store")

    def __init__(self, store: LockStore, lease: float) -> None:
        self.store, self.lease = store, lease
        #: By owner: how to find the hold, and its name.
        self.holds: dict[str, tuple[Callable[[], Kept | None], str]] = {}
        self.next_at = self.next_loss = NEVER

    def every(self) -> list[Kept]:
        """The holds that are within reach.  The list is made at once, so that a signal handler
        may take and release locks meanwhile."""
        found = (find() for find, _ in list(self.holds.values()))
        return [hold for hold in found if hold is not None]

    def note(self, hold: Kept) -> float:
        if hold.lost_at < self.next_loss:
            self.next_loss = hold.lost_at
        at = hold.renew_at if hold.renew_at < hold.lost_at else hold.lost_at
        if at < self.next_at:
            self.next_at = at
        return self.next_at


class PendingWithdrawal(NamedTuple):
    """A withdrawal that the store has not confirmed yet."""

    store: LockStore
    name: str
    owner: str
    expires: float
    due: float


class Due(NamedTuple):
    """What is to be done now, decided."""

    lost: list[Kept]
    batches: list[tuple[Group, list[Kept]]]
    owed: list[PendingWithdrawal]
    next_at: float
    next_loss: float
    #: When a hold that is not due now will be.
    next_due: float

    @property
    def idle(self) -> bool:
        return not (self.lost or self.batches or self.owed)


class RenewalSchedule:
    """Who holds what, and when each needs attention.  Decides; does no I/O."""

    def __init__(
        self,
        mutex: AbstractContextManager[Any],
        forgotten: Callable[[PendingWithdrawal, str], None] = lambda owed, words: None,
    ) -> None:
        self._mutex, self._on_forgotten = mutex, forgotten
        self._groups: dict[tuple[LockStore, float], Group] = {}
        self._owed: list[PendingWithdrawal] = []
        #: Holds that went out of reach while held: their groups, owners, and what to say.
        self._forgotten: deque[tuple[tuple[LockStore, float], str, str]] = deque()
        self.closed = False
        #: When the keeper means to look again; a hold that is due earlier must wake it.
        #: While it is at work it will look again anyhow; before it works, it must be started.
        self.next_wakeup = NEVER
        #: When something was last said to have changed; what was asked before does not count.
        self.made_due_at = -NEVER
        self._suspended = False

    def add(self, hold: Kept) -> bool:
        """Put a hold on the schedule; True when the keeper must be woken for it."""
        with self._mutex:
            place = hold.store, hold.lease
            group = self._groups.get(place)
            if group is None:  # or a signal handler makes it right here
                group = self._groups.setdefault(place, Group(*place))
            group.holds[hold.owner] = hold.reference, hold.name
            return group.note(hold) < self.next_wakeup

    def drop(self, hold: Kept) -> bool:
        """Take a hold off the schedule; False when it was off already."""
        with self._mutex:
            group = self._groups.get((hold.store, hold.lease))
            return group is not None and group.holds.pop(hold.owner, None) is not None

    def knows(self, hold: Kept) -> bool:
        """Whether a hold stands on the schedule.  Takes no mutex: see `forget`."""
        group = self._groups.get((hold.store, hold.lease))
        return group is not None and hold.owner in group.holds

    def forget(self, hold: Kept, words: str) -> None:
        """A hold goes out of reach: the next turn has it withdrawn, and says so.

        Called wherever garbage is collected, also in the middle of this class.
        """
        self._forgotten.append(((hold.store, hold.lease), hold.owner, words))

    def owe(self, owed: PendingWithdrawal) -> None:
        """Remember a withdrawal that has to be tried again."""
        with self._mutex:
            self._owed.append(owed)

    def pending(self) -> list[PendingWithdrawal]:
        """Everything that is owed."""
        with self._mutex:
            return list(self._owed)

    def sweep(self) -> None:
        """Owe the withdrawal of every hold that is out of reach, whether or not it could say so:
        of a client that was dropped the holds go last."""
        with self._mutex:
            holds = [
                (group, owner, find)
                for group in list(self._groups.values())
                for owner, (find, _) in list(group.holds.items())
            ]
        for group, owner, find in holds:
            if find() is None:
                self._owe_forgotten(group, owner, NEVER, -NEVER)

    def postpone_withdrawals(self, due: float) -> None:
        """Try none of them again before `due`."""
        with self._mutex:
            self._owed = [each._replace(due=max(each.due, due)) for each in self._owed]

    def settle_withdrawal(self, owed: PendingWithdrawal) -> None:
        """A withdrawal was confirmed, or is not worth it any more."""
        with self._mutex:
            self._owed.remove(owed)

    def rescan(self) -> None:
        """A keeper begins, perhaps after a failure: every hold is to be looked at again."""
        with self._mutex:
            for group in self._groups.values():
                for hold in group.every():
                    group.note(hold)

    def make_all_due(self, now: float, suspended: bool = False) -> bool:
        """Something may have changed: every hold that is kept is due; False without any.

        `suspended` says that the store does not answer; the keeper then suspends them.
        """
        with self._mutex:
            self.made_due_at = now
            self._suspended |= suspended  # until the keeper has said so
            groups = list(self._groups.values())
            for group in groups:
                for hold in group.every():
                    hold.renew_at = min(hold.renew_at, now) if hold.renew_at != NEVER else NEVER
                    group.note(hold)
            return any(group.holds for group in groups)

    def newly_suspended(self) -> list[Kept]:
        """The holds to suspend, because the store has just fallen silent; each time once."""
        with self._mutex:
            suspended, self._suspended = self._suspended, False
            groups = list(self._groups.values()) if suspended else ()
            return [hold for group in groups for hold in group.every()]

    def unattended(self) -> None:
        """The keeper has gone: the next hold starts another."""
        with self._mutex:
            self.next_wakeup = NEVER

    def holds(self) -> list[Kept]:
        """Everything on the schedule that is within reach."""
        with self._mutex:
            return [hold for group in list(self._groups.values()) for hold in group.every()]

    def due(self, now: float) -> Due:
        """Decide what is due at `now`."""
        self._owe_all_forgotten(now)
        with self._mutex:
            lost: list[Kept] = []
            batches: list[tuple[Group, list[Kept]]] = []
            for key, group in list(self._groups.items()):
                if min(group.next_at, group.next_loss) <= now:  # a loss may be of one that left
                    _sort(group, now, lost, batches)
                    # Only now: a lock taken and released again and again would otherwise
                    # wake the keeper each time.
                    if not group.holds:
                        del self._groups[key]
            owed = [each for each in self._owed if each.due <= now]
            due = self._next_due()
            turn = Due(lost, batches, owed, self._next_at(due), self._next_loss(), due)
            self.next_wakeup = turn.next_at if turn.idle else -NEVER
            return turn

    def _owe_all_forgotten(self, now: float) -> None:
        while self._forgotten:
            place, owner, words = self._forgotten.popleft()
            if (group := self._groups.get(place)) is not None:
                self._owe_forgotten(group, owner, now + group.lease, now, words)

    def _owe_forgotten(
        self, group: Group, owner: str, expires: float, due: float, words: str = ""
    ) -> None:
        """Withdraw what is out of reach, unless it has been dropped meanwhile.

        It is told outside of the mutex: an observer may wait for a thread that waits for us.
        """
        with self._mutex:
            if (entry := group.holds.pop(owner, None)) is None:
                return
            owed = PendingWithdrawal(group.store, entry[1], owner, expires, due)
            self._owed.append(owed)
        self._on_forgotten(owed, words)

    def settle(self, hold: Kept) -> None:
        """A hold has new instants: note them."""
        with self._mutex:
            group = self._groups.get((hold.store, hold.lease))
            if group is not None and hold.owner in group.holds:
                group.note(hold)

    def _next_at(self, due: float) -> float:
        return min([due, *(each.due for each in self._owed)])

    def _next_due(self) -> float:
        return min((group.next_at for group in self._groups.values()), default=NEVER)

    def _next_loss(self) -> float:
        return min((group.next_loss for group in self._groups.values()), default=NEVER)


def _sort(
    group: Group, now: float, lost: list[Kept], batches: list[tuple[Group, list[Kept]]]
) -> None:
    """Sort the holds of a group into lost, due and later."""
    due: list[Kept] = []
    # Those nearly due come along, so that holds taken one by one end up in one batch.
    soon = now + group.lease / 12
    group.next_at = group.next_loss = NEVER
    for hold in group.every():
        if hold.lost_at <= now:
            lost.append(hold)
            del group.holds[hold.owner]
            continue
        group.next_loss = min(group.next_loss, hold.lost_at)
        if hold.renew_at <= soon:
            due.append(hold)
        else:
            group.note(hold)
    if due:
        batches.append((group, due))
