"""What all stores of a backend share: where names are kept, the client's session, and its nodes.

Of each node the client knows what is before it and when its lease counts from; the servers tell
whether it still stands, is wanted back, or has gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias

from ...errors import StoreError
from ...model import RELEASE_REQUESTED, RESERVED, validity
from ...steps import Call, Steps, together
from .layout import REVOKE
from .transport.requests import Answer, Create, Get, Refusal, Sync, ZkRequest

#: How many nodes a renewal begins to watch, at most: the others can wait for the next.
LOOKS = 500


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


# --- keeping ----------------------------------------------------------------------------------


def still_held(
    holds: Sequence[Node | None], until: float
) -> Steps[Sequence[bool | str | StoreError]]:
    """Whether some holds stand, see `spi.LockStore.renew`; an owner that has lost one lease of
    several has lost them all.  One round trip, or two when a node changes meanwhile.

    One request to the leader for all of them, whose answer proves the session; and one for each
    node that is not watched yet, so that its next change is told.
    """
    nodes = [node for hold in holds for node in _share(hold)]
    watched = [node for node in nodes if node is not None and node.watched]
    answers = dict(zip(nodes, (yield from _looked_at(nodes, until)), strict=True))
    changed = [node for node in watched if not node.watched]
    if changed and not isinstance(answers[nodes[0]], StoreError):
        answers.update(zip(changed, (yield from _looked_at(changed, until)), strict=True))
    return [_worst([answers[node] for node in _share(hold)]) for hold in holds]


def _share(hold: Node | None) -> tuple[Node | None, ...]:
    return (None,) if hold is None else hold.share


def _worst(answers: Sequence[bool | str | StoreError]) -> bool | str | StoreError:
    """What becomes of a hold by what became of its leases."""
    if False in answers:
        return False
    failed = [each for each in answers if isinstance(each, StoreError)]
    return failed[0] if failed else RELEASE_REQUESTED if RELEASE_REQUESTED in answers else True


def _looked_at(
    nodes: Sequence[Node | None], until: float
) -> Steps[Sequence[bool | str | StoreError]]:
    new = [node for node in nodes if node is not None and not node.watched][:LOOKS]
    requests: list[ZkRequest] = [Sync("/"), *(Get(node.path, node) for node in new)]
    seen: dict[Node, Any] = {}
    for node in new:
        node.watched = True  # a change that is told before the answer has been read counts too
    try:
        synced, *looks = yield from together([Call(each, (), (), until) for each in requests])
        seen = {} if isinstance(synced, StoreError) else dict(zip(new, looks, strict=True))
    finally:
        for node in new:
            if not isinstance(seen.get(node), Answer):
                node.watched = False
    return judged(nodes, synced, seen)


def judged(
    nodes: Sequence[Node | None], synced: Any, seen: Mapping[Node, Any]
) -> list[bool | str | StoreError]:
    """What became of each hold, by the leader's answer and a look at some of the nodes."""
    if isinstance(synced, StoreError):
        return [synced] * len(nodes)
    for node in nodes:
        if node is not None and node.held:
            node.held = max(node.held, synced.asked)
    return [
        False if node is None else _stands(node, synced.session, seen.get(node)) for node in nodes
    ]


def _stands(node: Node, session: int, look: Any) -> bool | str | StoreError:
    if node.session != session:
        return False
    if look is None:
        return True
    if isinstance(look, StoreError):
        return look
    if look.value is Refusal.MISSING:
        return False
    return RELEASE_REQUESTED if look.value[0] == REVOKE else True
