"""Locks of one owner: Redisson's RLock, its RFencedLock, and the plain mutex."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...errors import StoreError
from ...ledger import BUSY, GRANTED, OTHER_KIND, refusal
from ...model import KIND_CODES, Busy, Holder, LockInfo, use_of_owner, validity
from ...steps import Call, Steps, call, together
from .directory import described
from .keys import (
    ONE_SERVER,
    Keys,
    Layout,
    Topic,
    counter_key,
    is_ours,
    keys_of,
    tomb_key,
    wake_topic,
)
from .scripts import TOMBSTONE_MS, in_seconds, ms, released, script, text, texts

#: How many of ours may come for each time that one of ours was refused because of Java, which
#: takes several turns in the time of one refusal.
TURNS = 4

#: Names for which a client remembers how often Java was met, at most.
REMEMBERED = 10_000


class RedisLockStore:
    """Locks of one layout: see `spi.LockStore`.  Every operation is one round trip,
    but for `look`, which takes a second one to say who the holder is."""

    kind: str
    #: What the names of its scripts start with.
    layout: str
    reentrant, shared, leases_expire = True, False, True
    own_places = takes_turns = False

    def __init__(self, label: str, places: Layout = ONE_SERVER) -> None:
        self.label, self.kind_code = label, KIND_CODES[self.kind]
        self.places, self._keys_of, layout = places, places.keys_of, self.layout
        self._attempt, self._release = script(f"{layout}_attempt"), script(f"{layout}_release")
        self._renew, self._look = script(f"{layout}_renew"), script(f"{layout}_look")

    def for_wait(self, timeout: float) -> RedisLockStore:
        return self

    def effective_lease(self, lease: float) -> float:
        return lease

    def valid_until(self, asked: float, lease: float) -> float:
        return validity(asked, lease)

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        keys, args = self._question(name, owner, lease, waits)
        return call(self._attempt, keys, args, until, self._attempted)

    def _question(
        self, name: str, owner: str, lease: float, waits: bool
    ) -> tuple[tuple[str, ...], tuple[Any, ...]]:
        beside = self._keys_of(name)
        turns = self._turn_keys(beside)[:1]
        keys = (name, beside.queue, beside.tombs + owner, beside.tokens, *turns)
        return keys, (owner, math.ceil(lease * 1000), int(waits))

    def _attempted(self, name: str, answer: Any) -> int | Busy:
        if answer[0] == GRANTED:
            return int(answer[1])
        if answer[0] != BUSY:
            raise refusal(name, self.kind, texts(answer), self.label)
        return self._busy(name, text(answer[1]), in_seconds(answer[2]))

    def _busy(self, name: str, holder: str, left: float | None) -> Busy:
        if not holder:
            return Busy(None, left)  # it is free, and kept for Java for a moment
        foreign = not is_ours(holder)
        if not foreign and (kind := use_of_owner(holder)) != self.kind:
            raise in_use(name, kind, self.kind, self.label)
        return Busy(holder, left, self._silent(holder), foreign)

    def _silent(self, holder: str) -> bool:
        """Whether a holder wakes no waiter when it releases."""
        raise NotImplementedError

    def _release_args(self, name: str) -> tuple[Any, ...]:
        """Arguments that only this layout's release takes."""
        raise NotImplementedError

    def _turn_keys(self, beside: Keys) -> tuple[str, ...]:
        """Keys by which our clients take turns with the others that share this layout."""
        return ()

    def release(self, name: str, owner: str, until: float) -> Steps[bool]:
        beside = self._keys_of(name)
        keys = (name, beside.queue, *self._turn_keys(beside), *beside.never)
        args = (owner, *self._release_args(name))
        return call(self._release, keys, args, until, released)

    def withdraw(self, name: str, owner: str, until: float, reason: str = "") -> Steps[bool]:
        beside = self._keys_of(name)
        turns, tomb = self._turn_keys(beside), beside.tombs + owner
        keys = (name, beside.queue, *turns, tomb, *beside.never)
        args = (owner, *self._release_args(name), TOMBSTONE_MS, reason)
        return call(self._release, keys, args, until, released)

    def withdrawal_reason(self, name: str, owner: str, until: float) -> Steps[str]:
        return call(script("tomb_read"), (tomb_key(name, owner),), (), until, _reason)

    def renew(
        self, holds: Sequence[tuple[str, str]], lease: float, until: float
    ) -> Steps[Sequence[bool | StoreError]]:
        if not holds:
            return []
        size = self.places.batch
        batches = [holds[start : start + size] for start in range(0, len(holds), size)]
        calls = [self._renewal(batch, lease, until) for batch in batches]
        replies = yield from together([*calls, *self._beside_renewal(holds, lease, until)])
        return [
            answer
            for batch, reply in zip(batches, replies, strict=False)
            for answer in _renewed(batch, reply)
        ]

    def _beside_renewal(
        self, holds: Sequence[tuple[str, str]], lease: float, until: float
    ) -> Sequence[Call]:
        """What goes with a renewal in the same round trip, and changes nothing about it."""
        return ()

    def _renewal(self, batch: Sequence[tuple[str, str]], lease: float, until: float) -> Call:
        locks = tuple(name for name, _ in batch)
        return Call(self._renew, locks, (ms(lease), *(owner for _, owner in batch)), until)

    def look(self, name: str, until: float) -> Steps[LockInfo | None]:
        keys, args = self._look_at(name)
        answer: Any = yield from call(self._look, keys, args, until)
        if answer[0] == 0:
            return None
        if answer[0] != 1:
            raise refusal(name, self.kind, texts(answer), self.label)
        holder = self._read_holder(answer)
        self._busy(name, holder.owner, None)  # refuses what is of another kind
        election = name if self.kind == "election" else ""
        holders = yield from described([holder], until, election)
        return LockInfo(name, self.kind, holders, holder.expires_in, int(answer[3]))

    def _look_at(self, name: str) -> tuple[tuple[str, ...], tuple[Any, ...]]:
        """The keys that are looked at, and what else the script is told."""
        return (name, self._keys_of(name).queue), ()

    def _read_holder(self, answer: Sequence[Any]) -> Holder:
        return Holder(text(answer[1]), expires_in=in_seconds(answer[2]))


class ForeignTurns:
    """How often our waiters were refused because of Java, for each name: as many of ours may
    come, one after another, before it is Java's turn again.

    Only a measure of fairness, so it does no harm if two threads count at the same time.
    """

    def __init__(self) -> None:
        self._refused: dict[str, int] = {}
        self._before: dict[str, int] = {}

    def refused(self, name: str) -> None:
        """A waiter of ours was refused because of Java."""
        if len(self._refused) >= REMEMBERED:
            self._refused.clear()  # most of them gave up
        self._refused[name] = self._refused.get(name, 0) + 1

    def granted(self, name: str) -> None:
        """One of ours has it."""
        if self._refused and name in self._refused:
            if len(self._before) >= REMEMBERED:
                self._before.clear()
            self._before[name] = self._refused.pop(name, 1)

    def ours(self, name: str) -> int:
        """How many of ours may come before it is Java's turn again."""
        return TURNS * self._before.get(name, 0) or 1


class RedisLocks(RedisLockStore):
    """Redisson's lock: a hash of the owner, and a channel for its waiters."""

    kind = layout = "lock"

    def __init__(self, label: str, places: Layout = ONE_SERVER) -> None:
        super().__init__(label, places)
        self._turns = ForeignTurns()

    def _attempted(self, name: str, answer: Any) -> int | Busy:
        outcome = super()._attempted(name, answer)
        if not isinstance(outcome, Busy):
            self._turns.granted(name)
        elif outcome.foreign:
            self._turns.refused(name)
        return outcome

    def _silent(self, holder: str) -> bool:
        return False

    def _release_args(self, name: str) -> tuple[Any, ...]:
        return (keys_of(name).channel, self._turns.ours(name))

    def _turn_keys(self, beside: Keys) -> tuple[str, ...]:
        return (beside.courtesy, beside.turns)

    def topics(self, name: str, owner: str, busy: Busy) -> tuple[Any, ...]:
        beside, mine = self._keys_of(name), wake_topic(owner)
        if busy.foreign:
            return mine, Topic(beside.channel, None), *beside.slot
        return mine, *beside.slot


class RedisFencedLocks(RedisLocks):
    """Redisson's lock with a counter of its own for each name, which Java and Python count
    together: every grant takes a greater number, on either side.  It begins at the server's
    clock, so that numbers do not come twice when it was lost."""

    kind, layout = "fenced_lock", "lock"

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        beside = self._keys_of(name)
        keys = (name, beside.queue, beside.tombs + owner, counter_key(name), beside.courtesy)
        args = (owner, math.ceil(lease * 1000), int(waits), 1)
        return call(self._attempt, keys, args, until, self._attempted)

    def _look_at(self, name: str) -> tuple[tuple[str, ...], tuple[Any, ...]]:
        return (name, self._keys_of(name).queue, counter_key(name)), ()

    def _read_holder(self, answer: Sequence[Any]) -> Holder:
        """The last number that was given out is the holder's."""
        return replace(super()._read_holder(answer), token=int(answer[4]) if answer[4] else None)


class RedisMutexes(RedisLockStore):
    """The plain mutex of redis-py, redsync and node-redlock: SET NX PX."""

    kind = layout = "mutex"
    reentrant = False

    def _busy(self, name: str, holder: str, left: float | None) -> Busy:
        if left is None and holder.lstrip("-").isdigit():
            # A mutex ends by itself and is not a number: this is a count.
            raise in_use(name, "semaphore or latch", self.kind, self.label)
        return super()._busy(name, holder, left)

    def _silent(self, holder: str) -> bool:
        return not is_ours(holder)

    def _release_args(self, name: str) -> tuple[Any, ...]:
        return ()

    def topics(self, name: str, owner: str, busy: Busy) -> tuple[Any, ...]:
        return wake_topic(owner), *self._keys_of(name).slot


def _reason(name: str, answer: Any) -> str:
    return text(answer[1]) if answer[0] else ""


def in_use(name: str, kind: str, wanted: str, store: str) -> StoreError:
    """The name is something else; the question may have left a trace all the same."""
    error = refusal(name, wanted, (OTHER_KIND, kind), store)
    error.partial = True
    return error


def _renewed(batch: Sequence[Any], reply: Any) -> list[bool | StoreError]:
    if isinstance(reply, StoreError):
        return [reply] * len(batch)
    return [bool(mine) for mine in reply[1:]]
