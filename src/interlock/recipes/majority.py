"""How a majority of several locks is taken.

Theory of operation.  All members are tried at once, each by its own client (see `abreast`), and
none of them is waited for.  Members that are busy or out of reach are tolerated, as long as more
than half were taken and *still stand* at the end: each grant counts its validity from before its
question, so the time spent on the others is subtracted by itself.  If it was too few, all are
given back, and after a pause of random length they are tried again.

Waiting.  In the next round the first member that was busy is waited for, as a single lock would
be, before the others are tried: so a waiter has a place in a queue and is woken, and all waiters
stand in the same queue.

Silence.  Once the outcome is certain, members that have not answered get a moment.  A store that
did not use it is let go, which leaves its withdrawal to the keeper of its client, and for a second
gets no further moments.  So one that hangs costs a moment now and then, and nothing in between.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import (
    AcquireTimeout,
    InterlockError,
    LockLost,
    StoreError,
    StoreMisconfigured,
    UsageError,
)
from ..events import Event, Troubled
from ..steps import Steps, park, side_by_side
from .agreement import agreed, majority
from .lock import GRACE, PATIENCE, Clock
from .multilock import (
    Member,
    crews_of,
    for_each,
    give_all,
    given_by,
    last_taken,
    noted,
    or_restore,
    run_by,
    run_crews,
    standing,
)

#: Seconds for which a round waits for the first member that was busy, at most.
SHARE = 1.5

#: Seconds between two rounds, at most; jitter decides.
PAUSE = 0.2

#: Seconds for which members are waited for when the others have decided it.
MOMENT = 0.25

#: Seconds for which a store that did not use its moment gets no other.
UNHEARD = 1.0


def take_majority(
    members: Sequence[Member],
    deadline: float,
    clock: Clock,
    jitter: float,
    tell: Callable[[Event], None],
) -> Steps[list[Any]]:
    """Take more than half of the members; None stands for each of the others.

    Cost: one round trip when they are free.  If interrupted: nothing is left in the stores.
    """
    taking = _take_majority(members, deadline, clock, jitter, tell)
    return or_restore(members, taking, deadline, clock)


def _take_majority(
    members: Sequence[Member],
    deadline: float,
    clock: Clock,
    jitter: float,
    tell: Callable[[Event], None],
) -> Steps[list[Any]]:
    began = heard = clock()
    first, behind = True, None
    while True:
        own = (yield from _own(members)) if deadline == math.inf else {}
        outcomes = yield from _canvass(members, own, behind, deadline, clock)
        holds = [None if isinstance(each, InterlockError) else each for each in outcomes]
        failures = [each for each in outcomes if isinstance(each, InterlockError)]
        if len(standing(holds)) >= majority(len(members)):
            return holds
        yield from give_all(members, holds, given_by(deadline, clock), clock)
        spare = len(members) - majority(len(members)) - len(own)
        troubles = _too_many(_troubles(failures), spare)
        heard = heard if troubles else clock()
        patience = (deadline if deadline < math.inf else heard + PATIENCE) - clock()
        if patience <= 0 or _too_many([each for each in troubles if _lasting(each)], spare):
            raise _no_majority(members, failures, clock() - began)
        if troubles:
            tell(_trouble(members, troubles[0], patience, first))
            first = False
        behind = _first_busy(outcomes)
        yield from park(None, min(clock() + PAUSE * jitter, deadline))


def _own(members: Sequence[Member]) -> Steps[dict[int, UsageError]]:
    """The places of those members for which the waiter would wait for itself; UsageError where
    they leave no majority.

    Each member is asked for with a limit, and would not say so.  No round trip, but for permits of
    which the waiter holds some.
    """
    refusals: dict[int, UsageError] = {}
    for place, member in enumerate(members):
        try:
            yield from member.check_itself()
        except UsageError as refusal:
            refusals[place] = refusal
    if len(members) - len(refusals) < majority(len(members)):
        raise next(iter(refusals.values()))
    return refusals


# --- one round -------------------------------------------------------------------------------


def _canvass(
    members: Sequence[Member],
    own: Mapping[int, UsageError],
    behind: int | None,
    deadline: float,
    clock: Clock,
) -> Steps[list[Any]]:
    """Ask every member once; answers the hold of each, or why there is none.

    Those that are one's own cannot be had, and are not asked for; nor are the others, when a
    majority is out of the question already.
    """
    outcomes: dict[int, Any] = {**own}
    if behind is not None and behind not in own:
        outcomes[behind] = yield from _wait_for(members[behind], deadline, clock)
    if _decided(outcomes, len(members)) is None:
        left = [(each, place) for place, each in enumerate(members) if place not in outcomes]
        outcomes.update((yield from _try_all(left, outcomes, len(members), deadline, clock)))
    for place, outcome in outcomes.items():
        if isinstance(outcome, BaseException) and not (place in own or _tolerable(outcome)):
            raise outcome
    return [outcomes.get(place) for place in range(len(members))]


def _wait_for(member: Member, deadline: float, clock: Clock) -> Steps[Any]:
    """Wait for a member in its queue, for its share of the time.

    A silent store leaves those that are asked behind it as much time as it had.
    """
    share = max(0.0, min((deadline - clock()) / 2, SHARE))
    limit = clock() + min(share + GRACE, (last_taken(deadline) - clock()) / 2)
    try:
        return (yield from run_by(member.abroad, member.take(share, limit, persists=False)))
    except (AcquireTimeout, LockLost, StoreError) as failure:
        return failure


def _try_all(
    pairs: Sequence[tuple[Member, int]],
    known: Mapping[int, Any],
    members: int,
    deadline: float,
    clock: Clock,
) -> Steps[dict[int, Any]]:
    """Try members, those of all clients at once; answers the outcome at each place."""
    limit = min(clock() + GRACE, last_taken(deadline))
    crews = crews_of(pairs)
    count = Count(crews, known, members, clock)

    def trial(place: int) -> Steps[list[Any]]:
        crew = crews[place]
        return side_by_side(*(each.take(0.0, limit, persists=False) for each, _ in crew))

    outcomes = yield from run_crews(crews, trial, clock, count)
    count.note_silence()
    return count.flat(outcomes)


class Count:
    """The outcomes of a round as they come in: until when the others are waited for."""

    def __init__(
        self,
        crews: Sequence[Sequence[tuple[Member, int]]],
        known: Mapping[int, Any],
        members: int,
        clock: Clock,
    ) -> None:
        self._crews, self._known, self._members, self._clock = crews, known, members, clock
        self._decided_at = self._limit = math.inf
        #: The clients that have not answered yet.
        self._silent: list[Any] = []

    def __call__(self, outcomes: Sequence[Any]) -> float:
        if _decided({**self._known, **self.flat(outcomes)}, self._members) is None:
            return math.inf
        now = self._clock()
        self._decided_at = min(self._decided_at, now)
        self._silent = [
            crew[0][0].client
            for crew, outcome in zip(self._crews, outcomes, strict=True)
            if outcome is None
        ]
        known = all(now < client.silence.unheard_until for client in self._silent)
        self._limit = self._decided_at + (0.0 if known else MOMENT)
        return self._limit

    def flat(self, outcomes: Sequence[Any]) -> dict[int, Any]:
        """The outcome at each place of which there is one."""
        return {
            place: outcome
            for crew, each in zip(self._crews, outcomes, strict=True)
            if each is not None
            for (_, place), outcome in zip(crew, for_each(each, len(crew)), strict=True)
        }

    def note_silence(self) -> None:
        """Note which clients were let go without an answer."""
        now = self._clock()
        if now >= self._limit:
            for client in self._silent:
                if now >= client.silence.unheard_until:
                    client.silence.unheard_until = now + UNHEARD


def _decided(outcomes: Mapping[int, Any], members: int) -> bool | None:
    """Whether a majority was taken, and stands; None while that cannot be told."""
    return agreed(members, [_stands(each) for each in outcomes.values()])


def _stands(outcome: Any) -> bool:
    return not isinstance(outcome, BaseException) and bool(standing([outcome]))


def _tolerable(failure: BaseException) -> bool:
    """Whether other members can make it good."""
    return isinstance(failure, (AcquireTimeout, LockLost, StoreError))


def _first_busy(outcomes: Sequence[Any]) -> int | None:
    """The place of the first member that another holds."""
    busy = (i for i, each in enumerate(outcomes) if isinstance(each, AcquireTimeout))
    return next(busy, None)


# --- no majority -----------------------------------------------------------------------------


def _troubles(failures: Sequence[InterlockError]) -> list[StoreError]:
    """Those of a store in trouble, which say more than those of a lock that is busy."""
    return [failure for failure in failures if isinstance(failure, StoreError)]


def _too_many(failures: list[StoreError], spare: int) -> list[StoreError]:
    """Failures that leave no majority, of which so many may be; none where one is left."""
    return failures if len(failures) > spare else []


def _lasting(failure: StoreError) -> bool:
    """Whether asking again is of no use."""
    return isinstance(failure, StoreMisconfigured) or failure.final


def _trouble(
    members: Sequence[Member], failure: StoreError, patience: float, first: bool
) -> Troubled:
    names = ", ".join(member.name for member in members)
    return Troubled(names, "", str(failure), failure.store, patience, first)


def _no_majority(
    members: Sequence[Member], failures: Sequence[InterlockError], waited: float
) -> InterlockError:
    """What to say when the last round has failed: it was not the only one that took time."""
    if troubles := _troubles(failures):
        return troubles[0]
    last = failures[-1] if failures else None
    if last is None or isinstance(last, AcquireTimeout):
        holder = None if last is None else last.holder
        name = members[0].name if last is None else last.name
        return noted(AcquireTimeout(name, holder, waited), last)
    return last
