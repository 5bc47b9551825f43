"""Barriers: parties gather until all are there, are inside together, and leave together.

Redisson has none, so the layout is Interlock's own: under the name itself is a sorted set of the
parties that gather or are inside, by the end of their leases; beside it the parties that are done,
those that wait for the next time, and a marker that says how many there have to be and whether
they are inside.  All of it expires, so that nothing stays of parties that died.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

from ...ledger import BUSY, GRANTED, refusal
from ...ledger.barriers import STAGES
from ...model import KIND_CODES, Busy, Holder, LockInfo
from ...steps import Call, Steps, call
from .directory import described
from .keys import ONE_SERVER, Layout, done_key, marker_key, wake_topic
from .locks import RedisLockStore
from .scripts import TOMBSTONE_MS, UNSETTLED, in_seconds, ms, released, script, text, texts

#: How often an attempt may find that those inside have died, and see to it.
ROUNDS = 5


class RedisBarriers(RedisLockStore):
    """See `spi.BarrierStore`.  Every operation is one round trip, but for `look`, which takes a
    second one to say who the parties are, and the first attempt after all inside have died, which
    takes three."""

    kind, layout = "barrier", "barrier"
    reentrant, own_places = False, True
    _leaves = False

    def __init__(self, parties: int | None, label: str, places: Layout = ONE_SERVER) -> None:
        super().__init__(label, places)
        self.parties, self._depart = parties, script("barrier_depart")
        self.kind_code = KIND_CODES[self.kind]
        self.leaving = copy(self)
        self.leaving._leaves = True

    def for_wait(self, timeout: float) -> RedisBarriers:
        return self

    def _places(self, name: str) -> tuple[str, ...]:
        return name, done_key(name), marker_key(name), self._keys_of(name).queue

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        beside, keys = self._keys_of(name), self._places(name)
        if self._leaves:
            keys, args = (*keys, *beside.never), (owner, ms(lease))
            return call(self._depart, keys, args, until, self._attempted)
        keys = (*keys, beside.tombs + owner, beside.tokens)
        return self._enter(name, keys, (owner, ms(lease), int(waits), self.parties), until)

    def _enter(self, name: str, keys: Any, args: Any, until: float) -> Steps[int | Busy]:
        for _ in range(ROUNDS):
            answer: Any = yield from call(self._attempt, keys, args, until)
            if answer[0] != UNSETTLED:
                return self._attempted(name, answer)
            yield from self._go(name, ("", 0, ""), until)
        return Busy(None, 0.05)  # it goes on changing: ask again soon

    def _attempted(self, name: str, answer: Any) -> int | Busy:
        if answer[0] == GRANTED:
            return int(answer[1])
        if answer[0] != BUSY:
            raise refusal(name, self.kind, texts(answer), self.label)
        return Busy(text(answer[1]) or None, in_seconds(answer[2]))

    def release(self, name: str, owner: str, until: float) -> Steps[bool]:
        return self._go(name, (owner, 0, ""), until)

    def withdraw(self, name: str, owner: str, until: float, reason: str = "") -> Steps[bool]:
        return self._go(name, (owner, TOMBSTONE_MS, reason), until)

    def _go(self, name: str, args: tuple[Any, ...], until: float) -> Steps[bool]:
        beside = self._keys_of(name)
        keys = (*self._places(name), beside.tombs + args[0], *beside.never)
        return call(self._release, keys, args, until, released)

    def _renewal(self, batch: Sequence[tuple[str, str]], lease: float, until: float) -> Call:
        places = tuple(key for name, _ in batch for key in (name, marker_key(name)))
        return Call(self._renew, places, (ms(lease), *(owner for _, owner in batch)), until)

    def look(self, name: str, until: float) -> Steps[LockInfo | None]:
        answer: Any = yield from call(self._look, self._places(name), (), until)
        if answer[0] == 0:
            return None
        _, parties, waiting, *there = answer
        every = zip(there[::3], there[1::3], there[2::3], strict=True)
        holders = yield from described([_party(*each) for each in every], until)
        near = min(each.expires_in or 0.0 for each in holders)
        return LockInfo(name, self.kind, holders, near, waiting, parties=parties)

    def topics(self, name: str, owner: str, busy: Busy) -> tuple[Any, ...]:
        return wake_topic(owner), *self._keys_of(name).slot


def _party(owner: Any, stage: int, left_ms: Any) -> Holder:
    return Holder(text(owner), mode=STAGES[stage], expires_in=in_seconds(int(left_ms)))
