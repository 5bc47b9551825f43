"""Fair locks: Redisson's RFairLock, with one queue for its clients and ours."""

from __future__ import annotations

from typing import Any

from ...model import KIND_CODES, Busy
from ...steps import Steps, call
from .keys import ONE_SERVER, Layout, Topic, fair_keys, is_ours, wake_topic
from .locks import RedisLockStore
from .scripts import TOMBSTONE_MS, ms, released, script, text

#: For how long Java takes a waiter to be alive that has set itself no limit.
WAIT = 300.0


class RedisFairLocks(RedisLockStore):
    """Redisson's fair lock: a hash of the owner, a list of those who wait, and their times.

    Only the head of the list may have the lock.  A head of Java's is told, on a channel of its
    own, and takes it; to one of ours it is handed over, as any lock is.  Java's waiters count as
    alive for as long as they said at first, ours as long as they ask.  Every time is the server's.

    Every operation is one round trip, but for `look`, which takes a second one to say who the
    holder is.
    """

    kind, layout = "fair_lock", "fair"
    own_places = True

    def __init__(self, label: str, wait: float = WAIT, places: Layout = ONE_SERVER) -> None:
        self.label, self.kind_code, self.wait = label, KIND_CODES[self.kind], wait
        self.places, self._keys_of = places, places.keys_of
        self._attempt, self._release = script("fair_attempt"), script("fair_release")
        self._renew, self._look = script("lock_renew"), script("lock_look")

    def for_wait(self, timeout: float) -> RedisFairLocks:
        """The same store, whose waiters let Java know how long they mean to wait."""
        wait = timeout if 0 < timeout < WAIT else WAIT
        return self if wait == self.wait else RedisFairLocks(self.label, wait, self.places)

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        queue, scores, seen, _ = fair_keys(name)
        beside = self._keys_of(name)
        keys = (name, queue, scores, seen, beside.tombs + owner, beside.tokens)
        args = (owner, ms(lease), int(waits), ms(self.wait))
        return call(self._attempt, keys, args, until, self._attempted)

    def _attempted(self, name: str, answer: Any) -> int | Busy:
        """The waiter right before this one will wake it; Java's does so in its own way."""
        outcome = super()._attempted(name, answer)
        if isinstance(outcome, Busy) and len(answer) > 3 and not is_ours(text(answer[3])):
            return outcome._replace(foreign=True)
        return outcome

    def release(self, name: str, owner: str, until: float) -> Steps[bool]:
        return self._leave(name, owner, until, 0, "")

    def withdraw(self, name: str, owner: str, until: float, reason: str = "") -> Steps[bool]:
        return self._leave(name, owner, until, TOMBSTONE_MS, reason)

    def _leave(
        self, name: str, owner: str, until: float, tomb_ms: int, reason: str
    ) -> Steps[bool]:
        queue, scores, seen, channels = fair_keys(name)
        beside = self._keys_of(name)
        keys = (name, queue, scores, seen, beside.tombs + owner, *beside.never)
        args = (owner, ms(self.wait), channels, tomb_ms, reason)
        return call(self._release, keys, args, until, released)

    def _look_at(self, name: str) -> tuple[tuple[str, ...], tuple[Any, ...]]:
        self._keys_of(name)  # refuses a name that cannot be kept there
        return (name, fair_keys(name).queue), (1,)

    def topics(self, name: str, owner: str, busy: Busy) -> tuple[Any, ...]:
        mine = wake_topic(owner)
        own = Topic(fair_keys(name).channels + owner, None)
        slot = self._keys_of(name).slot
        return (mine, own, *slot) if busy.foreign else (mine, *slot)

    def _silent(self, holder: str) -> bool:
        return False
