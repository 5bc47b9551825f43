"""Elections over several nodes: the holder of a majority leads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ....errors import StoreError
from ....model import Busy, Holder, LockInfo
from ....spi import PolledElections
from ....steps import Call, Steps, together
from ..directory import called
from ..keys import is_ours, leader_key
from ..scripts import ms, script
from .locks import Quorum, QuorumLocks


class QuorumElections(PolledElections, QuorumLocks):
    """See `spi.ElectionStore`.  What a participant calls itself is told to all nodes, and no
    answer to that is awaited."""

    #: Nodes tell of releases, and not of grants.
    poll = 0.5

    def __init__(self, participant: str, quorum: Quorum) -> None:
        super().__init__("election", quorum)
        self._participant = participant

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        answer = yield from super().attempt(name, owner, lease, waits, until)
        if not isinstance(answer, Busy):
            yield from self._say([(name, owner)], lease, until)
        return answer

    def renew(
        self, holds: Sequence[tuple[str, str]], lease: float, until: float
    ) -> Steps[Sequence[bool | StoreError]]:
        answers = yield from super().renew(holds, lease, until)
        yield from self._say(holds, lease, until)
        return answers

    def _say(self, holds: Sequence[tuple[str, str]], lease: float, until: float) -> Steps[None]:
        if self._participant and holds:
            said = [self._saying(*hold, lease, until) for hold in holds]
            every = [each._replace(node=node) for each in said for node in range(self._nodes)]
            yield from together(every, lambda replies: True)

    def _saying(self, name: str, owner: str, lease: float, until: float) -> Call:
        args = (f"{owner} {self._participant}", ms(lease))
        return Call(script("client_introduce"), (leader_key(name),), args, until)

    def look(self, name: str, until: float) -> Steps[LockInfo | None]:
        """One round trip more than that of a lock."""
        info = yield from super().look(name, until)
        if info is None or not is_ours(info.holders[0].owner):
            return info
        leader = yield from self._named(name, info.holders[0], until)
        return replace(info, holders=(leader,))

    def _named(self, name: str, leader: Holder, until: float) -> Steps[Holder]:
        keys, describe = (leader_key(name),), script("client_describe")
        calls = [Call(describe, keys, (), until, node) for node in range(self._nodes)]
        replies = yield from together(calls, self._majority_has_answered)
        told = [called(leader, reply) for reply in replies if isinstance(reply, list)]
        return next((each for each in told if each.participant), leader)

    def change_topics(self, name: str) -> tuple[Any, ...]:
        """Where a release is told."""
        return self.topics(name, "", Busy(None, None))
