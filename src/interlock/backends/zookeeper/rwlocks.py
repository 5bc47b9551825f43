"""Locks that several may read and one may write: Curator's InterProcessReadWriteLock.

Readers and writers queue in one directory and are counted in one sequence.  A writer waits for
every node before it, a reader for the writers before it alone; so readers never overtake a
writer that waits.

A writer that reads on keeps its place: its new node bears the number of the old one, and is
there before the old one goes.  Those behind it count from the same number as before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import StoreError
from ...steps import Call, Steps, together
from .layout import READ, READERS, RW_CUTS, WRITE, WRITERS, path_of, prefix_of, sort_key
from .locks import ZkLocks
from .namespace import Namespace, Node, NodeSpec
from .queue_nodes import ask, find, leave, read_reason
from .transport.requests import EPHEMERAL, Children, Create, Delete, Refusal


class ZkRwLocks(ZkLocks):
    """One mode of a read/write lock: see `spi.RwStore`."""

    kind = "rwlock"

    def __init__(self, mode: str, namespace: Namespace) -> None:
        self.shared = mode == "read"
        super().__init__(namespace, READERS if self.shared else WRITERS, mode)

    # --- reading on ---------------------------------------------------------------------

    def downgrade(self, name: str, owner: str, lease: float, until: float) -> Steps[bool]:
        """One round trip.  Safe to repeat: a downgrade that was done already says so."""
        spec = self._spec(name, owner, lease)
        node = self._nodes.get(spec.key)
        if node is not None and (yield from self._read_on(spec, node, until)):
            return True
        # If this answer is lost as well, the next request must not take what is left for a hold.
        self._nodes[spec.key] = None
        yield from leave(self._nodes, spec, until)
        return False

    def _read_on(self, spec: NodeSpec, node: Node, until: float) -> Steps[bool]:
        """Make the reader's node, then delete the writer's; False when that was lost before."""
        reader, writer = _twins(node, spec.owner)
        before = node.unanswered
        node.unanswered = True  # until the answers are here, there may be either node, or both
        requests = (Create(reader, spec.data, EPHEMERAL), Delete(writer))
        created, deleted = yield from ask(spec.name, requests, until)
        if created.session != node.session:
            return False
        if deleted.value is Refusal.MISSING and not (
            created.value is Refusal.THERE and (yield from self._not_revoked(spec, until))
        ):
            return False
        reading = Node(reader, node.token, node.session, unanswered=before)
        reading.lease, reading.held = node.lease, node.held
        self._nodes[spec.key] = reading
        return True

    def _not_revoked(self, spec: NodeSpec, until: float) -> Steps[bool]:
        """Whether this client deleted the writer's node, in a request that was not answered."""
        reason, _ = yield from read_reason(self._namespace, spec.name, spec.owner, until)
        return not reason

    # --- keeping ------------------------------------------------------------------------

    def renew(
        self, holds: Sequence[tuple[str, str]], lease: float, until: float
    ) -> Steps[Sequence[bool | str | StoreError]]:
        """As every lock's, but a writer whose node has gone may read on."""
        asked = [self._held(*hold) for hold in holds]
        answers = yield from super().renew(holds, lease, until)
        unclear = [
            hold
            for hold, node, answer in zip(holds, asked, answers, strict=True)
            if answer is False and self._may_read_on(hold, node)
        ]
        if not unclear:
            return answers
        found = dict(zip(unclear, (yield from self._found(unclear, until)), strict=True))
        return [found.get(hold, answer) for hold, answer in zip(holds, answers, strict=True)]

    def _may_read_on(self, hold: tuple[str, str], asked: Node | None) -> bool:
        node = self._held(*hold)
        return node is not None and (node.unanswered or node is not asked)

    def _found(
        self, holds: Sequence[tuple[str, str]], until: float
    ) -> Steps[list[bool | StoreError]]:
        """Whether these have any node left.  One round trip."""
        folders = [path_of(name, self._namespace.root) for name, _ in holds]
        replies = yield from together([Call(Children(each), (), (), until) for each in folders])
        return [self._has_node(*hold, reply) for hold, reply in zip(holds, replies, strict=True)]

    def _has_node(self, name: str, owner: str, reply: Any) -> bool | StoreError:
        if isinstance(reply, StoreError):
            return reply
        node = self._held(name, owner)
        ours = node is not None and node.session == reply.session
        return ours and bool(find(reply, owner))


def _twins(node: Node, owner: str) -> tuple[str, str]:
    """The paths of an owner's nodes, when it reads and when it writes, in one and the same place.
    Pure."""
    number, begin = sort_key(node.name, *RW_CUTS), f"{node.folder}/{prefix_of(owner)}"
    return f"{begin}{READ}{number}", f"{begin}{WRITE}{number}"
