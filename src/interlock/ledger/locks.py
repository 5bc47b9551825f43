"""Everything that is held: one owner has the whole of a name, or several have a share of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..model import PROVISIONAL
from .records import (
    BURIED,
    BUSY,
    GRANTED,
    NOT_HELD,
    OTHER_KIND,
    RELEASED,
    UNSET,
    WHOLE,
    Declared,
    Held,
    Queued,
    Records,
)

#: Kinds whose room was declared, and does not follow from the kind.
COUNTED = ("semaphore", "leased_semaphore")

#: Kinds in which an owner may wait although there is room for smaller shares.
SHARED = ("rwlock", *COUNTED)


def attempt(
    records: Records,
    name: str,
    kind: str,
    owner: str,
    lease: float,
    waits: bool,
    weight: int = 1,
    permits: int | None = None,
) -> tuple[Any, ...]:
    """Grant a share of a name, or answer who holds it and queue an owner that waits.

    Safe to repeat: an owner that holds already is granted again, with a newer token.
    """
    if records.buried(owner):
        return (BURIED,)
    held, declared = records.held(name), records.declared(name)
    if (other := other_kind(held, declared, kind)) is not None:
        return OTHER_KIND, other
    if kind in COUNTED and declared is None:
        if permits is None:
            return (UNSET,)
        records.declare(name, kind, permits)
    if (mine := share_of(held, owner)) is not None:
        weight = mine.weight  # a late attempt must not make a downgraded reader a writer again
    elif (busy := _refused(records, name, kind, Queued(owner, weight))) is not None:
        if waits:
            records.enqueue(name, owner, weight)
        return busy
    else:
        records.dequeue(name, owner)
    records.put(name, kind, owner, weight, lease)
    return GRANTED, records.next_token(name, owner)


def _refused(records: Records, name: str, kind: str, asker: Queued) -> tuple[Any, ...] | None:
    """Hand over to the waiters before the asker; None if there is room left for the asker."""
    held = hand_over(records, name, kind, asker.owner)
    head = records.head(name)
    ahead = None if head is None or head.owner == asker.owner else head.owner
    if ahead is None and fits(held, asker.weight, room_of(records, name, kind)):
        return None
    if not held:
        return BUSY, ahead, None
    return BUSY, held[0].owner, min(each.left for each in held)


def hand_over(records: Records, name: str, kind: str, asker: str | None = None) -> Sequence[Held]:
    """Give what is free to the first waiters that still hear, up to the asker."""
    if records.head(name) is None:
        return records.held(name)
    room, held = room_of(records, name, kind), list(records.held(name))
    while (head := records.head(name)) is not None and head.owner != asker:
        fitting = fits(held, head.weight, room)
        if not fitting and (kind not in SHARED or records.hears(name, head.owner)):
            break  # no waiter overtakes one that still hears
        records.dequeue(name, head.owner)
        if fitting and records.wake(name, head.owner):
            records.put(name, kind, head.owner, head.weight, PROVISIONAL)
            held.append(Held(kind, head.owner, head.weight, PROVISIONAL))
            if kind not in SHARED:
                break  # it has the whole of it
    return held


def room_of(records: Records, name: str, kind: str) -> int:
    """How much of a name can be held at the same time."""
    if kind in COUNTED:
        declared = records.declared(name)
        return 0 if declared is None else declared.number
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


def other_kind(held: Sequence[Held], declared: Declared | None, kind: str) -> str | None:
    """The kind that a name is in use as, if it is another one than `kind`."""
    if declared is not None and declared.kind != kind:
        return declared.kind
    return held[0].kind if held and held[0].kind != kind else None


def release(records: Records, name: str, kind: str, owner: str) -> int:
    """Free an owner's share and hand it over.  Safe to repeat: the second finds it not held."""
    if share_of(records.held(name), owner) is None:
        return NOT_HELD
    records.drop(name, owner)
    hand_over(records, name, kind)
    return RELEASED


def withdraw(records: Records, name: str, kind: str, owner: str, reason: str = "") -> int:
    """Remove every trace of an owner and bury it.  Safe to repeat: nothing is left."""
    records.bury(owner, reason)
    records.dequeue(name, owner)
    outcome = release(records, name, kind, owner)
    if outcome == NOT_HELD and kind in SHARED:
        hand_over(records, name, kind)  # it may have been all that kept the next ones out
    return outcome


def renew(records: Records, lease: float, *holds: tuple[str, str]) -> list[bool]:
    """Set, never add, the lease of each hold.  Safe to repeat: it is set again."""
    return [_renew(records, lease, name, owner) for name, owner in holds]


def _renew(records: Records, lease: float, name: str, owner: str) -> bool:
    mine = share_of(records.held(name), owner)
    if mine is not None:
        records.put(name, mine.kind, owner, mine.weight, lease)
    return mine is not None


def downgrade(records: Records, name: str, kind: str, owner: str, lease: float) -> int:
    """Make a writer a reader.  Safe to repeat: the second finds a reader."""
    if share_of(records.held(name), owner) is None:
        return NOT_HELD
    records.put(name, kind, owner, 1, lease)
    hand_over(records, name, kind)
    return RELEASED


def set_permits(records: Records, name: str, kind: str, permits: int) -> tuple[Any, ...]:
    """Declare the number of permits.  Safe to repeat: it sets the same number."""
    if (other := other_kind(records.held(name), records.declared(name), kind)) is not None:
        return OTHER_KIND, other
    records.declare(name, kind, permits)
    hand_over(records, name, kind)
    return (GRANTED,)
