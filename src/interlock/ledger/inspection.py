"""What can be read from the records: holders, kinds, names, reasons; and clients made known."""

from __future__ import annotations

from dataclasses import replace

from ..model import Holder, LockInfo
from .barriers import BARRIER, STAGES, parties_of, stage_of
from .elections import ELECTION, participant_of
from .locks import COUNTED
from .records import WHOLE, Held, Records


def look(records: Records, name: str) -> LockInfo | None:
    """Describe a name: its kind, its holders, how many wait.  Changes nothing."""
    held, declared = records.held(name), records.declared(name)
    if not held and declared is None:
        return None
    kind = held[0].kind if declared is None else declared.kind
    holders = tuple(_holder(records, name, each) for each in held)
    left = min((each.left for each in held), default=None)
    info = LockInfo(name, kind, holders, left, records.waiting(name))
    if kind == BARRIER:
        return replace(info, parties=parties_of(held[0]))
    if declared is None:
        return info
    if declared.kind not in COUNTED:
        return replace(info, count=declared.number)
    used = sum(each.weight for each in held)
    return replace(info, permits=declared.number, available=max(0, declared.number - used))


def _holder(records: Records, name: str, held: Held) -> Holder:
    mode = _mode(held)
    weight = held.weight if held.kind in COUNTED else 1
    token = held.token or None
    person = records.describe(held.owner)
    if held.kind == ELECTION:
        person = replace(person, participant=participant_of(records, name, held.owner))
    return replace(person, mode=mode, token=token, expires_in=held.left, weight=weight)


def _mode(held: Held) -> str:
    if held.kind == BARRIER:
        return STAGES[stage_of(held)]
    return "" if held.kind != "rwlock" else "write" if held.weight == WHOLE else "read"


def kind_of(records: Records, name: str) -> str | None:
    """The kind that a name is in use as.  Changes nothing."""
    held, declared = records.held(name), records.declared(name)
    if declared is not None:
        return declared.kind
    return held[0].kind if held else None


def names(records: Records) -> list[tuple[str, str]]:
    """The names in use, each with its kind.  Changes nothing."""
    kinds = [(name, kind_of(records, name)) for name in records.names()]
    return [(name, kind) for name, kind in kinds if kind is not None]


def withdrawal_reason(records: Records, name: str, owner: str) -> str:
    """The reason for which an owner was withdrawn.  Changes nothing."""
    return records.reason(owner)


def introduce(records: Records, holder: Holder) -> None:
    """Record a client's host, process and program.  Safe to repeat: it writes the same again."""
    records.introduce(holder)
