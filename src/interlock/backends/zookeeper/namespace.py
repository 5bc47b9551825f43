"""What all stores of a backend share: where names are kept, the client's nodes, its session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias

from ...model import RESERVED, validity
from .transport.requests import Answer, Create, ZkRequest


@dataclass(slots=True, eq=False)
class Node:
    """A node that an owner made, in which session, and what is before it."""

    path: str
    token: int
    session: int
    #: The node before it, when its directory was last listed.
    before: str | None = None
    #: A create went unanswered, so there may be another node.
    unanswered: bool = False
    #: The transport will tell when it changes.
    watched: bool = False
    #: This client deletes it.
    left: bool = False
    #: The lease of its owner, and from when that counts; 0 while the owner waits.
    lease: float = 0.0
    held: float = 0.0
    #: More nodes of the same owner in the same directory: the other leases of a weight.
    siblings: tuple[Node, ...] = ()

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def share(self) -> tuple[Node, ...]:
        """All leases of its owner."""
        return (*self.siblings, self)


#: The nodes of a client, by owner and directory.  An owner is written down before its node is
#: asked for, with None: a lost answer then leaves a trace, and the owner's next request looks for
#: the node by its name first.
OwnNodes: TypeAlias = dict[tuple[str, str], Node | None]


@dataclass(slots=True, eq=False)
class NodeSpec:
    """A node that an owner wants: in which directory, and how its name begins."""

    name: str
    folder: str
    owner: str
    begin: str
    data: bytes = b""
    #: Requests that go with its create, and those that go before it where its directory is new.
    beside: Sequence[ZkRequest] = ()
    new: Sequence[ZkRequest] = ()
    #: Where it is among the client's nodes.
    key: tuple[str, str] = field(init=False)
    create: Create = field(init=False)

    def __post_init__(self) -> None:
        self.key = self.owner, self.folder
        self.create = Create(f"{self.folder}/{self.begin}", self.data)


class QueuePlace(NamedTuple):
    """A node of this client, and the children of its directory, listed after it was made."""

    node: Node
    children: Sequence[str]
    #: Whether the node ahead, as it was last known, is watched since before the list.
    watched: bool = False
    #: The answers to `NodeSpec.beside`; none when the node was there already.
    beside: Sequence[Answer] = ()
    #: When the list was asked for.
    asked: float = 0.0


class SessionInfo(Protocol):
    """What is known of the session."""

    session_timeout: float

    def alive_since(self, asked: float) -> float:
        """When the leader last heard of the session for sure; not later than `asked`."""
        ...


class Namespace(NamedTuple):
    """The chroot, the client's nodes below it, and the session that they live in."""

    label: str
    root: str
    nodes: OwnNodes
    session: SessionInfo

    @property
    def clients(self) -> str:
        """The directory where clients describe themselves."""
        return f"{self.root}/{RESERVED}clients"

    @property
    def revoked(self) -> str:
        """The directory where a revoked owner finds the reason."""
        return f"{self.root}/{RESERVED}revoked"

    def effective_lease(self, lease: float) -> float:
        """The servers promise no more than the length of a session."""
        return min(lease, self.session.session_timeout)

    def valid_until(self, asked: float, lease: float) -> float:
        """A lease counts from its question; the session, on which it rests, from when the leader
        has heard of it for sure."""
        session = self.session
        alive = validity(session.alive_since(asked), session.session_timeout)
        return min(validity(asked, lease), alive)
