"""Elections: Curator's LeaderLatch.  The first node of a queue leads; it says what its participant
calls itself, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...model import FOREVER, LockInfo
from ...recipes.lock import POLL_CAP
from ...steps import Steps
from .directory import leader_of
from .kinds import check_kind, without_directories
from .layout import CANDIDATES, first_candidate, is_node, path_of
from .locks import ZkLocks
from .namespace import Namespace, NodeSpec
from .queue_nodes import SCANS, ask
from .transport.requests import Children, Exists, Get, Refusal


class ZkElections(ZkLocks):
    """See `spi.ElectionStore`.  Costs what a lock costs; an observer is woken when the leader's
    node goes, or when the first candidate comes."""

    kind, reentrant = "election", False
    poll = POLL_CAP

    def __init__(self, participant: str, namespace: Namespace) -> None:
        self._called = participant.encode()
        super().__init__(namespace, CANDIDATES, "election")

    def _spec(self, name: str, owner: str, lease: float = FOREVER) -> NodeSpec:
        return replace(super()._spec(name, owner, lease), data=self._called)

    # --- looking ------------------------------------------------------------------------

    def look(self, name: str, until: float) -> Steps[LockInfo | None]:
        """Three round trips."""
        return self._looked(name, None, until)

    def watch(self, name: str, until: float) -> Steps[LockInfo | None]:
        """Three round trips; without a leader two."""
        (topic,) = self.change_topics(name)
        return self._looked(name, topic, until)

    def change_topics(self, name: str) -> tuple[Any, ...]:
        return (("leader", path_of(name, self._namespace.root)),)

    def _looked(self, name: str, topic: Any, until: float) -> Steps[LockInfo | None]:
        path = path_of(name, self._namespace.root)
        for _ in range(SCANS):
            (listed,) = yield from ask(name, [Children(path)], until)
            leaders, waiters = yield from self._front(name, listed.children, until)
            if not leaders:
                if topic is None or (yield from self._vacant(name, path, topic, until)):
                    return None
                continue
            (told,) = yield from ask(name, [Get(f"{path}/{leaders[0]}", topic)], until)
            if told.value is not Refusal.MISSING:
                holder = yield from leader_of(
                    self._namespace, name, path, leaders[0], told.value, until
                )
                return LockInfo(name, self.kind, (holder,), holder.expires_in, waiters)
        return None  # leaders come and go: the observer looks again

    def _front(self, name: str, children: Any, until: float) -> Steps[tuple[Any, int]]:
        """The leader's node, if there is one, and how many wait."""
        yield from check_kind(self._namespace, name, children, self.kind, until)
        path, nodes = path_of(name, self._namespace.root), filter(is_node, children)
        front = first_candidate((yield from without_directories(name, path, [*nodes], until)))
        return front.nodes, front.waiters

    def _vacant(self, name: str, path: str, topic: Any, until: float) -> Steps[bool]:
        """Watch for the first candidate; False when there is one by now."""
        (listed,) = yield from ask(name, [Children(path, topic)], until)
        if listed.value is Refusal.MISSING:
            (seen,) = yield from ask(name, [Exists(path, topic)], until)
            return seen.value is Refusal.MISSING
        leaders, _ = yield from self._front(name, listed.value, until)
        return not leaders
