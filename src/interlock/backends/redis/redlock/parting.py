"""How a blocking client leaves its nodes: no vote that it has given back stays for its lease.

A majority has heard that a lock was given back, and the others were told without waiting for
them.  Where a node has not been sent all of it, because its connection is not open yet, or where
it is still answering, closing waits a moment.  (A socket that is closed with replies unread takes
back what is still on its way.)  A node that hangs is not waited for: what it was sent, it reads
when it goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ....drive import now
from ....parking import go_on_any
from ..transport.node_connection import NodeConnection
from .meeting import SILENT

#: Seconds that closing waits at most.
CLOSING = 1.0

#: Seconds after which it looks again whether another thread has left something to be said.
GLANCE = 0.02


def part(sets: Sequence[Iterable[NodeConnection]]) -> None:
    """Close sets of connections, each of which has one to each node, when the nodes have heard
    what concerns them; in a second."""
    nodes = list(zip(*sets, strict=True))
    left = [each for several in nodes for each in _last(several)]
    limit = now() + CLOSING
    while (at := now()) < _worth_until(left, limit):
        for each in left:
            each.speak_out(at)  # also what another thread could not say
        go_on_any(left, GLANCE)
    for several in nodes:
        for each in several:
            each.close()


def _worth_until(left: Iterable[NodeConnection], limit: float) -> float:
    return max((each.worth_until(limit, SILENT) for each in left), default=0.0)


def _last(several: Sequence[NodeConnection]) -> list[NodeConnection]:
    """The connections to one node that are worth a moment: those that calls can be sent on, or
    one that may come to that.  What waited for another is said there."""
    best = max(several, key=lambda each: (each.greeted, each.waits_for is not None))
    last = [each for each in several if each.greeted or each is best]
    for each in several:
        if each not in last:
            each.close()
    best.speak_out(now())
    return last
