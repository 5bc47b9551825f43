"""Which token would suit all nodes: one that none of their clocks has reached.

A node grants what is proposed unless it has gone beyond it, so that all nodes grant the same
token, which needs no second round.  It is only a hint: the nodes decide.
"""

from __future__ import annotations

from collections.abc import Iterable

#: How far a proposal is ahead of the clocks of the nodes, in seconds.
AHEAD = 0.25


class Proposal:
    """What is known of the clocks of the nodes.

    Threads may learn at the same time: the last one counts, and each of them is right.
    """

    def __init__(self, wall: float) -> None:
        #: How far the fastest clock of a node is ahead of the holder's clock; until a node has
        #: said so, how far the wall clock of this machine is.
        self._offset = wall

    def at(self, now: float) -> int:
        """What to propose in a question that is sent now, in microseconds."""
        return int((now + self._offset + AHEAD) * 1_000_000)

    def learn(self, asked: float, clocks: Iterable[int]) -> None:
        """Nodes have said what time it is, in answer to a question of `asked`.

        It counts from the question, so that a proposal is also ahead of its own way there.
        """
        if known := [clock / 1_000_000 - asked for clock in clocks]:
            self._offset = max(known)
