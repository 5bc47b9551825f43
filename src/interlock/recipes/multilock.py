"""How several locks are taken as one, and given back: all of them; `majority` is for most of them.

Theory of operation.  The members are taken one after another in a fixed order, so that
callers who want some of the same ones cannot wait for each other in a circle; one deadline is
shared by all.  Whatever interrupts it, everything that was taken since is given back: what a
member held before is compared with what it holds now, so that nothing depends on how far we
got.  A lock that was lost while we waited for the next one spoils the whole round.

Giving back.  The members of one client are given back side by side, in one round trip, and so are
those of several clients, where their links allow it (see `abreast`).  There is one limit for all:
what is not confirmed by then is owed by the member's client, whose keeper withdraws it.  So a
silent store keeps the caller as long as it would for one lock.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from ..abreast import Patience, abreast
from ..errors import AcquireTimeout, InterlockError, StoreUnavailable
from ..steps import OfLink, Steps, elsewhere, side_by_side
from ..words import duration
from .lock import CHANCE, GRACE, RESERVE, WITHDRAWAL, Clock, Silence

R = TypeVar("R")

#: How another client runs an algorithm of its own.
Abroad: TypeAlias = Callable[[Steps[Any]], Any]

X = TypeVar("X")


class MemberClient(OfLink, Protocol):
    """The client of a member, as it is seen here."""

    silence: Silence


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

    @property
    def client(self) -> MemberClient: ...

    def take(self, timeout: float, limit: float, persists: bool = True) -> Steps[Any]:
        """Take it; by `limit` that has succeeded or failed, whatever is silent.

        These steps, and those of `give`, are for its own client to run.
        """
        ...

    def check_itself(self) -> Steps[None]:
        """Raise UsageError where to wait for it without a limit would be to wait for itself."""
        ...

    def give(self, hold: Any, until: float) -> Steps[None]:
        """Give it back."""
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
            limit = last_taken(deadline)
            if clock() >= limit - RESERVE:
                raise _too_late(members, len(holds), clock() - began, deadline - began)
            taking = member.take(max(0.0, deadline - clock()), limit)
            holds.append((yield from run_by(member.abroad, taking)))
        lost = [each.name for each, hold in zip(members, holds, strict=True) if hold.lost]
        if not lost:
            return holds
        yield from give_all(members, holds, given_by(deadline, clock), clock)
        if clock() >= deadline:
            raise AcquireTimeout(lost[0], None, clock() - began)


def last_taken(deadline: float) -> float:
    """When the last member was taken or not, so that the others can still be given back."""
    return deadline + GRACE - RESERVE


def given_by(deadline: float, clock: Clock) -> float:
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


def standing(holds: Sequence[Any]) -> list[HeldMember]:
    """Those holds that were got, and are not lost."""
    return [hold for hold in holds if hold is not None and hold.depth and not hold.lost]


def noted(error: AcquireTimeout, last: AcquireTimeout | None) -> AcquireTimeout:
    """The same, with what was noted on another one that it stands for."""
    for note in getattr(last, "__notes__", ()):
        error.add_note(note)
    return error


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
    """Give holds back, those of all clients at once; answers what went wrong with which."""
    crews, now = crews_of(pairs), clock()
    turns = _turns(limit, now, len(crews))

    def giving(place: int) -> Steps[list[Any]]:
        return side_by_side(*(member.give(hold, turns[place]) for member, hold in crews[place]))

    outcomes = yield from run_crews(crews, giving, clock, Giving(enough, clock))
    return [
        (member, outcome)
        for crew, each in zip(crews, outcomes, strict=True)
        for (member, _), outcome in zip(crew, each, strict=True)
        if isinstance(outcome, BaseException)
    ]


class Giving:
    """Until when holds that are given back are waited for: once enough were given back, the
    others get no more than the time of a withdrawal."""

    def __init__(self, enough: float, clock: Clock) -> None:
        self._enough, self._clock, self._limit = enough, clock, math.inf

    def __call__(self, outcomes: Sequence[Any]) -> float:
        crews = [crew for crew in outcomes if isinstance(crew, list)]
        given = sum(not isinstance(each, BaseException) for crew in crews for each in crew)
        if given >= self._enough:
            self._limit = min(self._limit, self._clock() + WITHDRAWAL)
        return self._limit


def crews_of(pairs: Sequence[tuple[Member, X]]) -> list[list[tuple[Member, X]]]:
    """The same, those of one client together."""
    crews: dict[int, list[tuple[Member, X]]] = {}
    for pair in pairs:
        crews.setdefault(id(pair[0].client), []).append(pair)
    return list(crews.values())


def _turns(limit: float, now: float, crews: int) -> list[float]:
    """Until when each of so many clients may take, so that those behind it have a chance if they
    have to be asked one after another."""
    chance = max(0.0, min(2 * CHANCE, (limit - now) / max(crews, 1)))
    return [limit - chance * left for left in reversed(range(crews))]


def run_crews(
    crews: Sequence[Sequence[tuple[Member, Any]]],
    steps_of: Callable[[int], Steps[list[R]]],
    clock: Clock,
    patience: Patience[list[R]],
) -> Steps[list[list[R | BaseException]]]:
    """Let each client run its steps, for all of its members; those of several clients abreast."""
    if len(crews) == 1:
        own: list[R] = yield from run_by(crews[0][0][0].abroad, steps_of(0))
        return [[*own]]
    clients = [crew[0][0].client for crew in crews]
    outcomes = yield from abreast(
        clients, *(steps_of(place) for place in range(len(crews))), clock=clock, patience=patience
    )
    return [for_each(each, len(crew)) for crew, each in zip(crews, outcomes, strict=True)]


def for_each(outcome: list[R] | BaseException, members: int) -> list[R | BaseException]:
    """The outcomes of the members of a client; its failure as a whole is that of each."""
    return [outcome] * members if isinstance(outcome, BaseException) else [*outcome]


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
        yield from _restore(members, before, interruption, given_by(deadline, clock), clock)
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
