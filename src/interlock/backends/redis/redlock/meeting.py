"""Which nodes a client has met, which of them hang, and which to listen to.

The first question of a client waits a moment for all nodes.  So a wrong password, or one server
under two names, is found before anything is believed, and is not left to chance.  A node that
hangs costs this moment once.

Where the answers of a majority decide nothing, because votes are split, the others are waited
for; but not if they hang, because split votes keep other clients out meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from ....errors import OutcomeUnknown, StoreMisconfigured, StoreUnavailable
from ....recipes.agreement import majority
from ....steps import Call, Reply, Wakes

#: Seconds for which the first question waits.
MOMENT = 0.25

#: Seconds after which a node that has not answered is taken to hang.
SILENT = 0.3

#: Seconds after which a node that has not answered is not listened to any more, if another has.
LATELY = 1.0

#: Seconds that a listener waits for its subscription; it goes on all the same.
SUBSCRIBING = 0.25


class Meeting:
    """Which nodes a client has met.  Threads may note the same thing twice."""

    def __init__(self, nodes: int) -> None:
        self._unmet = set(range(nodes))
        #: Nodes that have done what they were asked to.
        self._served: set[int] = set()
        self._ends = 0.0
        #: The node that is listened to: one that has answered lately.
        self._ear, self._heard = 0, [0.0] * nodes
        #: When each node was asked first of all that it has not answered; None when it has.
        self._asked: list[float | None] = [None] * nodes

    def asked(self, requests: Sequence[Call], at: float) -> None:
        """Note that nodes are asked now."""
        for request in requests:
            node = request.node or 0
            if self._asked[node] is None:
                self._asked[node] = at

    def heard(self, node: int, at: float) -> None:
        """Note that a node has answered, be it a question that is not waited for any more."""
        self._heard[node], self._asked[node] = at, None

    def hangs(self, node: int, at: float) -> bool:
        """Whether a node that was asked has been silent for so long that it is not waited for."""
        asked = self._asked[node]
        return asked is not None and at - asked > SILENT

    def patience(self, requests: Sequence[Call], replies: Sequence[Reply]) -> float:
        """Until when to wait for the answers that are missing; it may be over."""
        nodes = len(self._heard)
        if len(replies) - replies.count(None) < majority(nodes):
            return math.inf
        missing = {
            each.node or 0 for each, reply in zip(requests, replies, strict=True) if reply is None
        }
        if not missing or nodes - len(missing) < majority(nodes):
            return math.inf
        return max(self._asked[node] or self._heard[node] for node in missing) + SILENT

    def noted(self, node: int, reply: Reply, at: float) -> Reply:
        """Note that a node has answered, or failed, and answer what counts as its reply.

        What a node refuses that has served before is a failure of this node alone; that of one
        that never has is a mistake in the settings, which is to be told.
        """
        self._unmet.discard(node)
        if not isinstance(reply, OutcomeUnknown):
            self._asked[node] = None  # a failure is no silence
        if not isinstance(reply, Exception):
            self._served.add(node)
            self.heard(node, at)
        elif type(reply) is StoreMisconfigured and node in self._served:
            return StoreUnavailable(str(reply), reply.store)
        return reply

    def until(self, at: float) -> float:
        """Until when to wait for all nodes; 0.0 when that is over."""
        if not self._unmet:
            return 0.0
        self._ends = self._ends or at + MOMENT
        return self._ends if at < self._ends else 0.0

    def ear(self, at: float) -> int:
        """The node to listen to: the same one as long as it answers."""
        if at - self._heard[self._ear] > LATELY:
            self._ear = self._heard.index(max(self._heard))
        return self._ear


class NodeWakes:
    """Wakes that come from one node."""

    def __init__(self, link: Any, wakes: Wakes) -> None:
        self.link, self.wakes = link, wakes

    def __enter__(self) -> Self:
        self.wakes.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.wakes.__exit__(kind, error, trace)

    def wake(self) -> None:
        self.wakes.wake()
