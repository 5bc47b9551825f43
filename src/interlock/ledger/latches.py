"""Latches: no owner holds one; waiters stay in its queue until the count is zero."""

from __future__ import annotations

from typing import Any

from .locks import other_kind
from .records import BURIED, BUSY, GRANTED, OTHER_KIND, Declared, Records

LATCH = "latch"


def set_count(records: Records, name: str, count: int) -> tuple[Any, ...]:
    """Start a count, unless one is running.  Safe to repeat, but the second answer is BUSY."""
    declared = records.declared(name)
    if (other := other_kind(records.held(name), declared, LATCH)) is not None:
        return OTHER_KIND, other
    if declared is not None:
        return (BUSY,)
    records.declare(name, LATCH, count)
    return (GRANTED,)


def count_down(records: Records, name: str, owner: str) -> tuple[Any, ...]:
    """Count down by one.  Safe to repeat: each owner counts once."""
    declared = records.declared(name)
    if (other := other_kind(records.held(name), declared, LATCH)) is not None:
        return OTHER_KIND, other
    if declared is not None and not records.buried(owner):
        declared = _counted(records, name, declared)
    records.bury(owner, "")
    return GRANTED, 0 if declared is None else declared.number


def _counted(records: Records, name: str, declared: Declared) -> Declared | None:
    if declared.number > 1:
        records.declare(name, LATCH, declared.number - 1)
        return Declared(LATCH, declared.number - 1)
    open_latch(records, name)
    return None


def open_latch(records: Records, name: str) -> None:
    """Wake every waiter, whatever the count is.  Safe to repeat: an open latch stays open."""
    if (declared := records.declared(name)) is None or declared.kind != LATCH:
        return
    records.undeclare(name)
    while (head := records.head(name)) is not None:
        records.dequeue(name, head.owner)
        records.wake(name, head.owner)


def pass_latch(records: Records, name: str, owner: str, waits: bool) -> tuple[Any, ...]:
    """Pass a latch whose count is zero, or enter its queue.  Safe to repeat: a place stays."""
    if records.buried(owner):
        return (BURIED,)
    declared = records.declared(name)
    if (other := other_kind(records.held(name), declared, LATCH)) is not None:
        return OTHER_KIND, other
    if declared is None:
        records.dequeue(name, owner)
        return GRANTED, records.next_token(name, owner)
    if waits:
        records.enqueue(name, owner, 0)
    return BUSY, None, None


def leave_latch(records: Records, name: str, owner: str) -> int:
    """Leave the queue of a latch.  Safe to repeat: the second finds nothing to remove."""
    records.bury(owner, "")
    records.dequeue(name, owner)
    return 0
