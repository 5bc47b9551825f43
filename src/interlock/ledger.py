"""What one atomic operation on a lock does to a store's records, written once.

Memory and SQLite run these functions as they stand, under a mutex or in a transaction,
and the simulation explores them; the Lua scripts of Redis say the same in Lua, and a
test holds them equal.

Theory of operation.  A lock is free, or held by one owner up to an instant.  Owners that
wait stand in a queue, in the order in which the store first heard of them.  Whoever gives
the lock up *hands it over*: the first waiter that still hears is written down as the
holder, for a short provisional lease, and woken; its next attempt finds itself holding,
which makes the lease whole.  So a claim is an ordinary attempt, a waiter that died or
sleeps costs one provisional lease and no more, and nothing depends on the wake arriving.
If the holder died, whoever asks next performs the hand-over in its place.

An owner names one acquisition and is never used again.  That makes every operation safe
to repeat, and lets a withdrawal bury its owner: a question that was delayed in the
network and arrives after its withdrawal finds the tombstone and is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from .errors import StoreError, StoreMisconfigured
from .model import PROVISIONAL, Busy, Holder, LockInfo
from .steps import Steps, call

#: First items of an answer.
BUSY, GRANTED, BURIED, OTHER_KIND = 0, 1, 2, 3
NOT_HELD, RELEASED = 0, 1


class Held(NamedTuple):
    """The record of a lock that is held now."""

    kind: str
    owner: str
    left: float


class Shelf(Protocol):
    """The records of a store during one atomic operation."""

    def buried(self, owner: str) -> bool: ...
    def held(self, name: str) -> Held | None: ...
    def put(self, name: str, kind: str, owner: str, lease: float) -> None: ...
    def drop(self, name: str) -> None: ...
    def next_token(self) -> int: ...
    def head(self, name: str) -> str | None: ...
    def enqueue(self, name: str, owner: str) -> None: ...
    def dequeue(self, name: str, owner: str) -> None: ...
    def waiting(self, name: str) -> int: ...
    def wake(self, name: str, owner: str) -> bool: ...
    def bury(self, owner: str) -> None: ...
    def describe(self, owner: str) -> Holder: ...
    def introduce(self, holder: Holder) -> None: ...


def attempt(
    shelf: Shelf, name: str, kind: str, owner: str, lease: float, waits: bool
) -> tuple[Any, ...]:
    """Grant the lock, or say who has it and remember an owner that waits.

    Safe to repeat: an owner that holds already is granted again, with a newer token.
    """
    if shelf.buried(owner):
        return (BURIED,)
    held = shelf.held(name) or hand_over(shelf, name, kind, asker=owner)
    if held is None or held.owner == owner:
        shelf.dequeue(name, owner)
        shelf.put(name, kind, owner, lease)
        return GRANTED, shelf.next_token()
    if held.kind != kind:
        return OTHER_KIND, held.kind
    if waits:
        shelf.enqueue(name, owner)
    return BUSY, held.owner, held.left


def hand_over(shelf: Shelf, name: str, kind: str, asker: str | None = None) -> Held | None:
    """Give a free lock to the first waiter that still hears, unless it asks itself."""
    while (head := shelf.head(name)) is not None and head != asker:
        shelf.dequeue(name, head)
        if shelf.wake(name, head):
            shelf.put(name, kind, head, PROVISIONAL)
            return Held(kind, head, PROVISIONAL)
    return None


def release(shelf: Shelf, name: str, kind: str, owner: str) -> int:
    """Free the lock and hand it over.  Safe to repeat: the second finds it not held."""
    held = shelf.held(name)
    if held is None or held.owner != owner:
        return NOT_HELD
    shelf.drop(name)
    hand_over(shelf, name, kind)
    return RELEASED


def withdraw(shelf: Shelf, name: str, kind: str, owner: str) -> int:
    """Remove every trace of an owner and bury it.  Safe to repeat: nothing is left."""
    shelf.bury(owner)
    shelf.dequeue(name, owner)
    return release(shelf, name, kind, owner)


def renew(shelf: Shelf, kind: str, lease: float, *holds: tuple[str, str]) -> list[bool]:
    """Set, never add, the lease of each hold.  Safe to repeat: it is set again."""
    return [_renew(shelf, kind, lease, name, owner) for name, owner in holds]


def _renew(shelf: Shelf, kind: str, lease: float, name: str, owner: str) -> bool:
    held = shelf.held(name)
    mine = held is not None and held.owner == owner
    if mine:
        shelf.put(name, kind, owner, lease)
    return mine


def look(shelf: Shelf, name: str) -> LockInfo | None:
    """Tell who holds the lock; changes nothing."""
    held = shelf.held(name)
    if held is None:
        return None
    holders = (shelf.describe(held.owner),)
    return LockInfo(name, held.kind, holders, held.left, shelf.waiting(name))


def introduce(shelf: Shelf, holder: Holder) -> None:
    """Write down who a client is.  Safe to repeat: it is written again."""
    shelf.introduce(holder)


class LedgerLocks:
    """The locks of a store that runs this ledger: see `stores.LockStore`."""

    def __init__(self, kind: str, reentrant: bool, label: str) -> None:
        self.kind, self.reentrant, self.label = kind, reentrant, label

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        args = (self.kind, owner, lease, waits)
        return call(attempt, (name,), args, until, self._attempted)

    def _attempted(self, name: str, answer: Any) -> int | Busy:
        if answer[0] == GRANTED:
            return int(answer[1])
        if answer[0] == BUSY:
            return Busy(answer[1], answer[2])
        raise refusal(name, self.kind, answer, self.label)

    def release(self, name: str, owner: str, until: float) -> Steps[bool]:
        return call(release, (name,), (self.kind, owner), until, _released)

    def withdraw(self, name: str, owner: str, until: float) -> Steps[bool]:
        return call(withdraw, (name,), (self.kind, owner), until, _released)

    def renew(
        self, holds: Sequence[tuple[str, str]], lease: float, until: float
    ) -> Steps[Sequence[bool | StoreError]]:
        return call(renew, (), (self.kind, lease, *holds), until)

    def look(self, name: str, until: float) -> Steps[LockInfo | None]:
        return call(look, (name,), (), until, self._looked)

    def _looked(self, name: str, info: LockInfo | None) -> LockInfo | None:
        if info is not None and info.kind != self.kind:
            raise refusal(name, self.kind, (OTHER_KIND, info.kind), self.label)
        return info

    def topics(self, name: str, owner: str, busy: Busy) -> tuple[Any, ...]:
        return ((name, owner),)


def _released(name: str, answer: int) -> bool:
    return answer == RELEASED


class LedgerDirectory:
    """Who is who in a store that runs this ledger: see `stores.Directory`."""

    def introduce(self, holder: Holder, until: float) -> Steps[float]:
        yield from call(introduce, (), (holder,), until)
        return 3600.0


def refusal(name: str, kind: str, answer: Sequence[Any], store: str) -> StoreError:
    """Put an answer that is neither yes nor busy into words."""
    if answer[0] == OTHER_KIND:
        return StoreMisconfigured(
            f"{name!r} is in use as a {answer[1]}, so it cannot be a {kind}; "
            "nothing was touched: choose another name for one of the two",
            store,
        )
    return StoreError(f"this acquisition of {name!r} was withdrawn before", store)
