"""How leases are kept: who is due, who is lost, and the round that never ends.

Theory of operation.  Every hold of a client stands on one rota, grouped by store and length
of lease.  A hold is due for renewal a third of its lease after the last positive answer; all
that are due, or nearly so, go to the store in one batch.  An answer "not yours" is a loss at
once.  Silence moves nothing: the hold stays due, is asked for again after a short pause, and
is lost by the clock shortly *before* its validity ends, so that its body hears of it while
the store still keeps everybody else out.  The rota decides without any I/O; `keep` acts.

The rota is shared with whoever acquires and releases, so it takes a mutex from outside.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol, TypeAlias

from ..errors import InterlockError, StoreError
from ..model import ASKED
from ..steps import Steps, Wakes, park
from ..stores import LockStore
from .lock import Clock

NEVER = math.inf

#: Something else to do now and then; it answers in how many seconds to do it again.
Errand: TypeAlias = Callable[[float], Steps[float]]

BY_ANSWER = "the store says that somebody else has it, or nobody"
BY_CLOCK = "its lease ran out before the store confirmed a renewal"
BY_TERMS = "its lease ran out, and it was not to be renewed any longer"


class Kept(Protocol):
    """A hold, as the rota sees it."""

    store: LockStore
    name: str
    owner: str
    lease: float
    renew_at: float
    lost_at: float

    def renewed(self, asked: float) -> None: ...
    def doubted(self) -> None: ...
    def wanted(self) -> None: ...
    def end(self, cause: str) -> None: ...
    def lose(self, cause: str) -> None: ...


class Group:
    """Holds of one store with one length of lease; the instants are lower bounds."""

    __slots__ = ("holds", "lease", "next_at", "next_loss", "store")

    def __init__(self, store: LockStore, lease: float) -> None:
        self.store, self.lease = store, lease
        self.holds: dict[str, Kept] = {}
        self.next_at = self.next_loss = NEVER

    def note(self, hold: Kept) -> float:
        if hold.lost_at < self.next_loss:
            self.next_loss = hold.lost_at
        at = hold.renew_at if hold.renew_at < hold.lost_at else hold.lost_at
        if at < self.next_at:
            self.next_at = at
        return self.next_at


class Owed(NamedTuple):
    """A withdrawal that the store has not confirmed yet."""

    store: LockStore
    name: str
    owner: str
    expires: float
    due: float


class Turn(NamedTuple):
    """What is to be done now, decided."""

    lost: list[Kept]
    batches: list[tuple[Group, list[Kept]]]
    owed: list[Owed]
    next_at: float
    next_loss: float

    @property
    def idle(self) -> bool:
        return not (self.lost or self.batches or self.owed)


class Rota:
    """Who holds what, and when each needs attention.  Decides; does no I/O."""

    def __init__(self, mutex: AbstractContextManager[Any]) -> None:
        self._mutex = mutex
        self._groups: dict[tuple[LockStore, float], Group] = {}
        self._owed: list[Owed] = []
        self.closed = False
        #: When the keeper means to look again; a hold that is due earlier must wake it.
        #: While it is at work it will look again anyhow; before it works, nobody looks.
        self.looks_at = NEVER
        #: When something was last said to have changed; what was asked before does not count.
        self.hurried_at = -NEVER
        self._doubtful = False

    def add(self, hold: Kept) -> bool:
        """Put a hold on the rota; True when the keeper must be woken for it."""
        with self._mutex:
            group = self._groups.get((hold.store, hold.lease))
            if group is None:
                group = Group(hold.store, hold.lease)
                self._groups[hold.store, hold.lease] = group
            group.holds[hold.owner] = hold
            return group.note(hold) < self.looks_at

    def drop(self, hold: Kept) -> bool:
        """Take a hold off the rota; False when it was off already."""
        with self._mutex:
            group = self._groups.get((hold.store, hold.lease))
            return group is not None and group.holds.pop(hold.owner, None) is not None

    def owe(self, owed: Owed) -> None:
        """Remember a withdrawal that has to be tried again."""
        with self._mutex:
            self._owed.append(owed)

    def debts(self) -> list[Owed]:
        """Everything that is owed."""
        with self._mutex:
            return list(self._owed)

    def postpone_debts(self, due: float) -> None:
        """Try none of them again before `due`."""
        with self._mutex:
            self._owed = [each._replace(due=max(each.due, due)) for each in self._owed]

    def settle_debt(self, owed: Owed) -> None:
        """A withdrawal was confirmed, or is not worth it any more."""
        with self._mutex:
            self._owed.remove(owed)

    def attend(self) -> None:
        """A keeper begins, perhaps after a stumble: every hold is to be looked at again."""
        with self._mutex:
            for group in self._groups.values():
                for hold in group.holds.values():
                    group.note(hold)

    def hurry(self, now: float, doubtful: bool = False) -> bool:
        """Something may have changed: every hold that is kept is due; False without any.

        `doubtful` says that nobody knows how they stand, which the keeper passes on.
        """
        with self._mutex:
            self.hurried_at = now
            self._doubtful |= doubtful  # until the keeper has said so
            for group in self._groups.values():
                for hold in group.holds.values():
                    hold.renew_at = min(hold.renew_at, now) if hold.renew_at != NEVER else NEVER
                    group.note(hold)
            return any(group.holds for group in self._groups.values())

    def doubted(self) -> list[Kept]:
        """Those of whom it has just become known that nobody knows how they stand."""
        with self._mutex:
            doubtful, self._doubtful = self._doubtful, False
            groups = self._groups.values() if doubtful else ()
            return [hold for group in groups for hold in group.holds.values()]

    def unattended(self) -> None:
        """The keeper has gone: whoever comes next must start another."""
        with self._mutex:
            self.looks_at = NEVER

    def holds(self) -> list[Kept]:
        """Everything on the rota."""
        with self._mutex:
            return [hold for group in self._groups.values() for hold in group.holds.values()]

    def turn(self, now: float) -> Turn:
        """Decide what is due at `now`."""
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
            turn = Turn(lost, batches, owed, self._next_at(), self._next_loss())
            self.looks_at = turn.next_at if turn.idle else -NEVER
            return turn

    def settle(self, hold: Kept) -> None:
        """A hold has new instants: note them."""
        with self._mutex:
            group = self._groups.get((hold.store, hold.lease))
            if group is not None and hold.owner in group.holds:
                group.note(hold)

    def _next_at(self) -> float:
        instants = [group.next_at for group in self._groups.values()]
        return min([*instants, *(each.due for each in self._owed)], default=NEVER)

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
    for hold in list(group.holds.values()):
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


def retry_pause(lease: float) -> float:
    """How long to wait before asking again for a renewal that was not answered."""
    return max(0.02, min(lease / 12, 1.0))


def keep(rota: Rota, wakes: Wakes, clock: Clock, errand: Errand) -> Steps[None]:
    """Renew what is due, report what is lost, pay what is owed; until closed.

    Cost: one round trip for each few hundred holds in a third of a lease.
    """
    errand_at = clock()
    rota.attend()
    while not rota.closed:
        turn = rota.turn(clock())
        for hold in turn.lost:
            hold.lose(BY_TERMS if hold.renew_at == NEVER else BY_CLOCK)
        for hold in rota.doubted():
            hold.doubted()
        for group, holds in turn.batches:
            yield from _renew(rota, group, holds, turn.next_loss, clock)
        for owed in turn.owed:
            if not (yield from _pay(rota, owed, turn.next_loss, clock)):
                rota.postpone_debts(clock() + 1.0)  # the others would fare no better
                break
        if turn.idle and clock() >= errand_at:
            # Nobody's renewal waits for it.
            errand_at = clock() + (yield from errand(min(turn.next_at, clock() + 1.0)))
        elif turn.idle:
            yield from park(wakes, min(turn.next_at, errand_at))


def _renew(
    rota: Rota, group: Group, holds: list[Kept], next_loss: float, clock: Clock
) -> Steps[None]:
    asked = clock()
    # Nobody's loss may be reported late because this answer is slow to come.
    until = max(min(next_loss, asked + 1.0), asked + 0.005)
    pairs = [(hold.name, hold.owner) for hold in holds]
    answers: Iterable[bool | str | StoreError]
    try:
        answers = yield from group.store.renew(pairs, group.lease, until)
    except StoreError as failure:
        answers = [failure] * len(holds)
    gone = [
        hold
        for hold, answer in zip(holds, answers, strict=True)
        if not _settled(rota, hold, answer, asked, clock)
    ]
    yield from _report(gone, until)


def _report(gone: list[Kept], until: float) -> Steps[None]:
    """Report what is lost, and why; whatever interrupts the question why, it is reported."""
    try:
        while gone:
            reason = yield from _reason(gone[0], until)
            gone.pop(0).lose(reason)
    finally:
        for hold in gone:
            hold.lose(BY_ANSWER)


def _settled(
    rota: Rota, hold: Kept, answer: bool | str | StoreError, asked: float, clock: Clock
) -> bool:
    """Note what the store said of a hold; False when that is a loss."""
    if answer is False:
        # Released in the meantime?  Then it is nobody's loss.
        return not rota.drop(hold)
    if answer is True or answer == ASKED:
        hold.renewed(asked)
        if asked <= rota.hurried_at and hold.renew_at != NEVER:
            hold.renew_at = asked  # something has changed since then
        if answer == ASKED:
            hold.wanted()
    else:
        hold.doubted()
        hold.renew_at = clock() + retry_pause(hold.lease)
    rota.settle(hold)
    return True


def _reason(hold: Kept, until: float) -> Steps[str]:
    """Why the store does not know a hold any more, if somebody has said so."""
    try:
        return (yield from hold.store.why(hold.name, hold.owner, until)) or BY_ANSWER
    except StoreError:
        return BY_ANSWER


def _pay(rota: Rota, owed: Owed, next_loss: float, clock: Clock) -> Steps[bool]:
    """Withdraw an owner; False when the store did not confirm it, or time presses."""
    if not owed.store.mortal or clock() < owed.expires:  # else its lease has ended by itself
        until = min(next_loss, clock() + 1.0)
        if until <= clock():
            return False
        try:
            yield from owed.store.withdraw(owed.name, owed.owner, until)
        except InterlockError:
            return False
    rota.settle_debt(owed)
    return True
