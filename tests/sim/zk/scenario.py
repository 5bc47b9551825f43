"""Who wants what of one name, what may go wrong, and how often."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

from interlock.backends.zookeeper.locks import ZkLocks
from interlock.backends.zookeeper.namespace import Namespace
from interlock.backends.zookeeper.rwlocks import ZkRwLocks
from interlock.backends.zookeeper.semaphores import ZkSemaphores

NAME = "orders/42"

#: All that there is of a read/write lock.
WHOLE = 1000


class Fault(Enum):
    """What can go wrong, or get in the way."""

    CUT = "its connection breaks"
    LAGGED = "its server falls behind"
    CANCELLED = "is cancelled"
    KILLED = "is killed"
    FROZEN = "stands still"
    REVOKED = "loses its nodes to an operator"
    REAPED = "empty directories are taken away"
    SLOW = "everything takes its time"


EVERY_FAULT = frozenset(Fault)


class Want(NamedTuple):
    """What a client wants of the name: as what, and how much of how much there is."""

    kind: str
    store: Callable[[Namespace], Any]
    weight: int = 1
    room: int = 1

    @property
    def turns(self) -> bool:
        """Whether it can be made less while it is held."""
        return self.kind == "write"

    def __repr__(self) -> str:
        return f"{self.kind} {self.weight} of {self.room}"


LOCK = Want("lock", ZkLocks)
READ = Want("read", lambda namespace: ZkRwLocks("read", namespace), 1, WHOLE)
WRITE = Want("write", lambda namespace: ZkRwLocks("write", namespace), WHOLE, WHOLE)
MUTEX = Want("mutex", lambda namespace: ZkSemaphores("mutex", 1, 1, namespace))


def permits(room: int, weight: int = 1) -> Want:
    return Want(
        "semaphore",
        lambda namespace: ZkSemaphores("semaphore", room, weight, namespace),
        weight=weight,
        room=room,
    )


class Plan(NamedTuple):
    """What one client does: how often it takes the lock, and how long it waits and works."""

    want: Want = LOCK
    wait: float = 60.0
    work: float = 1.0
    times: int = 1
    lease: float = 30.0
    #: Whether a writer reads on, and works as long again.
    downgrades: bool = False
    #: Whether it expects the lock to be busy, and so listens before its first question.
    was_busy: bool = False


class Scenario(NamedTuple):
    """Clients, and how many of which faults may strike them."""

    plans: tuple[Plan, ...] = (Plan(), Plan())
    faults: int = 1
    kinds: frozenset[Fault] = EVERY_FAULT
