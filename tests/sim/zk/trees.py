"""A tree of nodes, and the transactions that change it.  Pure: no sessions, no servers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from interlock.backends.zookeeper.transport.requests import (
    ANY,
    EPHEMERAL,
    SEQUENTIAL,
    Container,
    Create,
    Delete,
    Put,
    Refusal,
)

Write: TypeAlias = Create | Container | Delete | Put


class Stat(NamedTuple):
    """What a server tells of a node; the names are ZooKeeper's."""

    czxid: int
    ctime: int
    version: int
    ephemeralOwner: int
    cversion: int
    dataLength: int


@dataclass(slots=True)
class Znode:
    """A node.  `born` counts the children that were ever made in it."""

    data: bytes
    czxid: int
    owner: int = 0
    container: bool = False
    version: int = 0
    born: int = 0
    children: set[str] = field(default_factory=set)

    @property
    def stat(self) -> Stat:
        return Stat(self.czxid, 0, self.version, self.owner, self.born, len(self.data))


class Made(NamedTuple):
    path: str
    data: bytes
    owner: int
    container: bool


class Gone(NamedTuple):
    """Nodes were taken away: one, or all of a session."""

    paths: tuple[str, ...]


class Written(NamedTuple):
    path: str
    data: bytes


Transaction: TypeAlias = Made | Gone | Written


class Event(NamedTuple):
    """Something became of a node: of itself, or of its list of children."""

    path: str
    listed: bool


def parent_of(path: str) -> str:
    return path.rpartition("/")[0] or "/"


def name_of(path: str) -> str:
    return path.rpartition("/")[2]


class Tree:
    """What a server knows after so many transactions."""

    def __init__(self) -> None:
        self.nodes = {"/": Znode(b"", 0)}
        self.zxid = 0

    # --- what the leader decides -----------------------------------------------------------

    def decided(self, ask: Write, session: int) -> Transaction | Refusal:
        """The transaction that a question leads to, or why there is none."""
        if isinstance(ask, (Create, Container)):
            return self._making(ask, session)
        node = self.nodes.get(ask.path)
        if node is None:
            return Refusal.MISSING
        if ask.version not in (ANY, node.version):
            return Refusal.CHANGED
        if isinstance(ask, Put):
            return Written(ask.path, ask.data)
        return Refusal.PARENT if node.children else Gone((ask.path,))

    def _making(self, ask: Create | Container, session: int) -> Made | Refusal:
        above = self.nodes.get(parent_of(ask.path))
        if above is None:
            return Refusal.MISSING
        flags = 0 if isinstance(ask, Container) else ask.flags
        path = f"{ask.path}{above.born:010d}" if flags & SEQUENTIAL else ask.path
        if path in self.nodes:
            return Refusal.THERE
        owner = session if flags & EPHEMERAL else 0
        return Made(path, ask.data, owner, isinstance(ask, Container))

    # --- what every server does ------------------------------------------------------------

    def apply(self, transaction: Transaction) -> list[Event]:
        """Change the tree; answers what watches would tell."""
        self.zxid += 1
        if isinstance(transaction, Made):
            return self._make(transaction)
        if isinstance(transaction, Written):
            node = self.nodes[transaction.path]
            node.data, node.version = transaction.data, node.version + 1
            return [Event(transaction.path, listed=False)]
        return [event for path in transaction.paths for event in self._remove(path)]

    def _make(self, made: Made) -> list[Event]:
        above = self.nodes[parent_of(made.path)]
        above.born += 1
        above.children.add(name_of(made.path))
        self.nodes[made.path] = Znode(made.data, self.zxid, made.owner, made.container)
        return [Event(made.path, listed=False), Event(parent_of(made.path), listed=True)]

    def _remove(self, path: str) -> list[Event]:
        if self.nodes.pop(path, None) is None:
            return []
        self.nodes[parent_of(path)].children.discard(name_of(path))
        return [Event(path, False), Event(path, True), Event(parent_of(path), True)]

    # --- looking ---------------------------------------------------------------------------

    def owned_by(self, session: int) -> tuple[str, ...]:
        return tuple(path for path, node in self.nodes.items() if node.owner == session)

    def forsaken(self) -> list[str]:
        """The containers that a server may take away."""
        return [
            path
            for path, node in self.nodes.items()
            if node.container and node.born and not node.children
        ]

    def children(self, path: str) -> set[str]:
        node = self.nodes.get(path)
        return set() if node is None else node.children
