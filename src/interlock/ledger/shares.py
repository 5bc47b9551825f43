"""What is held: one owner has the whole of a name, or several have a share of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..model import PROVISIONAL
from .shelf import (
    BURIED,
    BUSY,
    GRANTED,
    NOT_HELD,
    OTHER_KIND,
    RELEASED,
    UNSET,
    WHOLE,
    Fact,
    Held,
    Shelf,
    Waiter,
)

#: Kinds whose room was set, and does not follow from what they are.
COUNTED = ("semaphore", "leased_semaphore")

#: Kinds in which somebody may wait although there is room for others.
SHARED = ("rwlock", *COUNTED)


def attempt(
    shelf: Shelf,
    name: str,
    kind: str,
    owner: str,
    lease: float,
    waits: bool,
    weight: int = 1,
    permits: int | None = None,
) -> tuple[Any, ...]:
    """Grant a share of a name, or say who has it and remember an owner that waits.

    Safe to repeat: an owner that holds already is granted again, with a newer token.
    """
    if shelf.buried(owner):
        return (BURIED,)
    held, fact = shelf.held(name), shelf.fact(name)
    if (other := other_kind(held, fact, kind)) is not None:
        return OTHER_KIND, other
    if kind in COUNTED and fact is None:
        if permits is None:
            return (UNSET,)
        shelf.set_fact(name, kind, permits)
    if (mine := share_of(held, owner)) is not None:
        weight = mine.weight  # a question that comes late makes no reader a writer again
    elif (busy := _refused(shelf, name, kind, Waiter(owner, weight))) is not None:
        if waits:
            shelf.enqueue(name, owner, weight)
        return busy
    else:
        shelf.dequeue(name, owner)
    shelf.put(name, kind, owner, weight, lease)
    return GRANTED, shelf.next_token(name, owner)


def _refused(shelf: Shelf, name: str, kind: str, asker: Waiter) -> tuple[Any, ...] | None:
    """Let those in who came before; None if there is room left for the one who asks."""
    held = hand_over(shelf, name, kind, asker.owner)
    head = shelf.head(name)
    ahead = None if head is None or head.owner == asker.owner else head.owner
    if ahead is None and fits(held, asker.weight, room_of(shelf, name, kind)):
        return None
    if not held:
        return BUSY, ahead, None
    return BUSY, held[0].owner, min(each.left for each in held)


def hand_over(shelf: Shelf, name: str, kind: str, asker: str | None = None) -> Sequence[Held]:
    """Give what is free to the first waiters that still hear, up to the one who asks."""
    if shelf.head(name) is None:
        return shelf.held(name)
    room, held = room_of(shelf, name, kind), list(shelf.held(name))
    while (head := shelf.head(name)) is not None and head.owner != asker:
        fitting = fits(held, head.weight, room)
        if not fitting and (kind not in SHARED or shelf.hears(name, head.owner)):
            break  # nobody overtakes one that still hears
        shelf.dequeue(name, head.owner)
        if fitting and shelf.wake(name, head.owner):
            shelf.put(name, kind, head.owner, head.weight, PROVISIONAL)
            held.append(Held(kind, head.owner, head.weight, PROVISIONAL))
            if kind not in SHARED:
                break  # it has the whole of it
    return held


def room_of(shelf: Shelf, name: str, kind: str) -> int:
    """How much of a name can be held at the same time."""
    if kind in COUNTED:
        fact = shelf.fact(name)
        return 0 if fact is None else fact.number
    return WHOLE if kind == "rwlock" else 1


def fits(held: Iterable[Held], weight: int, room: int) -> bool:
    """Whether there is room for another share."""
    for each in held:
        weight += each.weight
    return weight <= room


def share_of(held: Iterable[Held], owner: str) -> Held | None:
    """What an owner holds."""
    for each in held:
        if each.owner == owner:
            return each
    return None


def other_kind(held: Sequence[Held], fact: Fact | None, kind: str) -> str | None:
    """As what else a name is in use, if it is."""
    if fact is not None and fact.kind != kind:
        return fact.kind
    return held[0].kind if held and held[0].kind != kind else None


def release(shelf: Shelf, name: str, kind: str, owner: str) -> int:
    """Free what is held and hand it over.  Safe to repeat: the second finds it not held."""
    if share_of(shelf.held(name), owner) is None:
        return NOT_HELD
    shelf.drop(name, owner)
    hand_over(shelf, name, kind)
    return RELEASED


def withdraw(shelf: Shelf, name: str, kind: str, owner: str, reason: str = "") -> int:
    """Remove every trace of an owner and bury it.  Safe to repeat: nothing is left."""
    shelf.bury(owner, reason)
    shelf.dequeue(name, owner)
    outcome = release(shelf, name, kind, owner)
    if outcome == NOT_HELD and kind in SHARED:
        hand_over(shelf, name, kind)  # others may have waited because of it alone
    return outcome


def renew(shelf: Shelf, lease: float, *holds: tuple[str, str]) -> list[bool]:
    """Set, never add, the lease of each hold.  Safe to repeat: it is set again."""
    return [_renew(shelf, lease, name, owner) for name, owner in holds]


def _renew(shelf: Shelf, lease: float, name: str, owner: str) -> bool:
    mine = share_of(shelf.held(name), owner)
    if mine is not None:
        shelf.put(name, mine.kind, owner, mine.weight, lease)
    return mine is not None


def downgrade(shelf: Shelf, name: str, kind: str, owner: str, lease: float) -> int:
    """Make a writer a reader.  Safe to repeat: it is a reader again."""
    if share_of(shelf.held(name), owner) is None:
        return NOT_HELD
    shelf.put(name, kind, owner, 1, lease)
    hand_over(shelf, name, kind)
    return RELEASED


def set_permits(shelf: Shelf, name: str, kind: str, permits: int) -> tuple[Any, ...]:
    """From now on there are so many permits.  Safe to repeat: they are set again."""
    if (other := other_kind(shelf.held(name), shelf.fact(name), kind)) is not None:
        return OTHER_KIND, other
    shelf.set_fact(name, kind, permits)
    hand_over(shelf, name, kind)
    return (GRANTED,)
