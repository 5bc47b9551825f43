"""Semaphores: Redisson's RSemaphore, and its RPermitExpirableSemaphore of ids and leases.

How many permits are free is Redisson's own number, under the name itself, so that both sides
count as one.  Java's plain semaphore does not say who holds; ours does, in a sorted set beside
it, so that the permits of the dead come back and a question asked twice takes nothing twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ledger import BUSY, GRANTED, UNSET, refusal
from ...model import KIND_CODES, Busy, Holder, LockInfo, kind_of_owner, permit_id
from ...steps import Call, Steps, call
from .directory import described
from .keys import ONE_SERVER, Layout, Topic, count_keys, is_ours, wake_topic
from .locks import RedisLockStore
from .scripts import TOMBSTONE_MS, UNSETTLED, in_seconds, ms, released, script, text, texts

#: How often an attempt may find its name unset or unsettled, and see to it.
ROUNDS = 5

#: When permits end that Java has taken for good, in epoch milliseconds.
NEVER = 922_337_203_685_477


class RedisPermitStore(RedisLockStore):
    """Semaphores of one kind: see `spi.PermitStore`.

    Every operation is one round trip.  An attempt that finds the permits unset, a lease ended
    or another waiter due takes two more; `look` takes one more to say who the holders are, and
    `set_permits` to hand over what it has added.
    """

    layout = "permits"
    reentrant, shared = False, True

    def __init__(
        self, permits: int | None, weight: int, label: str, places: Layout = ONE_SERVER
    ) -> None:
        self.places, self._keys_of = places, places.keys_of
        self.label, self.kind_code = label, KIND_CODES[self.kind]
        self.permits, self.weight = permits, weight
        self._attempt, self._release = script("permits_attempt"), script("permits_release")
        self._set, self._renew = script("permits_set"), script("permits_renew")
        self._look = script("permits_look")

    def for_wait(self, timeout: float) -> RedisPermitStore:
        return self

    # --- how the two kinds write down who holds what -------------------------------------------

    def _holders(self, name: str) -> tuple[str, str]:
        """Where the holders are, and where they would be if the name were the other kind."""
        raise NotImplementedError

    def _share(self, owner: str, weight: int) -> str | bytes:
        """What stands among the holders while an owner holds."""
        raise NotImplementedError

    def _waiter(self, owner: str, weight: int) -> str:
        """What stands in the queue while an owner waits."""
        raise NotImplementedError

    def _holder(self, share: bytes, expires_in: float | None = None) -> Holder:
        """Who is meant by what stands among the holders."""
        raise NotImplementedError

    # --- the operations --------------------------------------------------------------------------

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        beside, marker = self._keys_of(name), count_keys(name).marker
        tomb = beside.tombs + owner
        keys = (name, *self._holders(name), marker, beside.queue, tomb, beside.tokens)
        waiter = self._waiter(owner, self.weight)
        share = self._share(owner, self.weight)
        args = (self.kind, self.kind_code, waiter, ms(lease), int(waits), share)
        for _ in range(ROUNDS):
            answer: Any = yield from call(self._attempt, keys, args, until)
            if answer[0] == UNSET:
                yield from self._set_total(name, self.permits, True, until)
            elif answer[0] == UNSETTLED:
                yield from self._settle(name, waiter, until)
            else:
                return self._attempted(name, answer)
        return Busy(None, 0.05)  # it goes on changing: ask again soon

    def _attempted(self, name: str, answer: Any) -> int | Busy:
        if answer[0] == GRANTED:
            return int(answer[1])
        if answer[0] != BUSY:
            raise refusal(name, self.kind, texts(answer), self.label)
        holder = self._holder(answer[1]).owner if answer[1] else None
        return Busy(holder, lease_left(answer[2]), foreign=bool(answer[3]))

    def set_permits(self, name: str, permits: int, until: float) -> Steps[None]:
        """Where Java has set them before, what Java holds now counts as free."""
        yield from self._set_total(name, permits, False, until)
        yield from self._settle(name, "", until)

    def _set_total(self, name: str, permits: int | None, first: bool, until: float) -> Steps[None]:
        """Say how many permits there are, or only how many at first."""
        keys = (name, *self._holders(name), count_keys(name).marker)
        total = "" if permits is None else permits
        args = (self.kind, total, int(first), count_keys(name).channel)
        return call(self._set, keys, args, until, self._total_set)

    def _total_set(self, name: str, answer: Any) -> None:
        if answer[0] != GRANTED:
            raise refusal(name, self.kind, texts(answer), self.label)

    def _settle(self, name: str, waiter: str, until: float) -> Steps[bool]:
        """Take back what has ended, and hand it over to those that came before a waiter."""
        return self._give_back(name, "", waiter, "", "", until)

    def release(self, name: str, owner: str, until: float) -> Steps[bool]:
        return self._give_back(name, owner, self._waiter(owner, self.weight), 0, "", until)

    def withdraw(self, name: str, owner: str, until: float, reason: str = "") -> Steps[bool]:
        weight = self.weight
        if reason:  # an operator's, who does not know how much the owner holds
            held: Any = yield from call(self._look, *self._look_at(name), until)
            shares = [self._holder(share) for share in held[4::2]]
            weight = next((each.weight for each in shares if each.owner == owner), weight)
        waiter = self._waiter(owner, weight)
        return (yield from self._give_back(name, owner, waiter, TOMBSTONE_MS, reason, until))

    def _give_back(
        self,
        name: str,
        owner: str,
        waiter: str,
        tomb_ms: int | str,
        reason: str,
        until: float,
    ) -> Steps[bool]:
        beside, holders = self._keys_of(name), self._holders(name)[0]
        keys = (name, holders, beside.queue, beside.tombs + owner, *beside.never)
        args = (self.kind_code, waiter, count_keys(name).channel, tomb_ms, reason)
        return call(self._release, keys, args, until, released)

    def _renewal(self, batch: Sequence[tuple[str, str]], lease: float, until: float) -> Call:
        keys = tuple(self._holders(name)[0] for name, _ in batch)
        shares = (self._share(owner, self.weight) for _, owner in batch)
        return Call(self._renew, keys, (ms(lease), *shares), until)

    def look(self, name: str, until: float) -> Steps[LockInfo | None]:
        answer: Any = yield from call(self._look, *self._look_at(name), until)
        if answer[0] == 0:
            return None
        if answer[0] != 1:
            raise refusal(name, self.kind, texts(answer), self.label)
        ends = [lease_left(each) for each in answer[5::2]]
        shares = zip(answer[4::2], ends, strict=True)
        holders = yield from described([self._holder(*each) for each in shares], until)
        near = min((each for each in ends if each is not None), default=None)
        total = answer[2] if answer[2] >= 0 else None
        free = max(0, answer[1])
        return LockInfo(name, self.kind, holders, near, answer[3], total, free)

    def _look_at(self, name: str) -> tuple[tuple[str, ...], tuple[Any, ...]]:
        keys = (name, *self._holders(name), count_keys(name).marker, self._keys_of(name).queue)
        return keys, (self.kind,)

    def topics(self, name: str, owner: str, busy: Busy) -> tuple[Any, ...]:
        mine, slot = wake_topic(owner), self._keys_of(name).slot
        if busy.foreign:
            return mine, Topic(count_keys(name).channel, None), *slot
        return mine, *slot


class RedisSemaphores(RedisPermitStore):
    """Redisson's RSemaphore; who holds is written down beside it."""

    kind = "semaphore"

    def _holders(self, name: str) -> tuple[str, str]:
        return count_keys(name).shares, count_keys(name).leases

    def _share(self, owner: str, weight: int) -> str:
        return f"{owner}*{weight}"

    _waiter = _share

    def _holder(self, share: bytes, expires_in: float | None = None) -> Holder:
        owner, _, weight = text(share).rpartition("*")
        return Holder(owner, expires_in=expires_in, weight=int(weight))


class RedisLeasedSemaphores(RedisPermitStore):
    """Redisson's RPermitExpirableSemaphore: each permit has an id and a lease."""

    kind = "leased_semaphore"

    def __init__(self, permits: int | None, label: str, places: Layout = ONE_SERVER) -> None:
        super().__init__(permits, 1, label, places)

    def _holders(self, name: str) -> tuple[str, str]:
        return count_keys(name).leases, count_keys(name).shares

    def _share(self, owner: str, weight: int) -> bytes:
        return permit_id(owner) if ":" in owner else bytes.fromhex(owner)

    def _waiter(self, owner: str, weight: int) -> str:
        return f"{owner}*{self._share(owner, weight).hex()}"

    def _holder(self, share: bytes, expires_in: float | None = None) -> Holder:
        return Holder(owner_of(share), expires_in=expires_in)


def owner_of(permit: bytes) -> str:
    """The holder of a permit: an owner of ours, or the id of Java's as Java prints it."""
    digits, number = permit.hex(), int.from_bytes(permit[10:], "big")
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], "0" * 12)
    owner = f"{'-'.join(parts)}:{number}"
    ours = len(permit) == 16 and permit[10] == 0 and kind_of_owner(owner) == "leased_semaphore"
    return owner if ours and is_ours(owner) else digits


def lease_left(left_ms: int) -> float | None:
    """Seconds until a lease ends; None when it never does."""
    return None if left_ms > NEVER / 2 else in_seconds(left_ms)
