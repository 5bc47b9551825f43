"""Locks of one owner: Redisson's reentrant lock, its fenced lock, and the plain mutex."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...errors import StoreError
from ...ledger import BUSY, GRANTED, OTHER_KIND, RELEASED, refusal
from ...model import MARKS, TOMBSTONE, Busy, Holder, LockInfo, validity
from ...steps import Call, Steps, call, together
from . import names
from .names import TOKENS, Companions, companions
from .people import described
from .scripts import script

#: Holds in one renewal script: long enough to be cheap, short enough to let others in.
BATCH = 250


def ms(seconds: float) -> int:
    return math.ceil(seconds * 1000)


TOMBSTONE_MS = ms(TOMBSTONE)

#: How many of ours may come for each time that one of ours was refused because of Java, which
#: takes several turns in the time of one refusal.
TURNS = 4

#: Names for which we remember how often Java was met, at most.
REMEMBERED = 10_000


class RedisLocks:
    """Locks of one layout: see `stores.LockStore`.  Every operation is one round trip,
    but for `look`, which takes a second one to say who the holder is."""

    kind: str
    #: What the names of its scripts start with.
    layout: str
    reentrant, shared, mortal, trips = True, False, True, 1

    def __init__(self, label: str) -> None:
        self.label, self.mark = label, MARKS[self.kind]
        layout = self.layout
        self._attempt, self._release = script(f"{layout}_attempt"), script(f"{layout}_release")
        self._withdraw, self._renew = script(f"{layout}_withdraw"), script(f"{layout}_renew")
        self._look = script(f"{layout}_look")

    def waiting(self, timeout: float) -> RedisLocks:
        return self

    def trusted(self, lease: float) -> float:
        return lease

    def good_until(self, asked: float, lease: float) -> float:
        return validity(asked, lease)

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        places = companions(name)
        keys = (name, places.queue, places.tombs + owner, TOKENS, *self._manners(places)[:1])
        args = (owner, math.ceil(lease * 1000), int(waits))
        return call(self._attempt, keys, args, until, self._attempted)

    def _attempted(self, name: str, answer: Any) -> int | Busy:
        if answer[0] == GRANTED:
            return int(answer[1])
        if answer[0] != BUSY:
            raise refusal(name, self.kind, texts(answer), self.label)
        return self._busy(name, text(answer[1]), left(answer[2]))

    def _busy(self, name: str, holder: str, left: float | None) -> Busy:
        if not holder:
            return Busy(None, left)  # it is free, and kept for somebody else for a moment
        foreign = not names.is_ours(holder)
        if not foreign and (kind := names.use_of(holder)) != self.kind:
            raise in_use(name, kind, self.kind, self.label)
        return Busy(holder, left, self._silent(holder), foreign)

    def _silent(self, holder: str) -> bool:
        raise NotImplementedError

    def _farewells(self, name: str) -> tuple[Any, ...]:
        """Arguments that only this layout's release takes."""
        raise NotImplementedError

    def _manners(self, places: Companions) -> tuple[str, ...]:
        """Keys by which those who share this layout with others take turns."""
        return ()

    def release(self, name: str, owner: str, until: float) -> Steps[bool]:
        places = companions(name)
        keys = (name, places.queue, *self._manners(places))
        args = (owner, *self._farewells(name))
        return call(self._release, keys, args, until, _released)

    def withdraw(self, name: str, owner: str, until: float, reason: str = "") -> Steps[bool]:
        places = companions(name)
        keys = (name, places.queue, places.tombs + owner, *self._manners(places))
        args = (owner, *self._farewells(name), TOMBSTONE_MS, reason)
        return call(self._withdraw, keys, args, until, _released)

    def why(self, name: str, owner: str, until: float) -> Steps[str]:
        keys = (names.tomb_key(name, owner),)
        return call(script("tomb_read"), keys, (), until, _reason)

    def renew(
        self, holds: Sequence[tuple[str, str]], lease: float, until: float
    ) -> Steps[Sequence[bool | StoreError]]:
        if not holds:
            return []
        batches = [holds[start : start + BATCH] for start in range(0, len(holds), BATCH)]
        calls = [self._renewal(batch, lease, until) for batch in batches]
        replies = yield from together(calls)
        return [
            answer
            for batch, reply in zip(batches, replies, strict=True)
            for answer in _renewed(batch, reply)
        ]

    def _renewal(self, batch: Sequence[tuple[str, str]], lease: float, until: float) -> Call:
        locks = tuple(name for name, _ in batch)
        return Call(self._renew, locks, (ms(lease), *(owner for _, owner in batch)), until)

    def look(self, name: str, until: float) -> Steps[LockInfo | None]:
        answer: Any = yield from call(self._look, self._seen(name), (), until)
        if answer[0] == 0:
            return None
        if answer[0] != 1:
            raise refusal(name, self.kind, texts(answer), self.label)
        holder = self._top(answer)
        self._busy(name, holder.owner, None)  # refuses what is of another kind
        holders = yield from described([holder], until)
        return LockInfo(name, self.kind, holders, holder.expires_in, int(answer[3]))

    def _seen(self, name: str) -> tuple[str, ...]:
        """The keys that are looked at: the lock, and who waits."""
        return (name, names.queue_key(name))

    def _top(self, answer: Sequence[Any]) -> Holder:
        return Holder(text(answer[1]), expires_in=left(answer[2]))


class Neighbours:
    """How often Java was met while waiting: as often may ours come before it is asked in.

    Only a measure of fairness, so nobody minds if two threads count at the same time.
    """

    def __init__(self) -> None:
        self._meeting: dict[str, int] = {}
        self._met: dict[str, int] = {}

    def met(self, name: str) -> None:
        """Somebody of ours was refused because of Java."""
        if len(self._meeting) >= REMEMBERED:
            self._meeting.clear()  # most of them gave up
        self._meeting[name] = self._meeting.get(name, 0) + 1

    def passed(self, name: str) -> None:
        """Somebody of ours has it."""
        if self._meeting and name in self._meeting:
            if len(self._met) >= REMEMBERED:
                self._met.clear()
            self._met[name] = self._meeting.pop(name, 1)

    def patience(self, name: str) -> int:
        """How many of ours may come before it is Java's turn again."""
        return TURNS * self._met.get(name, 0) or 1


class HashLocks(RedisLocks):
    """Redisson's lock: a hash of the owner, and a channel for its waiters."""

    kind = layout = "lock"

    def __init__(self, label: str) -> None:
        super().__init__(label)
        self._neighbours = Neighbours()

    def _attempted(self, name: str, answer: Any) -> int | Busy:
        said = super()._attempted(name, answer)
        if not isinstance(said, Busy):
            self._neighbours.passed(name)
        elif said.foreign:
            self._neighbours.met(name)
        return said

    def _silent(self, holder: str) -> bool:
        return False

    def _farewells(self, name: str) -> tuple[Any, ...]:
        return (companions(name).channel, self._neighbours.patience(name))

    def _manners(self, places: Companions) -> tuple[str, ...]:
        return (places.courtesy, places.turns)

    def topics(self, name: str, owner: str, busy: Busy) -> tuple[Any, ...]:
        mine = names.wake_topic(owner)
        if not busy.foreign:
            return (mine,)
        return (mine, names.Topic(names.redisson_channel(name), None))


class StringLocks(RedisLocks):
    """The plain mutex of redis-py, redsync and node-redlock: SET NX PX."""

    kind = layout = "mutex"
    reentrant = False

    def _busy(self, name: str, holder: str, left: float | None) -> Busy:
        if left is None and holder.lstrip("-").isdigit():
            # A mutex ends by itself and is not a number: this is somebody's count.
            raise in_use(name, "semaphore or latch", self.kind, self.label)
        return super()._busy(name, holder, left)

    def _silent(self, holder: str) -> bool:
        return not names.is_ours(holder)

    def _farewells(self, name: str) -> tuple[Any, ...]:
        return ()

    def topics(self, name: str, owner: str, busy: Busy) -> tuple[Any, ...]:
        return (names.wake_topic(owner),)


def _released(name: str, answer: Any) -> bool:
    return bool(answer[0] == RELEASED)


def text(part: Any) -> str:
    return part.decode("utf-8", "replace") if isinstance(part, bytes) else str(part)


def texts(answer: Sequence[Any]) -> list[Any]:
    return [answer[0], *(text(part) for part in answer[1:])]


def left(left_ms: int) -> float | None:
    return left_ms / 1000 if left_ms >= 0 else None


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
