"""Semaphores: Redisson's RSemaphore, and its RPermitExpirableSemaphore of ids and leases.

How many permits are free is Redisson's own number, under the name itself, so that both sides
count as one.  Java's plain semaphore does not say who holds; ours does, in a sorted set beside
it, so that the permits of the dead come back and a question asked twice takes nothing twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ...ledger import BUSY, GRANTED, RELEASED, UNSET, refusal
from ...model import MARKS, Busy, Holder, LockInfo, permit_id
from ...steps import Call, Steps, call
from . import names
from .locks import TOMBSTONE_MS, RedisLocks, left, ms, text, texts
from .names import TOKENS, Topic, prefixed, suffixed
from .people import described
from .scripts import script

#: The answer to an attempt that found leases ended, or somebody due who came before.
UNSETTLED = 5

#: How often an attempt may find its name unset or unsettled, and see to it.
ROUNDS = 5

#: When permits end that Java has taken for good, in epoch milliseconds.
NEVER = 922_337_203_685_477


class Places(NamedTuple):
    """Where the parts of a name are that is counted, besides the number itself."""

    #: Who holds how many permits of a semaphore; which ids are held of a leased one.
    shares: str
    leases: str
    #: What the name is, and how many permits it has in all.
    marker: str
    #: Where Redisson's waiters listen.
    channel: str


@lru_cache(maxsize=4096)
def places(name: str) -> Places:
    """What belongs to a name; remembered, because each acquisition needs it twice."""
    return Places(
        names.permits_key(name),
        suffixed(name, "timeout"),
        names.marker_key(name),
        prefixed("redisson_sc", name),
    )


class RedisPermits(RedisLocks):
    """Semaphores of one kind: see `stores.PermitStore`.

    Every operation is one round trip.  An attempt that finds the permits unset, a lease ended
    or somebody else due takes two more; `look` takes one more to say who the holders are, and
    `set_permits` to hand over what it has added.
    """

    layout = "permits"
    reentrant, shared = False, True

    def __init__(self, permits: int | None, weight: int, label: str) -> None:
        self.label, self.mark = label, MARKS[self.kind]
        self.permits, self.weight = permits, weight
        self._attempt, self._release = script("permits_attempt"), script("permits_release")
        self._set, self._renew = script("permits_set"), script("permits_renew")
        self._look = script("permits_look")

    def waiting(self, timeout: float) -> RedisPermits:
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
        queue, tombs, *_ = names.companions(name)
        keys = (name, *self._holders(name), places(name).marker, queue, tombs + owner, TOKENS)
        waiter = self._waiter(owner, self.weight)
        share = self._share(owner, self.weight)
        args = (self.kind, self.mark, waiter, ms(lease), int(waits), share)
        for _ in range(ROUNDS):
            answer: Any = yield from call(self._attempt, keys, args, until)
            if answer[0] == UNSET:
                yield from self._say(name, self.permits, True, until)
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
        yield from self._say(name, permits, False, until)
        yield from self._settle(name, "", until)

    def _say(self, name: str, permits: int | None, first: bool, until: float) -> Steps[None]:
        """Say how many permits there are, or only how many at first."""
        keys = (name, *self._holders(name), places(name).marker)
        total = "" if permits is None else permits
        args = (self.kind, total, int(first), places(name).channel)
        return call(self._set, keys, args, until, self._said)

    def _said(self, name: str, answer: Any) -> None:
        if answer[0] != GRANTED:
            raise refusal(name, self.kind, texts(answer), self.label)

    def _settle(self, name: str, waiter: str, until: float) -> Steps[bool]:
        """Take back what has ended, and hand over to those who came before a waiter."""
        return self._give(name, "", waiter, "", "", until)

    def release(self, name: str, owner: str, until: float) -> Steps[bool]:
        return self._give(name, owner, self._waiter(owner, self.weight), 0, "", until)

    def withdraw(self, name: str, owner: str, until: float, reason: str = "") -> Steps[bool]:
        weight = self.weight
        if reason:  # an operator's, who does not know how much the owner holds
            held: Any = yield from call(self._look, self._seen(name), (self.kind,), until)
            shares = [self._holder(share) for share in held[4::2]]
            weight = next((each.weight for each in shares if each.owner == owner), weight)
        waiter = self._waiter(owner, weight)
        return (yield from self._give(name, owner, waiter, TOMBSTONE_MS, reason, until))

    def _give(
        self,
        name: str,
        owner: str,
        waiter: str,
        tomb_ms: int | str,
        reason: str,
        until: float,
    ) -> Steps[bool]:
        queue, tombs, *_ = names.companions(name)
        keys = (name, self._holders(name)[0], queue, tombs + owner)
        args = (self.mark, waiter, places(name).channel, tomb_ms, reason)
        return call(self._release, keys, args, until, _given)

    def _renewal(self, batch: Sequence[tuple[str, str]], lease: float, until: float) -> Call:
        keys = tuple(self._holders(name)[0] for name, _ in batch)
        shares = (self._share(owner, self.weight) for _, owner in batch)
        return Call(self._renew, keys, (ms(lease), *shares), until)

    def look(self, name: str, until: float) -> Steps[LockInfo | None]:
        answer: Any = yield from call(self._look, self._seen(name), (self.kind,), until)
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

    def _seen(self, name: str) -> tuple[str, ...]:
        return (name, *self._holders(name), places(name).marker, names.queue_key(name))

    def topics(self, name: str, owner: str, busy: Busy) -> tuple[Any, ...]:
        mine = names.wake_topic(owner)
        return (mine, Topic(places(name).channel, None)) if busy.foreign else (mine,)


class Semaphores(RedisPermits):
    """Redisson's RSemaphore; who holds is written down beside it."""

    kind = "semaphore"

    def _holders(self, name: str) -> tuple[str, str]:
        return places(name).shares, places(name).leases

    def _share(self, owner: str, weight: int) -> str:
        return f"{owner}*{weight}"

    _waiter = _share

    def _holder(self, share: bytes, expires_in: float | None = None) -> Holder:
        owner, _, weight = text(share).rpartition("*")
        return Holder(owner, expires_in=expires_in, weight=int(weight))


class LeasedSemaphores(RedisPermits):
    """Redisson's RPermitExpirableSemaphore: each permit has an id and a lease."""

    kind = "leased_semaphore"

    def __init__(self, permits: int | None, label: str) -> None:
        super().__init__(permits, 1, label)

    def _holders(self, name: str) -> tuple[str, str]:
        return places(name).leases, places(name).shares

    def _share(self, owner: str, weight: int) -> bytes:
        return permit_id(owner) if ":" in owner else bytes.fromhex(owner)

    def _waiter(self, owner: str, weight: int) -> str:
        return f"{owner}*{self._share(owner, weight).hex()}"

    def _holder(self, share: bytes, expires_in: float | None = None) -> Holder:
        return Holder(owner_of(share), expires_in=expires_in)


def owner_of(permit: bytes) -> str:
    """Whose a permit is: an owner of ours, or the id of a stranger's as Java prints it."""
    digits, number = permit.hex(), int.from_bytes(permit[10:], "big")
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], "0" * 12)
    owner = f"{'-'.join(parts)}:{number}"
    ours = len(permit) == 16 and permit[10] == 0 and owner.endswith(MARKS["leased_semaphore"])
    return owner if ours and names.is_ours(owner) else digits


def lease_left(left_ms: int) -> float | None:
    """Seconds until a lease ends; None when it never does."""
    return None if left_ms > NEVER / 2 else left(left_ms)


def _given(name: str, answer: Any) -> bool:
    return bool(answer[0] == RELEASED)
