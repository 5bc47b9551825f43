"""How several locks are taken as one: all of them, or a majority.

Theory of operation.  The members are taken one after another in a fixed order, so that
callers who want some of the same ones cannot wait for each other in a circle; one deadline is
shared by all.  Whatever interrupts it, everything that was taken since is given back: what a
member held before is compared with what it holds now, so that nothing depends on how far we
got.  A lock that was lost while we waited for the next one spoils the whole round.

A majority tolerates members that are busy or out of reach, as long as more than half were
taken and *still stand* at the end: each grant counts its validity from before its question,
so the time spent on the others is subtracted by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from ..errors import AcquireTimeout, InterlockError, LockLost, StoreError
from ..steps import Steps, park
from .lock import Clock

R = TypeVar("R")

#: Seconds that one member of a majority may keep the others waiting.
SHARE = 1.5

#: Seconds between two rounds for a majority, at most; jitter decides.
PAUSE = 0.2


class Standing(Protocol):
    """A hold of a member, as it is seen here."""

    depth: int

    @property
    def lost(self) -> bool: ...


class Member(Protocol):
    """One lock of several."""

    name: str

    def take(self, timeout: float) -> Steps[Any]:
        """Take it; its own client runs the algorithm."""
        ...

    def give(self, hold: Any) -> Steps[None]:
        """Give it back; its own client runs the algorithm."""
        ...

    def standing(self) -> tuple[Any, int] | None:
        """The hold that the running thread or task has now, and how often."""
        ...


def take_all(members: Sequence[Member], deadline: float, clock: Clock) -> Steps[list[Any]]:
    """Take every member.  Cost: what each costs, one after another.

    If interrupted: nothing is left in the stores.
    """
    return or_restore(members, _take_all(members, deadline, clock))


def _take_all(members: Sequence[Member], deadline: float, clock: Clock) -> Steps[list[Any]]:
    began = clock()
    while True:
        holds: list[Any] = []
        for member in members:
            holds.append((yield from member.take(max(0.0, deadline - clock()))))
        lost = [each.name for each, hold in zip(members, holds, strict=True) if hold.lost]
        if not lost:
            return holds
        yield from give_all(members, holds)
        if clock() >= deadline:
            raise AcquireTimeout(lost[0], None, clock() - began)


def take_majority(
    members: Sequence[Member], deadline: float, clock: Clock, jitter: float
) -> Steps[list[Any]]:
    """Take more than half of the members; None stands for each of the others.

    Cost: what each costs, one after another.  If interrupted: nothing is left in the stores.
    """
    return or_restore(members, _take_majority(members, deadline, clock, jitter))


def _take_majority(
    members: Sequence[Member], deadline: float, clock: Clock, jitter: float
) -> Steps[list[Any]]:
    began = clock()
    while True:
        holds, failure = yield from _canvass(members, deadline, clock)
        if len(standing(holds)) >= quorum(len(members)):
            return holds
        yield from give_all(members, holds)
        if clock() >= deadline:
            raise _failed(members, failure, clock() - began)
        yield from park(None, min(clock() + PAUSE * jitter, deadline))


def quorum(members: int) -> int:
    """How many of so many are a majority."""
    return members // 2 + 1


def standing(holds: Sequence[Any]) -> list[Standing]:
    """Those holds that were got, and are not lost."""
    return [hold for hold in holds if hold is not None and hold.depth and not hold.lost]


def _canvass(
    members: Sequence[Member], deadline: float, clock: Clock
) -> Steps[tuple[list[Any], InterlockError | None]]:
    """Ask every member once, unless a majority is out of the question already."""
    holds: list[Any] = [None] * len(members)
    failures: list[InterlockError] = []
    for place, member in enumerate(members):
        try:
            holds[place] = yield from member.take(_share(deadline - clock(), len(members)))
        except (AcquireTimeout, LockLost, StoreError) as failure:
            failures.append(failure)
            if len(failures) > len(members) - quorum(len(members)):
                break
    return holds, _telling(failures)


def _telling(failures: Sequence[InterlockError]) -> InterlockError | None:
    """The failure that says most: a store in trouble rather than a lock that is busy."""
    troubles = [failure for failure in failures if isinstance(failure, StoreError)]
    return next(iter(troubles), failures[-1] if failures else None)


def _failed(
    members: Sequence[Member], failure: InterlockError | None, waited: float
) -> InterlockError:
    """What to say when the last round has failed: it was not the only one that took time."""
    if isinstance(failure, AcquireTimeout):
        return AcquireTimeout(failure.name, failure.holder, waited)
    return failure or AcquireTimeout(members[0].name, None, waited)


def _share(left: float, members: int) -> float:
    """How long one member may take of the time that is left."""
    return max(0.0, min(left / members, SHARE))


def give_all(members: Sequence[Member], holds: Sequence[Any]) -> Steps[list[InterlockError]]:
    """Give everything back, last first; answers what went wrong, in that order.

    An interruption goes on when everything has been given back.
    """
    failures: list[InterlockError] = []
    interruption: BaseException | None = None
    for member, hold in reversed(list(zip(members, holds, strict=False))):
        try:
            if hold is not None:
                yield from member.give(hold)
        except GeneratorExit:
            raise
        except InterlockError as failure:
            failures.append(failure)
        except BaseException as error:
            interruption = interruption or error
    if interruption is not None:
        raise interruption
    return failures


def or_restore(members: Sequence[Member], steps: Steps[R]) -> Steps[R]:
    """Take, or have everything back as it was before."""
    before = [member.standing() for member in members]
    try:
        return (yield from steps)
    except GeneratorExit:
        raise
    except BaseException as interruption:
        yield from _restore(members, before, interruption)
        raise


def _restore(
    members: Sequence[Member], before: Sequence[Any], interruption: BaseException
) -> Steps[None]:
    """Give back what was taken since; the interruption goes on, whatever happens here."""
    for member, was in reversed(list(zip(members, before, strict=True))):
        now = member.standing()
        if now is None or now == was:
            continue
        try:
            yield from member.give(now[0])
        except GeneratorExit:
            raise
        except BaseException as failure:
            interruption.add_note(f"could not give back {member.name!r}: {failure}")
