"""Fenced locks: Redisson's RFencedLock, whose tokens Java and Python count together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...model import Busy, Holder
from ...steps import Steps, call
from . import names
from .locks import HashLocks
from .scripts import script


def counter_key(name: str) -> str:
    """The last token of a name; it stays when the lock goes, or numbers would come twice."""
    return names.prefixed("redisson_lock_token", name)


class FencedLocks(HashLocks):
    """Redisson's lock with a counter of its own for each name: every grant takes the next
    number, whoever gets it.  Every operation is one round trip, but for `look`."""

    kind, layout = "fenced_lock", "lock"

    def __init__(self, label: str) -> None:
        super().__init__(label)
        self._attempt, self._look = script("fenced_attempt"), script("fenced_look")

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        places = names.companions(name)
        keys = (name, places.queue, places.tombs + owner, counter_key(name), places.courtesy)
        args = (owner, math.ceil(lease * 1000), int(waits))
        return call(self._attempt, keys, args, until, self._attempted)

    def _seen(self, name: str) -> tuple[str, ...]:
        return (*super()._seen(name), counter_key(name))

    def _top(self, answer: Sequence[Any]) -> Holder:
        """The last number that was given out is the holder's."""
        return replace(super()._top(answer), token=int(answer[4]))
