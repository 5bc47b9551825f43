"""Fair locks: Redisson's RFairLock, with one queue for its clients and ours."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from ...ledger import RELEASED
from ...model import MARKS, Busy
from ...steps import Steps, call
from . import names
from .locks import TOMBSTONE_MS, RedisLocks, ms, text
from .scripts import script

#: For how long Java takes a waiter to be alive that has set itself no limit.
WAIT = 300.0


class Places(NamedTuple):
    """Where those who wait for a fair lock are written down, and where they listen."""

    queue: str
    scores: str
    seen: str
    channels: str


@lru_cache(maxsize=4096)
def places(name: str) -> Places:
    """What belongs to a name; remembered, because each acquisition needs it twice."""
    # A name with a brace is its own tag, and must not meet the same name without it.
    tagged = ":tagged" if "{" in name else ""
    return Places(
        names.prefixed("redisson_lock_queue", name),
        names.prefixed("redisson_lock_timeout", name),
        names.prefixed(f"interlock:seen{tagged}", name),
        names.redisson_channel(name) + ":",
    )


class FairLocks(RedisLocks):
    """Redisson's fair lock: a hash of the owner, a list of those who wait, and their times.

    Only the head of the list may have the lock.  Java's is told, on a channel of its own, and
    takes it; to one of ours it is handed over, as any lock is.  Java's waiters live as long as
    they said at first, ours as long as they ask.  Every time is the server's.

    Every operation is one round trip, but for `look`, which takes a second one to say who the
    holder is.
    """

    kind, layout = "fair_lock", "fair"

    def __init__(self, label: str, wait: float = WAIT) -> None:
        self.label, self.mark, self.wait = label, MARKS[self.kind], wait
        self._attempt, self._look = script("fair_attempt"), script("fair_look")
        self._release = self._withdraw = script("fair_release")
        self._renew = script("lock_renew")

    def waiting(self, timeout: float) -> FairLocks:
        """The same, whose waiters let Java know how long they mean to wait."""
        wait = timeout if 0 < timeout < WAIT else WAIT
        return self if wait == self.wait else FairLocks(self.label, wait)

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        queue, scores, seen, _ = places(name)
        keys = (name, queue, scores, seen, names.tomb_key(name, owner), names.TOKENS)
        args = (owner, ms(lease), int(waits), ms(self.wait))
        return call(self._attempt, keys, args, until, self._attempted)

    def _attempted(self, name: str, answer: Any) -> int | Busy:
        """Whoever is right before us will tell us; Java does so in its own way."""
        said = super()._attempted(name, answer)
        if isinstance(said, Busy) and len(answer) > 3 and not names.is_ours(text(answer[3])):
            return said._replace(foreign=True)
        return said

    def release(self, name: str, owner: str, until: float) -> Steps[bool]:
        return self._leave(name, owner, until, 0, "")

    def withdraw(self, name: str, owner: str, until: float, reason: str = "") -> Steps[bool]:
        return self._leave(name, owner, until, TOMBSTONE_MS, reason)

    def _leave(
        self, name: str, owner: str, until: float, tomb_ms: int, reason: str
    ) -> Steps[bool]:
        queue, scores, seen, channels = places(name)
        keys = (name, queue, scores, seen, names.tomb_key(name, owner))
        args = (owner, ms(self.wait), channels, tomb_ms, reason)
        return call(self._release, keys, args, until, _released)

    def _seen(self, name: str) -> tuple[str, ...]:
        return (name, places(name).queue)

    def topics(self, name: str, owner: str, busy: Busy) -> tuple[Any, ...]:
        mine = names.wake_topic(owner)
        if not busy.foreign:
            return (mine,)
        return (mine, names.Topic(places(name).channels + owner, None))

    def _silent(self, holder: str) -> bool:
        return False


def _released(name: str, answer: Any) -> bool:
    return bool(answer[0] == RELEASED)
