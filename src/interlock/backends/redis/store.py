"""What a Redis server can do for a lock, as small generators over the scripts."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from ...errors import StoreError
from ...ledger import BUSY, GRANTED, RELEASED, refusal
from ...model import TOMBSTONE, Busy, Holder, LockInfo
from ...steps import Call, Steps, call, together
from ...stores import AsyncLink, Link
from . import names
from .connections import Door
from .names import TOKENS, companions
from .scripts import script

#: Holds in one renewal script: long enough to be cheap, short enough to let others in.
BATCH = 250

#: How long a client is remembered, and how often it says who it is.
REMEMBERED, REPEATED = 3600.0, 1200.0


def ms(seconds: float) -> int:
    return math.ceil(seconds * 1000)


TOMBSTONE_MS = ms(TOMBSTONE)


class RedisLocks:
    """Locks of one layout: see `stores.LockStore`.  Every operation is one round trip,
    but for `look`, which takes a second one to say who the holder is."""

    def __init__(self, kind: str, reentrant: bool, label: str) -> None:
        self.kind, self.reentrant, self.label = kind, reentrant, label
        self._attempt, self._release = script(f"{kind}_attempt"), script(f"{kind}_release")
        self._withdraw, self._renew = script(f"{kind}_withdraw"), script(f"{kind}_renew")
        self._look = script(f"{kind}_look")

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        queue, tombs, _ = companions(name)
        keys = (name, queue, tombs + owner, TOKENS)
        args = (owner, math.ceil(lease * 1000), int(waits))
        return call(self._attempt, keys, args, until, self._attempted)

    def _attempted(self, name: str, answer: Any) -> int | Busy:
        if answer[0] == GRANTED:
            return int(answer[1])
        if answer[0] == BUSY:
            return self._busy(answer)
        raise refusal(name, self.kind, _texts(answer), self.label)

    def _busy(self, answer: Sequence[Any]) -> Busy:
        holder = _text(answer[1])
        return Busy(holder, _left(answer[2]), self._silent(holder))

    def _silent(self, holder: str) -> bool:
        raise NotImplementedError

    def _farewells(self, name: str) -> tuple[Any, ...]:
        """Arguments that only this layout's release takes."""
        raise NotImplementedError

    def release(self, name: str, owner: str, until: float) -> Steps[bool]:
        keys = (name, companions(name).queue)
        args = (owner, *self._farewells(name))
        return call(self._release, keys, args, until, _released)

    def withdraw(self, name: str, owner: str, until: float) -> Steps[bool]:
        keys = (name, names.queue_key(name), names.tomb_key(name, owner))
        args = (owner, *self._farewells(name), TOMBSTONE_MS)
        return call(self._withdraw, keys, args, until, _released)

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
        keys = (name, names.queue_key(name))
        answer: Any = yield from call(self._look, keys, (), until)
        if answer[0] == 0:
            return None
        if answer[0] != 1:
            raise refusal(name, self.kind, _texts(answer), self.label)
        holder = yield from self._describe(_text(answer[1]), until)
        return LockInfo(name, self.kind, (holder,), _left(answer[2]), int(answer[3]))

    def _describe(self, owner: str, until: float) -> Steps[Holder]:
        if not names.is_ours(owner):
            return Holder(owner)
        key = names.client_key(names.identity_of(owner))
        answer: Any = yield from call(script("client_describe"), (key,), (), until)
        if answer[0] == 0:
            return Holder(owner)
        person = json.loads(answer[1])
        return Holder(owner, person["host"], person["pid"], person["program"])


class HashLocks(RedisLocks):
    """Redisson's lock: a hash of the owner, and a channel for its waiters."""

    def _silent(self, holder: str) -> bool:
        return False

    def _farewells(self, name: str) -> tuple[Any, ...]:
        return (companions(name).channel,)

    def topics(self, name: str, owner: str, busy: Busy) -> tuple[Any, ...]:
        mine = names.wake_topic(owner)
        if busy.holder is None or names.is_ours(busy.holder):
            return (mine,)
        return (mine, names.Topic(names.redisson_channel(name), None))


class StringLocks(RedisLocks):
    """The plain mutex of redis-py, redsync and node-redlock: SET NX PX."""

    def _silent(self, holder: str) -> bool:
        return not names.is_ours(holder)

    def _farewells(self, name: str) -> tuple[Any, ...]:
        return ()

    def topics(self, name: str, owner: str, busy: Busy) -> tuple[Any, ...]:
        return (names.wake_topic(owner),)


class RedisDirectory:
    """Who is who: see `stores.Directory`."""

    def introduce(self, holder: Holder, until: float) -> Steps[float]:
        person = {"host": holder.host, "pid": holder.pid, "program": holder.program}
        text = json.dumps({**person, "started": holder.since})
        key = names.client_key(holder.owner)
        args = (text, ms(REMEMBERED))
        yield from call(script("client_introduce"), (key,), args, until)
        return REPEATED


class RedisBackend:
    """See `stores.Backend`."""

    def __init__(self, door: Door) -> None:
        self._door, self.label = door, door.label
        self.locks = HashLocks("lock", True, self.label)
        self.mutexes = StringLocks("mutex", False, self.label)
        self.directory = RedisDirectory()

    def link(self) -> Link:
        from .blocking import RedisLink

        return RedisLink(self._door)

    def alink(self) -> AsyncLink:
        from .aio import RedisAsyncLink

        return RedisAsyncLink(self._door)


def _released(name: str, answer: Any) -> bool:
    return bool(answer[0] == RELEASED)


def _text(part: Any) -> str:
    return part.decode("utf-8", "replace") if isinstance(part, bytes) else str(part)


def _texts(answer: Sequence[Any]) -> list[Any]:
    return [answer[0], *(_text(part) for part in answer[1:])]


def _left(left_ms: int) -> float | None:
    return left_ms / 1000 if left_ms >= 0 else None


def _renewed(batch: Sequence[Any], reply: Any) -> list[bool | StoreError]:
    if isinstance(reply, StoreError):
        return [reply] * len(batch)
    return [bool(mine) for mine in reply[1:]]
