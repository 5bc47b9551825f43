"""Latches: Redisson's RCountDownLatch.  No client holds anything; all of them wait for zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import StoreError
from ...ledger import BUSY, GRANTED, refusal
from ...model import KIND_CODES, Busy, LockInfo, validity
from ...steps import Steps, call, nothing
from .keys import ONE_SERVER, Layout, Topic, count_keys, latch_channel
from .scripts import TOMBSTONE_MS, script, texts


class RedisLatches:
    """See `spi.LatchStore`.  Every operation is one round trip, or none.

    The store remembers no waiter, so there is nothing to withdraw or to give back.
    """

    kind, kind_code = "latch", KIND_CODES["latch"]
    reentrant, shared, leases_expire = False, True, True
    own_places = takes_turns = False

    def __init__(self, label: str, places: Layout = ONE_SERVER) -> None:
        self.label, self._keys_of = label, places.latch_keys_of
        self._set, self._count = script("latch_set"), script("latch_count")
        self._pass, self._look = script("latch_pass"), script("latch_look")
        self._open = script("latch_open")

    def for_wait(self, timeout: float) -> RedisLatches:
        return self

    def effective_lease(self, lease: float) -> float:
        return lease

    def valid_until(self, asked: float, lease: float) -> float:
        return validity(asked, lease)

    def _keys(self, name: str) -> tuple[str, ...]:
        self._keys_of(name)  # refuses a name that cannot be kept there
        shares, leases, marker, _ = count_keys(name)
        return name, marker, shares, leases

    def set_count(self, name: str, count: int, until: float) -> Steps[bool]:
        args = (count, latch_channel(name))
        return call(self._set, self._keys(name), args, until, self._begun)

    def _begun(self, name: str, answer: Any) -> bool:
        return bool(self._plain(name, answer)[0] == GRANTED)

    def open(self, name: str, until: float) -> Steps[None]:
        args = (latch_channel(name),)
        yield from call(self._open, self._keys(name), args, until)

    def count_down(self, name: str, owner: str, until: float) -> Steps[int]:
        keys = (*self._keys(name), self._keys_of(name).tombs + owner)
        args = (latch_channel(name), TOMBSTONE_MS)
        return call(self._count, keys, args, until, self._counted)

    def _counted(self, name: str, answer: Any) -> int:
        return int(self._plain(name, answer)[1])

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        keys = (*self._keys(name), self._keys_of(name).tokens)
        return call(self._pass, keys, (), until, self._passed)

    def _passed(self, name: str, answer: Any) -> int | Busy:
        yes, *token = self._plain(name, answer)
        return int(token[0]) if yes == GRANTED else Busy(None, None)

    def _plain(self, name: str, answer: Any) -> Any:
        """An answer that is yes or no; the others are raised."""
        if answer[0] not in (GRANTED, BUSY):
            raise refusal(name, self.kind, texts(answer), self.label)
        return answer

    def look(self, name: str, until: float) -> Steps[LockInfo | None]:
        args = (latch_channel(name),)
        return call(self._look, self._keys(name), args, until, self._looked)

    def _looked(self, name: str, answer: Any) -> LockInfo | None:
        counts, *numbers = self._plain(name, answer)
        if counts != GRANTED:
            return None
        count, waiters = numbers
        return LockInfo(name, self.kind, (), None, waiters, count=max(0, count))

    def topics(self, name: str, owner: str, busy: Busy) -> tuple[Any, ...]:
        return Topic(latch_channel(name), None), *self._keys_of(name).slot

    # --- what only holders need ------------------------------------------------------------------

    def withdraw(self, name: str, owner: str, until: float, reason: str = "") -> Steps[bool]:
        """A question that comes late changes nothing, so it need not be refused."""
        yield from nothing()
        return False

    def release(self, name: str, owner: str, until: float) -> Steps[bool]:
        yield from nothing()
        return True

    def withdrawal_reason(self, name: str, owner: str, until: float) -> Steps[str]:
        yield from nothing()
        return ""

    def renew(
        self, holds: Sequence[tuple[str, str]], lease: float, until: float
    ) -> Steps[Sequence[bool | StoreError]]:
        yield from nothing()
        return [True] * len(holds)
