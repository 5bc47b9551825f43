"""What a simulation is about: who wants what, what may go wrong, and which code is run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, TypeAlias

from interlock.backends.memory.transport.records import MemoryRecords
from interlock.ledger import WHOLE, LedgerLocks, LedgerPermits, LedgerRw
from interlock.spi import LockStore

from .faults import EVERY_FAULT, Fault
from .leases import SimLease, SimRwLease

#: The one lock that everybody wants, and the store that keeps it.
NAME, LABEL = "the lock", "simulation"


def number_of(owner: str) -> int:
    """The number of the client that an owner belongs to."""
    return int(owner.partition(":")[0])


def count_of(owner: str) -> str:
    """Which of its client's acquisitions an owner names."""
    return owner.partition(":")[2]


#: Decides what an owner hears; answers whether the store counts it as heard.
Delivery: TypeAlias = Callable[[str, Callable[[], None] | None], bool]


class SimRecords(MemoryRecords):
    """The records of the memory store, whose wakes can get lost on the way."""

    carry: Delivery
    find: Delivery

    def wake(self, name: str, owner: str) -> bool:
        return self.carry(owner, self.listeners.get((name, owner)))

    def hears(self, name: str, owner: str) -> bool:
        return self.find(owner, self.listeners.get((name, owner)))


class Want(NamedTuple):
    """What a client wants of the one name: as what, and how much of how much there is."""

    store: LockStore
    weight: int = 1
    room: int = 1


LOCK = Want(LedgerLocks("lock", True, LABEL))
READ = Want(LedgerRw("read", LABEL), 1, WHOLE)
WRITE = Want(LedgerRw("write", LABEL), WHOLE, WHOLE)


@cache
def permits(room: int, weight: int = 1) -> Want:
    """Some of the permits of a semaphore; the same for the same terms."""
    return Want(LedgerPermits("semaphore", room, weight, LABEL), weight, room)


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
    try_once: bool = True
    jitter: float = 0.0
    #: Whether it expects the lock to be busy, and so listens before its first question.
    was_busy: bool = False
    want: Want = LOCK
    #: Whether it reads on when it has written, and works as long again.
    downgrades: bool = False


@dataclass(frozen=True)
class Scenario:
    """A simulation.  The last fields replace a part by another, to see it caught.

    What its plans want is the same name, so of one kind and with the same room.
    """

    plans: tuple[Plan, ...] = (Plan(), Plan())
    faults: int = 1
    kinds: frozenset[Fault] = EVERY_FAULT
    #: How fast the store's clock runs beside those of the clients.
    rate: float = 1.0
    #: Whether wakes reach a client (as with Redis) or one acquisition (as in memory).
    shared_ear: bool = False

    settles: bool = True
    records: type[SimRecords] = SimRecords
    lease: type[SimLease] = SimLease
    rw_lease: type[SimRwLease] = SimRwLease
