"""Looking at the records, and saying who is who."""

from __future__ import annotations

from dataclasses import replace

from ..model import Holder, LockInfo
from .shares import COUNTED
from .shelf import WHOLE, Held, Shelf


def look(shelf: Shelf, name: str) -> LockInfo | None:
    """Tell who holds a name, and what it is; changes nothing."""
    held, fact = shelf.held(name), shelf.fact(name)
    if not held and fact is None:
        return None
    kind = held[0].kind if fact is None else fact.kind
    holders = tuple(_holder(shelf, each) for each in held)
    left = min((each.left for each in held), default=None)
    info = LockInfo(name, kind, holders, left, shelf.waiting(name))
    if fact is None:
        return info
    if fact.kind not in COUNTED:
        return replace(info, count=fact.number)
    used = sum(each.weight for each in held)
    return replace(info, permits=fact.number, available=max(0, fact.number - used))


def _holder(shelf: Shelf, held: Held) -> Holder:
    mode = "" if held.kind != "rwlock" else "write" if held.weight == WHOLE else "read"
    weight = held.weight if held.kind in COUNTED else 1
    token = held.token or None
    person = shelf.describe(held.owner)
    return replace(person, mode=mode, token=token, expires_in=held.left, weight=weight)


def kind_of(shelf: Shelf, name: str) -> str | None:
    """As what a name is in use; changes nothing."""
    held, fact = shelf.held(name), shelf.fact(name)
    if fact is not None:
        return fact.kind
    return held[0].kind if held else None


def names(shelf: Shelf) -> list[tuple[str, str]]:
    """What is in use, and as what; changes nothing."""
    kinds = [(name, kind_of(shelf, name)) for name in shelf.names()]
    return [(name, kind) for name, kind in kinds if kind is not None]


def why(shelf: Shelf, name: str, owner: str) -> str:
    """The reason for which an owner was withdrawn; changes nothing."""
    return shelf.epitaph(owner)


def introduce(shelf: Shelf, holder: Holder) -> None:
    """Write down who a client is.  Safe to repeat: it is written again."""
    shelf.introduce(holder)
