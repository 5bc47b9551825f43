"""Latches: nobody holds anything, everybody waits until the count is down."""

from __future__ import annotations

from typing import Any

from .shares import other_kind
from .shelf import BURIED, BUSY, GRANTED, OTHER_KIND, Fact, Shelf

LATCH = "latch"


def set_count(shelf: Shelf, name: str, count: int) -> tuple[Any, ...]:
    """Begin to count, unless it is counting.  To repeat it is harmless, but answers no."""
    fact = shelf.fact(name)
    if (other := other_kind(shelf.held(name), fact, LATCH)) is not None:
        return OTHER_KIND, other
    if fact is not None:
        return (BUSY,)
    shelf.set_fact(name, LATCH, count)
    return (GRANTED,)


def count_down(shelf: Shelf, name: str, owner: str) -> tuple[Any, ...]:
    """Count one down.  Safe to repeat: each owner counts once."""
    fact = shelf.fact(name)
    if (other := other_kind(shelf.held(name), fact, LATCH)) is not None:
        return OTHER_KIND, other
    if fact is not None and not shelf.buried(owner):
        fact = _counted(shelf, name, fact)
    shelf.bury(owner, "")
    return GRANTED, 0 if fact is None else fact.number


def _counted(shelf: Shelf, name: str, fact: Fact) -> Fact | None:
    if fact.number > 1:
        shelf.set_fact(name, LATCH, fact.number - 1)
        return Fact(LATCH, fact.number - 1)
    open_latch(shelf, name)
    return None


def open_latch(shelf: Shelf, name: str) -> None:
    """Let everybody go, whatever the count.  Safe to repeat: it is open."""
    if (fact := shelf.fact(name)) is None or fact.kind != LATCH:
        return
    shelf.drop_fact(name)
    while (head := shelf.head(name)) is not None:
        shelf.dequeue(name, head.owner)
        shelf.wake(name, head.owner)


def pass_latch(shelf: Shelf, name: str, owner: str, waits: bool) -> tuple[Any, ...]:
    """Pass a latch that is down, or be remembered.  Safe to repeat: it asks again."""
    if shelf.buried(owner):
        return (BURIED,)
    fact = shelf.fact(name)
    if (other := other_kind(shelf.held(name), fact, LATCH)) is not None:
        return OTHER_KIND, other
    if fact is None:
        shelf.dequeue(name, owner)
        return GRANTED, shelf.next_token(name, owner)
    if waits:
        shelf.enqueue(name, owner, 0)
    return BUSY, None, None


def leave_latch(shelf: Shelf, name: str, owner: str) -> int:
    """Wait no longer.  Safe to repeat: nothing is left."""
    shelf.bury(owner, "")
    shelf.dequeue(name, owner)
    return 0
