"""Locks that several may read and one may write: Curator's InterProcessReadWriteLock.

Readers and writers stand in one directory and are counted in one sequence.  A writer waits for
everybody before it, a reader for the writers before it alone; so readers never overtake a
writer that waits.

A writer that reads on keeps its place: its new node bears the number of the old one, and is
there before the old one goes.  Those behind it count from the same number as before.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from ...errors import StoreError
from ...model import LockInfo
from ...steps import Call, Steps, together
from . import names, queue, tombs
from .folder import Spot, ask, find, leave
from .ground import Ground
from .locks import ZkLocks
from .nodes import Node
from .sight import Front, looked
from .wire import EPHEMERAL, Children, Create, Delete, No


class ZkRw(ZkLocks):
    """One mode of a read/write lock: see `stores.RwStore`."""

    kind, cuts = "rwlock", queue.RW

    def __init__(self, mode: str, ground: Ground) -> None:
        self.shared = mode == "read"
        self.node = names.READ if self.shared else names.WRITE
        super().__init__(ground, mode)

    def _nearest(self, children: Sequence[str], mine: str) -> str | None:
        nearest = queue.before_reader if self.shared else queue.before_writer
        return nearest(children, mine)

    def look(self, name: str, until: float) -> Steps[LockInfo | None]:
        return looked(self.ground, self.kind, name, until, front)

    # --- reading on ---------------------------------------------------------------------

    def downgrade(self, name: str, owner: str, lease: float, until: float) -> Steps[bool]:
        """One round trip.  Safe to repeat: what was done already says so."""
        spot, node = self._spot(name, owner), self._held(name, owner)
        if node is not None and (yield from self._read_on(spot, node, until)):
            return True
        # Should the answer be lost now, the next question must not find what is left to be ours.
        self._nodes.asking(owner, spot.folder)
        yield from leave(self._nodes, spot, until)
        return False

    def _read_on(self, spot: Spot, node: Node, until: float) -> Steps[bool]:
        """Make the reader's node, then remove the writer's; False when we had lost it before."""
        reader, writer = _twins(node, spot.owner)
        before = node.doubted
        node.doubted = True  # until the answers are here, either of the two may be ours, or both
        asks = (Create(reader, flags=EPHEMERAL), Delete(writer))
        created, deleted = yield from ask(spot.name, asks, until)
        if created.session != node.session:
            return False
        if deleted.value is No.MISSING and not (
            created.value is No.THERE and (yield from self._spared(spot, until))
        ):
            return False
        reading = Node(reader, node.token, node.session, doubted=before)
        self._nodes.note(spot.owner, spot.folder, reading)
        return True

    def _spared(self, spot: Spot, until: float) -> Steps[bool]:
        """Whether it was we who removed the writer's node, in a question that was not answered."""
        reason, _ = yield from tombs.read(self.ground, spot.name, spot.owner, until)
        return not reason

    # --- keeping ------------------------------------------------------------------------

    def renew(
        self, holds: Sequence[tuple[str, str]], lease: float, until: float
    ) -> Steps[Sequence[bool | str | StoreError]]:
        """As every lock's, but a writer that has gone may read on."""
        asked = [self._held(*hold) for hold in holds]
        answers = yield from super().renew(holds, lease, until)
        doubtful = [
            hold
            for hold, node, answer in zip(holds, asked, answers, strict=True)
            if answer is False and self._may_read_on(hold, node)
        ]
        if not doubtful:
            return answers
        found = dict(zip(doubtful, (yield from self._found(doubtful, until)), strict=True))
        return [found.get(hold, answer) for hold, answer in zip(holds, answers, strict=True)]

    def _may_read_on(self, hold: tuple[str, str], asked: Node | None) -> bool:
        node = self._held(*hold)
        return node is not None and (node.doubted or node is not asked)

    def _found(
        self, holds: Sequence[tuple[str, str]], until: float
    ) -> Steps[list[bool | StoreError]]:
        """Whether these have any node left.  One round trip."""
        spots = [self._spot(*hold) for hold in holds]
        lists = [Call(Children(spot.folder), (), (), until) for spot in spots]
        replies = yield from together(lists)
        return [self._left(spot, reply) for spot, reply in zip(spots, replies, strict=True)]

    def _left(self, spot: Spot, reply: Any) -> bool | StoreError:
        if isinstance(reply, StoreError):
            return reply
        node = self._nodes.get(spot.owner, spot.folder)
        ours = node is not None and node.session == reply.session
        return ours and bool(find(reply.value, spot))


def _twins(node: Node, owner: str) -> tuple[str, str]:
    """The paths of an owner's nodes, when it reads and when it writes, in one and the same place.
    Pure."""
    number, begin = _number(node.name), f"{node.folder}/{names.prefix_of(owner)}"
    return f"{begin}{names.READ}{number}", f"{begin}{names.WRITE}{number}"


def front(children: Sequence[str]) -> Front:
    """All readers before the first writer have it; without any, the writer.  Pure.

    A reader with the number of a writer is that writer itself: in Java it may be both.
    """
    nodes = [each for each in queue.ranked(children, queue.RW) if names.is_node(each)]
    writing = {_number(each) for each in nodes if not _reads(each)}
    nodes = [each for each in nodes if not _reads(each) or _number(each) not in writing]
    readers = [*takewhile(_reads, nodes)]
    holders = readers or nodes[:1]
    return Front(holders, "read" if readers else "write", len(nodes) - len(holders))


def _reads(node: str) -> bool:
    return names.READ in node


def _number(node: str) -> str:
    return names.key(node, *queue.RW)
