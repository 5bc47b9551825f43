"""Read/write locks: Redisson's RReadWriteLock, with a queue in which none of ours overtakes.

One hash says who reads and who writes.  Each reader has a lease of its own, the expiry of a
key beside the hash; the hash lives as long as the longest of them, or as its writer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ledger import OTHER_KIND, refusal
from ...model import KIND_CODES, Busy, Holder, LockInfo, kind_of_owner, use_of_owner
from ...steps import Call, Steps, call
from .directory import described
from .keys import (
    ONE_SERVER,
    Layout,
    Topic,
    hold_key,
    is_ours,
    rw_channel,
    tag,
    wake_topic,
)
from .locks import RedisLockStore
from .scripts import TOMBSTONE_MS, UNSETTLED, in_seconds, ms, released, script, text

#: How often an attempt may find its name unsettled, and see to it.
ROUNDS = 5

#: What the field of a writer ends with.
WRITE = ":write"


class RedisRwLocks(RedisLockStore):
    """One mode of read/write locks: see `spi.RwStore`.

    Every operation is one round trip, but for `look`, which takes a second one to say who the
    holders are.  An attempt that finds readers dead, or waiters due that came before it, takes
    two more to see to it.
    """

    kind = layout = "rwlock"

    def __init__(self, mode: str, label: str, places: Layout = ONE_SERVER) -> None:
        self.mode, self.label, self.kind_code = mode, label, KIND_CODES[mode]
        self.places, self._keys_of = places, places.keys_of
        self.shared = mode == "read"
        self._attempt, self._look = script("rwlock_attempt"), script("rwlock_look")
        self._release, self._leave = script("rwlock_release"), script("rwlock_leave")
        self._renew, self._downgrade = script("rwlock_renew"), script("rwlock_downgrade")

    def for_wait(self, timeout: float) -> RedisRwLocks:
        return self

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        beside = self._keys_of(name)
        keys = (name, beside.queue, beside.tombs + owner, beside.tokens)
        args = (owner, self.mode, ms(lease), int(waits), tag(name))
        for _ in range(ROUNDS):
            answer: Any = yield from call(self._attempt, keys, args, until)
            if answer[0] != UNSETTLED:
                return self._attempted(name, answer)
            yield from self._give_back(name, "", owner, 0, "", until)
        return Busy(None, 0.0)  # it goes on changing: ask again at once

    def _attempted(self, name: str, answer: Any) -> int | Busy:
        if answer[0] != OTHER_KIND:
            return super()._attempted(name, answer)
        holder = text(answer[1])
        if (kind := _use_of(holder)) != self.kind:
            raise refusal(name, self.kind, (OTHER_KIND, kind), self.label)
        return Busy(holder, None)  # a waiter of ours that was handed what used to be a lock

    def _busy(self, name: str, holder: str, left: float | None) -> Busy:
        return super()._busy(name, owner_of(holder), left)

    def _silent(self, holder: str) -> bool:
        return False

    def release(self, name: str, owner: str, until: float) -> Steps[bool]:
        if self.shared:
            return self._stop_reading(name, owner, 0, "", until)
        return self._give_back(name, owner, "", 0, "", until)

    def withdraw(self, name: str, owner: str, until: float, reason: str = "") -> Steps[bool]:
        if is_ours(owner) and kind_of_owner(owner) == "read":
            return self._stop_reading(name, owner, TOMBSTONE_MS, reason, until)
        return self._give_back(name, owner, "", TOMBSTONE_MS, reason, until)

    def _stop_reading(
        self, name: str, owner: str, tomb_ms: int, reason: str, until: float
    ) -> Steps[bool]:
        """Give back what a reader holds, which may be one of very many."""
        beside = self._keys_of(name)
        keys = (name, beside.queue, beside.tombs + owner, *beside.never)
        return call(self._leave, keys, (owner, tag(name), tomb_ms, reason), until, released)

    def _give_back(
        self, name: str, owner: str, asker: str, tomb_ms: int, reason: str, until: float
    ) -> Steps[bool]:
        """Give back what `owner` holds; without one, let in the waiters due before the asker."""
        beside = self._keys_of(name)
        keys = (name, beside.queue, beside.tombs + owner, *beside.never)
        args = (owner, asker, tag(name), tomb_ms, reason)
        return call(self._release, keys, args, until, released)

    def downgrade(self, name: str, owner: str, lease: float, until: float) -> Steps[bool]:
        beside = self._keys_of(name)
        keys = (name, beside.queue, hold_key(name, owner), *beside.never)
        args = (owner, ms(lease), tag(name))
        return call(self._downgrade, keys, args, until, released)

    def _renewal(self, batch: Sequence[tuple[str, str]], lease: float, until: float) -> Call:
        keys = tuple(key for name, owner in batch for key in (name, hold_key(name, owner)))
        return Call(self._renew, keys, (ms(lease), *(owner for _, owner in batch)), until)

    def look(self, name: str, until: float) -> Steps[LockInfo | None]:
        beside = self._keys_of(name)
        keys = (name, beside.queue, *beside.never)
        answer: Any = yield from call(self._look, keys, (tag(name),), until)
        if answer[0] == 0:
            return None
        if answer[0] != 1:
            kind = _use_of(text(answer[1]))
            raise refusal(name, self.kind, (OTHER_KIND, kind), self.label)
        ends = [in_seconds(each) for each in answer[3::2]]
        fields = (text(each) for each in answer[2::2])
        found = [holder_of(*each) for each in zip(fields, ends, strict=True)]
        holders = yield from described(found, until)
        near = min((each for each in ends if each is not None), default=None)
        return LockInfo(name, self.kind, holders, near, int(answer[1]))

    def topics(self, name: str, owner: str, busy: Busy) -> tuple[Any, ...]:
        mine, slot = wake_topic(owner), self._keys_of(name).slot
        return (mine, Topic(rw_channel(name), None), *slot) if busy.foreign else (mine, *slot)


def owner_of(field: str) -> str:
    """The owner that a field of the hash is of."""
    return field.partition(WRITE)[0]


def holder_of(field: str, expires_in: float | None) -> Holder:
    """Who holds a read/write lock by a field of its hash, and how."""
    mode = "write" if WRITE in field else "read"
    return Holder(owner_of(field), mode=mode, expires_in=expires_in)


def _use_of(holder: str) -> str:
    """As what a hash without a mode is in use, by its holder."""
    return use_of_owner(holder) if is_ours(holder) else "lock"
