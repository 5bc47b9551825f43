"""Which nodes are ours: what a client remembers of each owner between two questions.

An owner is written down before its node is asked for, so that an answer that never comes, or
that nobody waits for any more, leaves a mark: whoever asks again, or withdraws, then looks for
the node by its name before anything else.
"""

from __future__ import annotations

from dataclasses import dataclass

from .wire import Answer


@dataclass(slots=True, eq=False)
class Node:
    """A node that an owner made, in which session, and what stands before it."""

    path: str
    token: int
    session: int
    #: Whoever stands before it, when it was last looked at.
    before: str | None = None
    #: A create went unanswered, so there may be another one.
    doubted: bool = False
    #: We shall hear what becomes of it.
    watched: bool = False
    #: We take it away ourselves.
    left: bool = False
    #: More of the same owner in the same directory: the leases of a weight.
    beside: tuple[Node, ...] = ()

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def together(self) -> tuple[Node, ...]:
        return (*self.beside, self)


def made(answer: Answer) -> Node | None:
    """The node of a create; None when it is not of the session that asks: see `locks`."""
    path, stat = answer.value
    if stat.ephemeralOwner != answer.session:
        return None
    return Node(path, stat.czxid, answer.session)


class Nodes:
    """The nodes of a client, by owner and folder."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[str, str], Node | None] = {}

    def asked(self, owner: str, folder: str) -> bool:
        """Whether this owner may have a node there."""
        return (owner, folder) in self._nodes

    def get(self, owner: str, folder: str) -> Node | None:
        """The node, if it is known."""
        return self._nodes.get((owner, folder))

    def asking(self, owner: str, folder: str) -> None:
        """A node is about to be asked for."""
        self._nodes[owner, folder] = None

    def note(self, owner: str, folder: str, node: Node) -> None:
        self._nodes[owner, folder] = node

    def forget(self, owner: str, folder: str) -> None:
        self._nodes.pop((owner, folder), None)
