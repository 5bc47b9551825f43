"""Read/write locks: Redisson's RReadWriteLock, with a queue in which nobody of ours overtakes.

One hash says who reads and who writes.  Each reader has a lease of its own, the expiry of a
key beside the hash; the hash lives as long as the longest of them, or as its writer.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ...ledger import OTHER_KIND, RELEASED, refusal
from ...model import MARKS, Busy, Holder, LockInfo
from ...steps import Call, Steps, call
from . import names
from .locks import TOMBSTONE_MS, RedisLocks, left, ms, text
from .names import TOKENS, Topic, prefixed, suffixed
from .people import described
from .scripts import script

#: The answer to an attempt that found readers dead, or somebody due who came before.
UNSETTLED = 5

#: How often an attempt may find its name unsettled, and see to it.
ROUNDS = 5

#: What the field of a writer ends with.
WRITE = ":write"


@lru_cache(maxsize=4096)
def tag(name: str) -> str:
    """A name in its hash tag, as Redisson has it in the names of what belongs to it."""
    return suffixed(name, "").removesuffix(":")


def hold_key(name: str, owner: str) -> str:
    """What is there while one of our owners reads; its expiry is the lease."""
    return suffixed(name, f"{owner}:rwlock_timeout:1")


def channel(name: str) -> str:
    """Where Redisson's waiters listen."""
    return prefixed("redisson_rwlock", name)


class RwLocks(RedisLocks):
    """One mode of read/write locks: see `stores.RwStore`.

    Every operation is one round trip, but for `look`, which takes a second one to say who the
    holders are.  An attempt that finds readers dead, or others due who came before, takes two
    more to see to it.
    """

    kind = layout = "rwlock"

    def __init__(self, mode: str, label: str) -> None:
        self.mode, self.label, self.mark = mode, label, MARKS[mode]
        self.shared = mode == "read"
        self._attempt, self._look = script("rwlock_attempt"), script("rwlock_look")
        self._release = self._withdraw = script("rwlock_release")
        self._renew, self._downgrade = script("rwlock_renew"), script("rwlock_downgrade")

    def waiting(self, timeout: float) -> RwLocks:
        return self

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        queue, tombs, *_ = names.companions(name)
        keys = (name, queue, tombs + owner, TOKENS)
        args = (owner, self.mode, ms(lease), int(waits), tag(name))
        for _ in range(ROUNDS):
            answer: Any = yield from call(self._attempt, keys, args, until)
            if answer[0] != UNSETTLED:
                return self._attempted(name, answer)
            yield from self._give(name, "", owner, 0, "", until)
        return Busy(None, 0.0)  # it goes on changing: ask again at once

    def _attempted(self, name: str, answer: Any) -> int | Busy:
        if answer[0] != OTHER_KIND:
            return super()._attempted(name, answer)
        holder = text(answer[1])
        if (kind := _use_of(holder)) != self.kind:
            raise refusal(name, self.kind, (OTHER_KIND, kind), self.label)
        return Busy(holder, None)  # a waiter of ours that was handed what used to be a lock

    def _busy(self, name: str, holder: str, left: float | None) -> Busy:
        return super()._busy(name, _owner_of(holder), left)

    def _silent(self, holder: str) -> bool:
        return False

    def release(self, name: str, owner: str, until: float) -> Steps[bool]:
        return self._give(name, owner, "", 0, "", until)

    def withdraw(self, name: str, owner: str, until: float, reason: str = "") -> Steps[bool]:
        return self._give(name, owner, "", TOMBSTONE_MS, reason, until)

    def _give(
        self, name: str, owner: str, asker: str, tomb_ms: int, reason: str, until: float
    ) -> Steps[bool]:
        """Give back what `owner` holds; without one, let in who is due before the asker."""
        queue, tombs, *_ = names.companions(name)
        keys = (name, queue, tombs + owner)
        args = (owner, asker, tag(name), tomb_ms, reason)
        return call(self._release, keys, args, until, _done)

    def downgrade(self, name: str, owner: str, lease: float, until: float) -> Steps[bool]:
        keys = (name, names.queue_key(name), hold_key(name, owner))
        args = (owner, ms(lease), tag(name))
        return call(self._downgrade, keys, args, until, _done)

    def _renewal(self, batch: Sequence[tuple[str, str]], lease: float, until: float) -> Call:
        keys = tuple(key for name, owner in batch for key in (name, hold_key(name, owner)))
        return Call(self._renew, keys, (ms(lease), *(owner for _, owner in batch)), until)

    def look(self, name: str, until: float) -> Steps[LockInfo | None]:
        keys = (name, names.queue_key(name))
        answer: Any = yield from call(self._look, keys, (tag(name),), until)
        if answer[0] == 0:
            return None
        if answer[0] != 1:
            kind = _use_of(text(answer[1]))
            raise refusal(name, self.kind, (OTHER_KIND, kind), self.label)
        ends = [left(each) for each in answer[3::2]]
        fields = (text(each) for each in answer[2::2])
        found = [_holder(*each) for each in zip(fields, ends, strict=True)]
        holders = yield from described(found, until)
        near = min((each for each in ends if each is not None), default=None)
        return LockInfo(name, self.kind, holders, near, int(answer[1]))

    def topics(self, name: str, owner: str, busy: Busy) -> tuple[Any, ...]:
        mine = names.wake_topic(owner)
        return (mine, Topic(channel(name), None)) if busy.foreign else (mine,)


def _owner_of(field: str) -> str:
    """Who stands behind a field of the hash."""
    return field.partition(WRITE)[0]


def _holder(field: str, expires_in: float | None) -> Holder:
    mode = "write" if WRITE in field else "read"
    return Holder(_owner_of(field), mode=mode, expires_in=expires_in)


def _use_of(holder: str) -> str:
    """As what a hash without a mode is in use, by its holder."""
    return names.use_of(holder) if names.is_ours(holder) else "lock"


def _done(name: str, answer: Any) -> bool:
    return bool(answer[0] == RELEASED)
