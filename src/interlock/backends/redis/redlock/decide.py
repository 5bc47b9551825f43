"""What the answers of several nodes mean together.  Pure.

Theory of operation.  Of n nodes that know nothing of each other a majority is k = n // 2 + 1.  A
client has the lock when k nodes have given it their vote, for as long as the first of these k
leases stands.  Two majorities share a node, and a node has one vote: so there is one holder.

Its fencing token is the k-th smallest of the tokens that nodes have granted it, and it is believed
once k nodes that have voted for it store at least that token.  Any later majority shares a node
with these, and that node grants more than it stores: so tokens grow.  With the votes of all nodes
in hand the k-th smallest is the median, which k nodes store already; with fewer, the tokens have
to be equal, for which clients propose one (see `proposal`).  Else the nodes that store less are
told, in a second round.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from typing import NamedTuple, TypeAlias

from ....recipes.agreement import majority


class Verdict(Enum):
    """What is decided without a token."""

    WAIT = "more answers may decide it"
    REFUSED = "no majority can be had any more"


class Believe(NamedTuple):
    """The lock is held, with this token."""

    token: int


class RaiseTo(NamedTuple):
    """These nodes must store the token before it can be believed."""

    token: int
    nodes: tuple[int, ...]


Decision: TypeAlias = Verdict | Believe | RaiseTo


def decide(
    nodes: int, granted: Mapping[int, int], stored: Mapping[int, int], refused: Collection[int]
) -> Decision:
    """Decide on an attempt.

    `granted` is the token that each node has answered, `stored` what it is known to store while it
    votes for us, and `refused` are the nodes that will not vote for us any more.
    """
    enough = majority(nodes)
    if len(granted) < enough:
        return Verdict.REFUSED if len(refused) > nodes - enough else Verdict.WAIT
    token = sorted(granted.values())[enough - 1]
    if sum(stored.get(node, 0) >= token for node in granted) >= enough:
        return Believe(token)
    return RaiseTo(token, tuple(node for node in granted if stored.get(node, 0) < token))


def free_after(nodes: int, lefts: Sequence[float]) -> float:
    """When a majority will be free, if nodes that refused are busy for so many seconds."""
    missing = majority(nodes) - (nodes - len(lefts))
    return sorted(lefts)[missing - 1] if missing > 0 else 0.0
