"""What a ZooKeeper server can be asked: plain data, as everything that steps yield.

`kazoo_private.as_kazoo` makes kazoo's own requests of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

#: How a node is made; one that is persistent stays when its session ends.
PERSISTENT, EPHEMERAL, SEQUENTIAL, CONTAINER = 0, 1, 2, 4

#: "Whatever the version is."
ANY = -1


class Create(NamedTuple):
    """Make a node; answered with its path and its stat."""

    path: str
    data: bytes = b""
    flags: int = EPHEMERAL | SEQUENTIAL


class Container(NamedTuple):
    """Make a node that the server takes away some time after its last child has gone."""

    path: str
    data: bytes = b""


class Delete(NamedTuple):
    """Take a node away; unless the answer is awaited, it is sent until there is one."""

    path: str
    version: int = ANY
    awaited: bool = True


class Put(NamedTuple):
    """Write what a node holds."""

    path: str
    data: bytes
    version: int = ANY


class Children(NamedTuple):
    """List a directory; a change of the list wakes the listeners of `topic`."""

    path: str
    topic: Any = None


class Get(NamedTuple):
    """Read a node and its stat; a change of it wakes the listeners of `topic`."""

    path: str
    topic: Any = None


class Exists(NamedTuple):
    """The stat of a node, MISSING without one; any change of it wakes the listeners of `topic`."""

    path: str
    topic: Any = None


class Sync(NamedTuple):
    """Be answered by the leader, after everything that it has decided so far."""

    path: str
    #: Otherwise only if the leader has not answered us for a while.
    always: bool = True


ZkRequest: TypeAlias = Create | Container | Delete | Put | Children | Get | Exists | Sync

WRITES = (Create, Container, Delete, Put)

#: What the leader answers, and no follower alone.
ANSWERED_BY_LEADER = (*WRITES, Sync)


def awaited(request: ZkRequest) -> bool:
    """Whether its sender waits for the answer."""
    return not isinstance(request, Delete) or request.awaited


class Refusal(Enum):
    """Answers that say no, and are no failures."""

    MISSING = "there is no such node"
    THERE = "there is such a node already"
    PARENT = "the node has children"
    CHANGED = "the node has changed meanwhile"


class Answer(NamedTuple):
    """What the server said, in which session it was said, and when the request was made."""

    value: Any
    session: int
    asked: float = 0.0

    @property
    def children(self) -> Sequence[str]:
        """What is in a directory; nothing where it is missing."""
        return () if self.value is Refusal.MISSING else self.value
