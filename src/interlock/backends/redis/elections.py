"""Elections: Redisson's RLock, whose holder leads.  Java can take part with a lock of that name.

Behind each attempt and renewal, in the same round trip, goes what tells observers that another
leads, and what it calls itself; that is kept beside the lock, for as long as its lease.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import StoreError
from ...model import Busy
from ...recipes.lock import POLL_CAP
from ...spi import PolledElections
from ...steps import Call, Steps, together
from .keys import ONE_SERVER, Layout, change_topic, leader_key
from .locks import RedisLocks
from .scripts import ms, script


class RedisElections(PolledElections, RedisLocks):
    """See `spi.ElectionStore`.  Every operation is one round trip, but for `look`, which takes a
    second one to say who the leader is."""

    kind, layout = "election", "lock"
    reentrant = False
    poll = POLL_CAP

    def __init__(self, participant: str, label: str, places: Layout = ONE_SERVER) -> None:
        super().__init__(label, places)
        self._participant, self._tell = participant, script("election_tell")

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        attempt = Call(self._attempt, *self._question(name, owner, lease, waits), until)
        answer, _ = yield from together((attempt, self._telling(name, owner, lease, until)))
        if isinstance(answer, StoreError):
            raise answer
        return self._attempted(name, answer)

    def _beside_renewal(
        self, holds: Sequence[tuple[str, str]], lease: float, until: float
    ) -> Sequence[Call]:
        return [self._telling(name, owner, lease, until) for name, owner in holds]

    def _telling(self, name: str, owner: str, lease: float, until: float) -> Call:
        args = (owner, self._participant, ms(lease))
        return Call(self._tell, (name, leader_key(name)), args, until)

    def change_topics(self, name: str) -> tuple[Any, ...]:
        return change_topic(name), *self._keys_of(name).slot
