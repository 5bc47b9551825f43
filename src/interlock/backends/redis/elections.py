"""Elections: Redisson's RLock, whose holder leads.  Java can take part with a lock of that name.

What a participant calls itself is kept beside the clients, for as long as its lease; observers
listen on a channel of the election, on which each grant and each release is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import StoreError
from ...model import Busy
from ...recipes.lock import POLL_CAP
from ...spi import PolledElections
from ...steps import Call, Steps, together
from .directory import participation
from .keys import ONE_SERVER, Layout, change_topic
from .locks import RedisLocks


class RedisElections(PolledElections, RedisLocks):
    """See `spi.ElectionStore`.  Every operation is one round trip, but for `look`, which takes a
    second one to say who the leader is."""

    kind, layout = "election", "lock"
    reentrant = False
    poll = POLL_CAP

    def __init__(self, participant: str, label: str, places: Layout = ONE_SERVER) -> None:
        super().__init__(label, places)
        self._participant = participant

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        asked = super().attempt(name, owner, lease, waits, until)
        if not self._participant:
            return asked
        return self._attempt_named(next(asked), name, owner, lease, until)

    def _attempt_named(
        self, attempt: Any, name: str, owner: str, lease: float, until: float
    ) -> Steps[int | Busy]:
        """Say in the same round trip what the owner calls itself."""
        said = participation(name, owner, self._participant, lease, until)
        answer, _ = yield from together((attempt, said))
        if isinstance(answer, StoreError):
            raise answer
        return self._attempted(name, answer)

    def _beside_renewal(
        self, holds: Sequence[tuple[str, str]], lease: float, until: float
    ) -> Sequence[Call]:
        called = self._participant
        named = holds if called else ()
        return [participation(name, owner, called, lease, until) for name, owner in named]

    def change_topics(self, name: str) -> tuple[Any, ...]:
        return change_topic(name), *self._keys_of(name).slot
