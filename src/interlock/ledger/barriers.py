"""Barriers: parties gather until all are there, are inside together, and leave together.

A party is a holder, and what it does is kept as the weight of its share, together with how many
parties there have to be; so a barrier is gone when its last party is.  A party that gathers counts
as there for as long as it keeps asking; inside, as long as its lease.  Parties that come while
others are still inside wait in the queue for the next time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..model import PRESENCE
from .locks import other_kind, share_of
from .records import (
    BURIED,
    BUSY,
    GRANTED,
    MISMATCH,
    NOT_HELD,
    OTHER_KIND,
    RELEASED,
    Held,
    Records,
)

BARRIER = "barrier"

#: What a party does, and how an onlooker is told.
GATHERS, INSIDE, DONE = 0, 1, 2
STAGES = ("waits", "inside", "done")


def stage_of(held: Held) -> int:
    """What a party does."""
    return held.weight % len(STAGES)


def parties_of(held: Held) -> int:
    """How many parties there have to be, as one of them said."""
    return held.weight // len(STAGES)


def _weight(parties: int, stage: int) -> int:
    return parties * len(STAGES) + stage


def _inside(held: Iterable[Held]) -> list[Held]:
    return [each for each in held if stage_of(each) == INSIDE]


# --- entering -----------------------------------------------------------------------------------


def enter(
    records: Records, name: str, owner: str, lease: float, waits: bool, parties: int
) -> tuple[Any, ...]:
    """Let a party in when all are there; otherwise one that waits is there from now on.

    Safe to repeat: a party that is inside is let in again, one that gathers is there once.
    """
    if records.buried(owner):
        return (BURIED,)
    held = records.held(name)
    if (other := other_kind(held, records.declared(name), BARRIER)) is not None:
        return OTHER_KIND, other
    if all(stage_of(each) == DONE for each in held):
        _finish(records, name, held)  # those inside have died, and none has said so
        held = ()
    if held and parties_of(held[0]) != parties:
        return MISMATCH, parties_of(held[0])
    if _is_open(held):
        return _enter_open(records, name, owner, lease, waits, held)
    return _gather(records, name, owner, lease, waits, parties, held)


def _is_open(held: Iterable[Held]) -> bool:
    return any(stage_of(each) != GATHERS for each in held)


def _enter_open(
    records: Records, name: str, owner: str, lease: float, waits: bool, held: Sequence[Held]
) -> tuple[Any, ...]:
    """Let a party in that was there when the barrier opened; others wait for the next time."""
    mine = share_of(held, owner)
    if mine is not None and stage_of(mine) == INSIDE:
        return _let_in(records, name, owner, lease, mine.weight)
    if waits and mine is None:
        records.enqueue(name, owner, 0)
    return _busy(held)


def _gather(
    records: Records,
    name: str,
    owner: str,
    lease: float,
    waits: bool,
    parties: int,
    held: Sequence[Held],
) -> tuple[Any, ...]:
    others = [each for each in held if each.owner != owner]
    opens = len(others) + 1 >= parties and _hear(records, name, others) + 1 >= parties
    records.dequeue(name, owner)
    if opens:
        for each in others:
            records.put(name, BARRIER, each.owner, _weight(parties, INSIDE), PRESENCE)
        return _let_in(records, name, owner, lease, _weight(parties, INSIDE))
    if waits:
        records.put(name, BARRIER, owner, _weight(parties, GATHERS), PRESENCE)
    return BUSY, None, None


def _hear(records: Records, name: str, others: list[Held]) -> int:
    """Wake the parties that gather; how many hear.  One that does not is dead, and must not count:
    it is dropped, also from the list."""
    for each in list(others):
        if records.wake(name, each.owner):
            records.put(name, BARRIER, each.owner, each.weight, PRESENCE)
        else:
            records.drop(name, each.owner)
            others.remove(each)
    return len(others)


def _let_in(records: Records, name: str, owner: str, lease: float, weight: int) -> tuple[Any, ...]:
    records.put(name, BARRIER, owner, weight, lease)
    return GRANTED, records.next_token(name, owner)


def _busy(held: Sequence[Held]) -> tuple[Any, ...]:
    """Who is inside, and when the first of them would be gone."""
    inside = _inside(held)
    return BUSY, inside[0].owner, min(each.left for each in inside)


def renew(records: Records, lease: float, *holds: tuple[str, str]) -> list[bool]:
    """Set the lease of each party that is not done.  Safe to repeat: it is set again."""
    return [_renew(records, lease, name, owner) for name, owner in holds]


def _renew(records: Records, lease: float, name: str, owner: str) -> bool:
    mine = share_of(records.held(name), owner)
    if mine is None or mine.kind != BARRIER or stage_of(mine) == DONE:
        return False
    records.put(name, BARRIER, owner, mine.weight, lease)
    return True


# --- leaving ------------------------------------------------------------------------------------


def leave(records: Records, name: str, owner: str, lease: float) -> tuple[Any, ...]:
    """Let a party go when all are done; GRANTED, with 0 when it is not there any more.

    Safe to repeat: a party that is done stays so until all are.
    """
    held = records.held(name)
    mine = share_of(held, owner)
    if mine is None or mine.kind != BARRIER:
        return GRANTED, 0
    others = [each for each in held if each.owner != owner]
    if stage_of(mine) == GATHERS or not _inside(others):
        release(records, name, owner)
        return GRANTED, 1
    records.put(name, BARRIER, owner, _weight(parties_of(mine), DONE), lease)
    return _busy(others)


def release(records: Records, name: str, owner: str) -> int:
    """Let a party go, whoever is still inside.  Safe to repeat: the second finds it gone."""
    held = records.held(name)
    mine = share_of(held, owner)
    if mine is None or mine.kind != BARRIER:
        return NOT_HELD
    records.drop(name, owner)
    others = [each for each in held if each.owner != owner]
    if stage_of(mine) != GATHERS and not _inside(others):
        _finish(records, name, others)
    return RELEASED


def withdraw(records: Records, name: str, owner: str, reason: str = "") -> int:
    """Remove every trace of a party and bury it.  Safe to repeat: nothing is left."""
    records.bury(owner, reason)
    records.dequeue(name, owner)
    return release(records, name, owner)


def _finish(records: Records, name: str, done: Iterable[Held]) -> None:
    """All are done: let them go, and let those gather that came meanwhile."""
    waiting = [each.owner for each in done]
    for owner in waiting:
        records.drop(name, owner)
    while (head := records.head(name)) is not None:
        records.dequeue(name, head.owner)
        waiting.append(head.owner)
    for owner in waiting:
        records.wake(name, owner)
