"""What a simulation is about: who wants what, what may go wrong, and which code is run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from ...backends.memory.store import Records
from ...ledger import LedgerLocks
from ...model import Grant
from ...recipes.lock import Seeking, acquire, release
from ...steps import Steps
from ...stores import LockStore
from .faults import EVERY_FAULT, Fault
from .holds import SimHold

#: The one lock that everybody wants.
NAME = "the lock"


def number_of(owner: str) -> int:
    """The number of the client that an owner belongs to."""
    return int(owner.partition(":")[0])


def count_of(owner: str) -> str:
    """Which of its client's acquisitions an owner names."""
    return owner.partition(":")[2]


Acquire: TypeAlias = Callable[[Seeking], Steps[Grant]]
Release: TypeAlias = Callable[[LockStore, Grant, float], Steps[bool]]

#: Decides what becomes of a wake for an owner; answers whether the store counts it as heard.
Carrier: TypeAlias = Callable[[str, Callable[[], None] | None], bool]


class SimRecords(Records):
    """The records of the memory store, whose wakes can get lost on the way."""

    carry: Carrier

    def wake(self, name: str, owner: str) -> bool:
        return self.carry(owner, self.listeners.get((name, owner)))


class Plan(NamedTuple):
    """What one client does: how often it takes the lock, and how long it waits and works.

    The defaults fit together: work is shorter than a provisional lease, that is shorter
    than the lease, and a waiter waits long enough to outlive a dead holder's lease.
    """

    wait: float = 4.0
    lease: float = 3.0
    work: float = 1.0
    times: int = 1
    #: Whether a keeper runs beside it, renewing its lease and paying what it owes.
    kept: bool = False
    #: Whether it gives up without asking who holds the lock, to keep schedules short.
    trial: bool = True
    jitter: float = 0.0
    #: Whether it expects the lock to be busy, and so listens before its first question.
    crowded: bool = False


@dataclass(frozen=True)
class Scenario:
    """A simulation.  The last fields replace a part by another, to see it caught."""

    plans: tuple[Plan, ...] = (Plan(), Plan())
    faults: int = 1
    kinds: frozenset[Fault] = EVERY_FAULT
    #: How fast the store's clock runs beside those of the clients.
    rate: float = 1.0
    #: Whether wakes reach a client (as with Redis) or one acquisition (as in memory).
    shared_ear: bool = False

    settles: bool = True
    records: type[SimRecords] = SimRecords
    locks: LockStore = LedgerLocks("lock", True, "simulation")  # noqa: RUF009 - immutable
    acquire: Acquire = acquire
    release: Release = release
    hold: type[SimHold] = SimHold
