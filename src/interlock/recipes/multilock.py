"""How several locks are taken as one: all of them, or a majority.

Theory of operation.  The members are taken one after another in a fixed order, so that
callers who want some of the same ones cannot wait for each other in a circle; one deadline is
shared by all.  Whatever interrupts it, everything that was taken since is given back: what a
member held before is compared with what it holds now, so that nothing depends on how far we
got.  A lock that was lost while we waited for the next one spoils the whole round.

A majority tolerates members that are busy or out of reach, as long as more than half were
taken and *still stand* at the end: each grant counts its validity from before its question,
so the time spent on the others is subtracted by itself.

Giving back.  The members of one client are given back side by side, in one round trip; those of
several clients one client after another.  There is one limit for all: what is not confirmed by
then is owed by the member's client, whose keeper withdraws it.  So a silent store keeps the
caller as long as it would for one lock.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from ..errors import (
    AcquireTimeout,
    InterlockError,
    LockLost,
    StoreError,
    StoreMisconfigured,
    StoreUnavailable,
    UsageError,
)
from ..events import Event, Troubled
from ..steps import Steps, elsewhere, park, side_by_side
from ..words import duration
from .lock import CHANCE, GRACE, PATIENCE, RESERVE, WITHDRAWAL, Clock

R = TypeVar("R")

#: How another client runs an algorithm of its own.
Abroad: TypeAlias = Callable[[Steps[Any]], Any]

#: Seconds that one member of a majority may keep the others waiting.
SHARE = 1.5

#: Seconds between two rounds for a majority, at most; jitter decides.
PAUSE = 0.2


class HeldMember(Protocol):
    """A hold of a member, as it is seen here."""

    depth: int

    @property
    def lost(self) -> bool: ...


class Member(Protocol):
    """One lock of a multilock."""

    name: str
    #: How its client runs steps; None when that is the client that runs ours.
    abroad: Abroad | None

    def take(self, timeout: float, limit: float, persists: bool = True) -> Steps[Any]:
        """Take it; by `limit` that has succeeded or failed, whatever is silent."""
        ...

    def check_itself(self) -> Steps[None]:
        """Raise UsageError where to wait for it without a limit would be to wait for itself."""
        ...

    def give(self, hold: Any, until: float) -> Steps[None]:
        """Give it back; these steps are for its own client to run."""
        ...

    def standing(self) -> tuple[Any, int] | None:
        """The hold that the running thread or task has now, and how often."""
        ...


def take_all(members: Sequence[Member], deadline: float, clock: Clock) -> Steps[list[Any]]:
    """Take every member.  Cost: what each costs, one after another.

    If interrupted: nothing is left in the stores.
    """
    return or_restore(members, _take_all(members, deadline, clock), deadline, clock)


def _take_all(members: Sequence[Member], deadline: float, clock: Clock) -> Steps[list[Any]]:
    began = clock()
    while True:
        holds: list[Any] = []
        for member in members:
            limit = _limit(deadline)
            if clock() >= limit - RESERVE:
                raise _too_late(members, len(holds), clock() - began, deadline - began)
            holds.append((yield from member.take(max(0.0, deadline - clock()), limit)))
        lost = [each.name for each, hold in zip(members, holds, strict=True) if hold.lost]
        if not lost:
            return holds
        yield from give_all(members, holds, _by(deadline, clock), clock)
        if clock() >= deadline:
            raise AcquireTimeout(lost[0], None, clock() - began)


def _limit(deadline: float) -> float:
    """When the last member was taken or not, so that the others can still be given back."""
    return deadline + GRACE - RESERVE


def _by(deadline: float, clock: Clock) -> float:
    """When what was taken must have been given back."""
    return max(min(clock() + WITHDRAWAL, deadline + GRACE), clock() + CHANCE)


def _too_late(
    members: Sequence[Member], taken: int, waited: float, timeout: float
) -> StoreUnavailable:
    left = members[taken:]
    names = ", ".join(repr(member.name) for member in left[:3]) + (", …" if left[3:] else "")
    advice = "wait longer (timeout=)" if timeout > 0 else "a try of so many needs quicker answers"
    return StoreUnavailable(
        f"{taken} of {len(members)} locks were taken in {duration(waited)}, because the answers "
        f"were slow to come; {len(left)} ({names}) were not asked for: {advice}"
    )


def take_majority(
    members: Sequence[Member],
    deadline: float,
    clock: Clock,
    jitter: float,
    tell: Callable[[Event], None],
) -> Steps[list[Any]]:
    """Take more than half of the members; None stands for each of the others.

    Cost: what each costs, one after another.  If interrupted: nothing is left in the stores.
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
    first = True
    while True:
        own = (yield from _own(members)) if deadline == math.inf else {}
        holds, failures = yield from _canvass(members, own, deadline, clock)
        if len(standing(holds)) >= quorum(len(members)):
            return holds
        yield from give_all(members, holds, _by(deadline, clock), clock)
        spare = len(members) - quorum(len(members)) - len(own)
        troubles = _too_many(_troubles(failures), spare)
        heard = heard if troubles else clock()
        patience = (deadline if deadline < math.inf else heard + PATIENCE) - clock()
        if patience <= 0 or _too_many([each for each in troubles if _lasting(each)], spare):
            raise _failed(members, failures, clock() - began)
        if troubles:
            tell(_trouble(members, troubles[0], patience, first))
            first = False
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
    if len(members) - len(refusals) < quorum(len(members)):
        raise next(iter(refusals.values()))
    return refusals


def quorum(members: int) -> int:
    """How many of so many are a majority."""
    return members // 2 + 1


def standing(holds: Sequence[Any]) -> list[HeldMember]:
    """Those holds that were got, and are not lost."""
    return [hold for hold in holds if hold is not None and hold.depth and not hold.lost]


def _canvass(
    members: Sequence[Member], own: Mapping[int, UsageError], deadline: float, clock: Clock
) -> Steps[tuple[list[Any], list[InterlockError]]]:
    """Ask every member once, unless a majority is out of the question already.

    Those that are one's own cannot be had, and are not asked for.
    """
    holds: list[Any] = [None] * len(members)
    failures: list[InterlockError] = [*own.values()]
    for place, member in enumerate(members):
        if place in own:
            continue
        share = _share(deadline - clock(), len(members))
        # A silent store leaves the members behind it as much time as it had.
        fair = (_limit(deadline) - clock()) / (len(members) - place)
        limit = clock() + min(share + GRACE, fair)
        try:
            holds[place] = yield from member.take(share, limit, persists=False)
        except (AcquireTimeout, LockLost, StoreError) as failure:
            failures.append(failure)
            if len(failures) > len(members) - quorum(len(members)):
                break
    return holds, failures


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


def _failed(
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


def noted(error: AcquireTimeout, last: AcquireTimeout | None) -> AcquireTimeout:
    """The same, with what was noted on another one that it stands for."""
    for note in getattr(last, "__notes__", ()):
        error.add_note(note)
    return error


def _share(left: float, members: int) -> float:
    """How long one member may take of the time that is left."""
    return max(0.0, min(left / members, SHARE))


# --- giving back ----------------------------------------------------------------------------


def give_all(
    members: Sequence[Member],
    holds: Sequence[Any],
    limit: float,
    clock: Clock,
    enough: float = math.inf,
) -> Steps[list[InterlockError]]:
    """Give everything back, last first; answers what went wrong, in that order.

    Once `enough` were given back, the others get no more than the time of a withdrawal.
    Cost: one round trip for all members of a client.  An interruption goes on when everything
    has been given back.
    """
    pairs = [pair for pair in zip(members, holds, strict=False) if pair[1] is not None]
    failures: list[InterlockError] = []
    for _, failure in (yield from _give_back(pairs[::-1], limit, clock, enough)):
        if not isinstance(failure, InterlockError):
            raise failure
        failures.append(failure)
    return failures


def _give_back(
    pairs: Sequence[tuple[Member, Any]], limit: float, clock: Clock, enough: float = math.inf
) -> Steps[list[tuple[Member, BaseException]]]:
    """Give holds back, client by client; answers what went wrong with which."""
    failures: list[tuple[Member, BaseException]] = []
    interruption: BaseException | None = None
    crews, asked = _crews(pairs), 0
    for place, crew in enumerate(crews):
        if asked - len(failures) >= enough:
            limit = min(limit, clock() + WITHDRAWAL)
        asked += len(crew)
        until = _turn(limit, clock(), len(crews) - place)
        try:
            outcomes = yield from _give_crew(crew, until)
            failures += [
                (member, outcome)
                for (member, _), outcome in zip(crew, outcomes, strict=True)
                if isinstance(outcome, BaseException)
            ]
        except GeneratorExit:
            raise
        except BaseException as error:
            interruption = interruption or error
    if interruption is not None:
        raise interruption
    return failures


def _crews(pairs: Sequence[tuple[Member, Any]]) -> list[list[tuple[Member, Any]]]:
    """The same, those of one client together."""
    crews: dict[Abroad | None, list[tuple[Member, Any]]] = {}
    for member, hold in pairs:
        crews.setdefault(member.abroad, []).append((member, hold))
    return list(crews.values())


def _turn(limit: float, now: float, crews: int) -> float:
    """Until when the first of so many clients may take, so that the others have a chance."""
    chance = max(0.0, min(2 * CHANCE, (limit - now) / crews))
    return limit - chance * (crews - 1)


def _give_crew(
    crew: Sequence[tuple[Member, Any]], until: float
) -> Steps[list[BaseException | None]]:
    """Give back what one client holds.  One round trip."""
    return run_by(
        crew[0][0].abroad, side_by_side(*(member.give(hold, until) for member, hold in crew))
    )


def run_by(abroad: Abroad | None, steps: Steps[R]) -> Steps[R]:
    """Let the client run the steps that are its own: this one, or another."""
    return steps if abroad is None else elsewhere(abroad, steps)


def or_restore(
    members: Sequence[Member], steps: Steps[R], deadline: float, clock: Clock
) -> Steps[R]:
    """Take, or have everything back as it was before."""
    before = [member.standing() for member in members]
    try:
        return (yield from steps)
    except GeneratorExit:
        raise
    except BaseException as interruption:
        yield from _restore(members, before, interruption, _by(deadline, clock), clock)
        raise


def _restore(
    members: Sequence[Member],
    before: Sequence[Any],
    interruption: BaseException,
    limit: float,
    clock: Clock,
) -> Steps[None]:
    """Give back what was taken since; the interruption goes on, whatever happens here."""
    pairs = [
        (member, now[0])
        for member, was in zip(members, before, strict=True)
        if (now := member.standing()) is not None and now != was
    ]
    try:
        for member, failure in (yield from _give_back(pairs[::-1], limit, clock)):
            interruption.add_note(f"lock {member.name!r} was not given back: {failure}")
    except GeneratorExit:
        raise
    except BaseException as failure:
        names = ", ".join(repr(member.name) for member, _ in pairs)
        interruption.add_note(f"the locks {names} were not all given back: {failure}")
