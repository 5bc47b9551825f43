"""Elections: locks whose holder leads, and may be called something.

What a participant calls itself is kept among the clients, apart for each election."""

from __future__ import annotations

from typing import Any

from ..model import Holder
from . import locks
from .records import GRANTED, Records

ELECTION = "election"


def attempt(
    records: Records, name: str, owner: str, lease: float, waits: bool, participant: str
) -> tuple[Any, ...]:
    """Grant the lead to an owner, or queue it.  Safe to repeat: see `locks.attempt`."""
    answer = locks.attempt(records, name, ELECTION, owner, lease, waits)
    if participant and answer[0] == GRANTED:
        records.introduce(Holder(_key(name, owner), program=participant))
    return answer


def renew(records: Records, lease: float, participant: str, *holds: tuple[str, str]) -> list[bool]:
    """Set the lease of each hold; what is kept of clients ends unless it is said again.

    Safe to repeat: it writes the same again.
    """
    for name, owner in holds:
        records.introduce(Holder(_key(name, owner), program=participant))
    return locks.renew(records, lease, *holds)


def participant_of(records: Records, name: str, owner: str) -> str:
    """What an owner calls itself in an election.  Changes nothing."""
    return records.describe(f"{_key(name, owner)}:").program


def _key(name: str, owner: str) -> str:
    return f"{owner.rpartition(':')[0]}/{name}"
