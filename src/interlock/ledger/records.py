"""The records of a store, as the operations see them during one atomic step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ..model import MOST, Holder, Register

#: First items of an answer.
BUSY, GRANTED, BURIED, OTHER_KIND, UNSET = 0, 1, 2, 3, 4
MISMATCH = 6
NOT_HELD, RELEASED = 0, 1

#: All the room there is in a read/write lock: a writer takes it whole, a reader takes one.
WHOLE = MOST


class Held(NamedTuple):
    """An owner that holds a name now, and how much of it for how long."""

    kind: str
    owner: str
    weight: int
    left: float
    token: int = 0


class Queued(NamedTuple):
    """An owner that waits for a name, and how much of it."""

    owner: str
    weight: int


class Declared(NamedTuple):
    """What a name was declared to be: a semaphore of so many permits, a latch that counts so far.

    A declaration stays when no owner holds the name."""

    kind: str
    number: int


class Records(Protocol):
    """The records of a store during one atomic operation."""

    # The holders: only those whose lease has not ended, in the order in which they came.
    def held(self, name: str) -> Sequence[Held]: ...
    def put(self, name: str, kind: str, owner: str, weight: int, lease: float) -> None: ...
    def drop(self, name: str, owner: str) -> None: ...
    def next_token(self, name: str, owner: str) -> int: ...

    # What a name was declared to be.
    def declared(self, name: str) -> Declared | None: ...
    def declare(self, name: str, kind: str, number: int) -> None: ...
    def undeclare(self, name: str) -> None: ...

    # Registers; each text has a version that no earlier text of any name had.
    def register(self, name: str) -> Register | None: ...
    def set_register(self, name: str, text: str, keep: float) -> None: ...

    # The queue of waiters.
    def head(self, name: str) -> Queued | None: ...
    def enqueue(self, name: str, owner: str, weight: int) -> None: ...
    def dequeue(self, name: str, owner: str) -> None: ...
    def waiting(self, name: str) -> int: ...
    def hears(self, name: str, owner: str) -> bool: ...
    def wake(self, name: str, owner: str) -> bool: ...

    # Tombstones, and the clients behind the owners.
    def buried(self, owner: str) -> bool: ...
    def bury(self, owner: str, reason: str) -> None: ...
    def reason(self, owner: str) -> str: ...
    def describe(self, owner: str) -> Holder: ...
    def introduce(self, holder: Holder) -> None: ...
    def names(self) -> Sequence[str]: ...  # also names whose last lease has just ended
