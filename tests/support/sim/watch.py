"""What must never happen, checked after every step; and what happened at least once.

A client *believes* from the return of its grant until the instant `until` of its hold, the
moment at which it sends its release, or the moment at which it is told of a loss.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from interlock.ledger import BURIED, BUSY, GRANTED, RELEASED, Held
from interlock.model import PROVISIONAL
from interlock.recipes.lock import POLL_CAP
from interlock.recipes.renewal import BY_RELEASE
from interlock.steps import Call

from .leases import SimLease
from .scenario import NAME, Scenario, SimRecords, number_of

#: A waiter asks this long after a lease has ended; no wake is missed by that.
ROUNDING = 0.0015


class Violation(AssertionError):
    """Something happened that must not; `choices` lead there again (see `replay`)."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what
        self.choices: list[int] = []
        self.trace: list[str] = []

    def __str__(self) -> str:
        lines = [self.what, f"replay with choices={self.choices}", *self.trace]
        return "\n".join(lines)


class Watch:
    """The invariants of one run, and the noteworthy things seen in it."""

    def __init__(
        self, scenario: Scenario, records: SimRecords, clock: Callable[[], float]
    ) -> None:
        self.records, self.clock = records, clock
        self.longest = max(PROVISIONAL, *(plan.lease for plan in scenario.plans))
        self._weights = [plan.want.weight for plan in scenario.plans]
        self._room = scenario.plans[0].want.room
        self.seen: set[str] = set()
        #: Nothing has gone wrong so far, so that order and promptness can be demanded.
        self.calm = True
        self.holds: list[SimLease] = []
        #: Clients that stood still once: they cannot have noticed everything in time.
        self.paused: set[int] = set()
        #: Owners that the store was told to forget: they must never come back.
        self.gone: set[str] = set()
        #: Owners whose end their client could not confirm: only their lease ends them.
        self.unconfirmed: set[str] = set()
        #: Owners in the order in which the store put them into its queue.
        self.arrivals: list[str] = []
        self._token = 0
        #: Owners that were handed a share, and until when they can claim it.
        self._provisional: dict[str, float] = {}
        #: Until when each owner held before the operation that is executed now.
        self._held: dict[str, float] = {}

    # --- what the store does -------------------------------------------------------------

    def executing(self, request: Call) -> None:
        """An operation is about to be executed at the store."""
        if request.operation.__name__ == "withdraw":
            self._left_queue(request.args[1])

    def executed(self, request: Call, answer: Any, late: bool) -> None:
        """An operation was executed at the store."""
        verb = request.operation.__name__
        if verb == "attempt":
            self._attempted(request.args[1], request.args[3], answer, late)
        elif verb in ("release", "withdraw"):
            self._ended(verb, request.args[1], answer)
        self._check_records()

    def _attempted(self, owner: str, waits: bool, answer: Any, late: bool) -> None:
        if answer[0] == GRANTED:
            self._granted_at_store(owner, answer[1], late)
        elif answer[0] == BUSY and answer[1] == owner:
            raise Violation(f"{owner} was told to wait for itself")
        elif answer[0] == BUSY and waits and owner not in self.arrivals:
            self.arrivals.append(owner)
            if late:
                self.seen.add("a late attempt was put into the queue")
        elif answer[0] == BURIED and late:
            self.seen.add("a late attempt met a tombstone")

    def _granted_at_store(self, owner: str, token: int, late: bool) -> None:
        if token <= self._token:
            raise Violation(f"token {token} was granted after {self._token}")
        self._token = token
        if self._held.get(owner, 0.0) <= self.records.clock():
            self._check_turn(owner)
        if late:
            self.seen.add("a late attempt was granted")
        if self._provisional.pop(owner, None) is not None:
            self.seen.add("a handed-over lock was claimed")
        self._left_queue(owner)

    def _check_turn(self, owner: str) -> None:
        """Nobody who waits, and hears as far as the store knows, may be overtaken."""
        if self.arrivals and self.arrivals[0] != owner:
            raise Violation(f"{owner} was granted before {self.arrivals[0]}, which came first")

    def _ended(self, verb: str, owner: str, answer: Any) -> None:
        if verb == "withdraw" or answer == RELEASED:
            self.gone.add(owner)
        if owner in self.unconfirmed:
            self.seen.add("an owed withdrawal was paid")
        if self._provisional.pop(owner, None) is not None:
            self.seen.add("a handed-over lock was passed on by withdrawing")

    def _left_queue(self, owner: str) -> None:
        if owner in self.arrivals:
            self.arrivals.remove(owner)

    def handed_over(self, owner: str) -> None:
        """The store wakes a waiter, and so hands a share over to it."""
        self._check_turn(owner)
        self._left_queue(owner)
        self.seen.add("the lock was handed over")
        self._provisional[owner] = self.clock() + PROVISIONAL

    def dropped(self, owner: str) -> None:
        """The store found nobody listening for a waiter, and took it out of its queue."""
        self.seen.add("a waiter that did not hear was dropped")
        self._left_queue(owner)

    def _check_records(self) -> None:
        holds, now = self.records.holds.get(NAME, {}), self.records.clock()
        self._held = {owner: until for owner, (_, _, until) in holds.items()}
        for owner, until in self._held.items():
            if until - now > self.longest + 1e-9:
                raise Violation(f"{owner} is promised {until - now:.3f} s, longer than any lease")
            if until > now and owner in self.gone:
                raise Violation(f"{owner} holds the lock again after it was given back")
        for owner in self.records.queues.get(NAME, ()):
            if owner in self.gone:
                raise Violation(f"{owner} waits again after it was given back")
        self._check_room({owner: each[1] for owner, each in holds.items() if each[2] > now})

    def _check_room(self, weights: dict[str, int]) -> None:
        used = sum(weights.values())
        if used > self._room:
            raise Violation(f"{used} is on record, where there is room for {self._room}")
        if len(weights) > 1:
            self.seen.add("several held at the same time")
        if len(weights.keys() & self._provisional.keys()) > 1:
            self.seen.add("several were handed a share at the same time")

    # --- what clients do -----------------------------------------------------------------

    def granted(self, hold: SimLease) -> None:
        self.holds.append(hold)
        if hold.grant.unanswered:
            self.seen.add("a grant was obtained after a doubt")
        self._check_believers(hold)

    def renewed(self, hold: SimLease) -> None:
        self.seen.add("a lease was renewed")
        self._check_believers(hold)

    def lost(self, hold: SimLease, cause: str, kept: bool) -> None:
        """A client is told of a loss; in time, if a keeper runs beside it."""
        self.seen.add(f"a hold was lost: {cause}")
        if cause == BY_RELEASE:
            return  # the release says so itself: see `denied`
        if hold.depth == 0:
            raise Violation(f"{hold.owner} gives the lock back, and is told that it lost it")
        if self.clock() < hold.until:
            self.seen.add("a loss was reported before the validity ended")
        elif kept and number_of(hold.owner) not in self.paused:
            raise Violation(f"the loss of {hold.owner} was reported too late")

    def turned(self, hold: SimLease, done: bool) -> None:
        self.seen.add("a writer read on" if done else "a writer found its lease ended")
        if not done and hold.believed(self.clock()):
            raise Violation(f"{hold.owner} was denied to read on while its lease stood")

    def _check_believers(self, hold: SimLease) -> None:
        now = self.clock()
        believers = [each for each in self.holds if each.believed(now)]
        if hold in believers and sum(each.weight for each in believers) > self._room:
            owners = " and ".join(each.owner for each in believers)
            every = "both" if len(believers) == 2 else "all"
            raise Violation(f"{owners} {every} believe that they hold")

    def released(self, hold: SimLease, began: float) -> None:
        """A client was told that it has given back what it held."""
        if began >= hold.until:
            raise Violation(f"{hold.owner} gave back a lease that was over, and was not told")

    def denied(self, hold: SimLease, stood: bool, began: float) -> None:
        """A client was told that it had lost what it gave back."""
        self.seen.add("a release found the lease ended")
        if stood and began < hold.until and self.clock() < hold.until:
            raise Violation(f"the release of {hold.owner} was denied while its lease stood")

    def failed(self, error: BaseException) -> None:
        self.seen.add(f"an acquisition ended with {type(error).__name__}")

    def owed(self, owner: str) -> None:
        self.seen.add("a withdrawal was owed")
        self.unconfirmed.add(owner)

    def died(self, client: int) -> None:
        """A client was killed; what the store knows of it stays."""
        for held in self.records.held(NAME):
            handed = held.owner in self._provisional
            what = "a waiter was killed after it was handed the lock"
            if number_of(held.owner) == client:
                self.seen.add(what if handed else "a holder was killed")

    # --- waiting -------------------------------------------------------------------------

    def parks(self, until: float) -> None:
        """A waiter goes to sleep."""
        if until > self.clock() + POLL_CAP + 1e-9:
            raise Violation(f"a waiter sleeps until {until:.3f}, longer than the poll cap")

    def passes(self, until: float, waiting: list[str]) -> None:
        """Time is about to pass, while these owners wait for a wake."""
        for owner, end in list(self._provisional.items()):
            if end <= until:
                self.seen.add("a provisional lease ran out")
                del self._provisional[owner]
        pause = until - self.clock()
        if not self.calm or not waiting or pause <= ROUNDING:
            return
        held = self.records.held(NAME)
        if any(each.left <= pause for each in held):
            self.calm = False  # a lease will run out, which wakes nobody
        if any(self._could_go_on(owner, held) for owner in waiting):
            raise Violation(f"a wake was missed: {waiting} sleep {pause:.3f} s by a free lock")

    def _could_go_on(self, owner: str, held: Sequence[Held]) -> bool:
        """Whether a waiter has its share already, or is the next one and would fit."""
        if not held or any(each.owner == owner for each in held):
            return True
        if owner in self.arrivals[1:]:
            return False
        weight = self._weights[number_of(owner)]
        return sum(each.weight for each in held) + weight <= self._room

    # --- the end -------------------------------------------------------------------------

    def check_leaks(self, living: set[int]) -> None:
        """Everything is quiet: nobody who has ended may be on record."""
        traces = {each.owner for each in self.records.held(NAME)}
        traces.update(self.records.queues.get(NAME, ()))
        for owner in sorted(traces - self.unconfirmed):
            if number_of(owner) in living:
                raise Violation(f"{owner} has ended, and the store still knows it")
