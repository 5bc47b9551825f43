"""Locks that one owner at a time has: Curator's InterProcessMutex."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import partial
from typing import Any

from ...errors import StoreError
from ...model import FOREVER, KIND_CODES, Busy, LockInfo
from ...steps import Steps
from .directory import first_end, holders_of
from .kinds import check_kind, node_ahead, only_queued, without_directories
from .layout import ALONE, Order, is_node, lease_note, owner_of, path_of, prefix_of, ranked
from .namespace import Namespace, Node, NodeSpec, QueuePlace, still_held
from .queue_nodes import ask, leave, line_up, reason_of_loss, write_reason
from .transport.requests import Children, Refusal


class ZkLocks:
    """Nodes in one directory, the first of which has the lock: see `spi.LockStore`.

    A free lock costs one round trip and two requests, a release one of each; to wait takes one
    round trip more, and each wake one.
    """

    kind, reentrant, shared = "lock", True, False
    own_places = takes_turns = False
    #: A node stays as long as its session, whatever the lease: the keeper must remove it.
    leases_expire = False
    #: Whether a refused owner keeps its place.
    stays = False

    def __init__(self, namespace: Namespace, order: Order = ALONE, code: str = "lock") -> None:
        self.label, self.kind_code = namespace.label, KIND_CODES[code]
        self.effective_lease, self.valid_until = namespace.effective_lease, namespace.valid_until
        self._namespace, self._nodes, self._order = namespace, namespace.nodes, order
        self._patient = copy(self)
        self._patient.stays = True

    def for_wait(self, timeout: float) -> ZkLocks:
        return self._patient if timeout > 0 else self

    def _spec(self, name: str, owner: str, lease: float = FOREVER) -> NodeSpec:
        namespace = self._namespace
        data = lease_note(lease, namespace.session.session_timeout)
        folder = path_of(name, namespace.root)
        return NodeSpec(name, folder, owner, prefix_of(owner) + self._order.mark, data)

    def _held(self, name: str, owner: str) -> Node | None:
        return self._nodes.get((owner, path_of(name, self._namespace.root)))

    # --- asking -------------------------------------------------------------------------

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        spec, topic = self._spec(name, owner, lease), (name, owner) if waits else None
        ahead = partial(self._ahead, spec, until=until)
        try:
            place, before = yield from line_up(
                self._namespace, spec, self.kind, until, topic, ahead
            )
            if before is not None:
                return (yield from self._refused(spec, place, waits, until))
        except StoreError as failure:
            # The request that failed was perhaps not executed, but those before it were.
            failure.partial |= self._nodes.get(spec.key) is not None
            raise
        place.node.lease, place.node.held = lease, place.asked
        return place.node.token

    def _ahead(
        self, spec: NodeSpec, place: QueuePlace, until: float
    ) -> Steps[tuple[QueuePlace, str | None]]:
        """The node ahead; raises where the name is in use as something else."""
        if [f"{spec.folder}/{each}" for each in place.children] == [place.node.path]:
            return place, None  # alone in the directory
        place = yield from only_queued(spec, place, self._order.cuts, until)
        yield from check_kind(self._namespace, spec.name, place.children, self.kind, until)
        return place, node_ahead(self._order, spec, place, self.label)

    def _refused(
        self, spec: NodeSpec, place: QueuePlace, waits: bool, until: float
    ) -> Steps[Busy]:
        holder = owner_of(ranked(place.children, self._order.cuts)[0])
        placed = waits or self.stays
        if not placed:
            yield from leave(self._nodes, spec, until)
        return Busy(holder, None, placed=placed)

    # --- giving back --------------------------------------------------------------------

    def release(self, name: str, owner: str, until: float) -> Steps[bool]:
        return leave(self._nodes, self._spec(name, owner), until)

    def withdraw(self, name: str, owner: str, until: float, reason: str = "") -> Steps[bool]:
        if reason:
            yield from write_reason(self._namespace, name, owner, reason, until)
        return (yield from leave(self._nodes, self._spec(name, owner), until))

    def withdrawal_reason(self, name: str, owner: str, until: float) -> Steps[str]:
        return reason_of_loss(self._namespace, name, owner, self._held(name, owner), until)

    # --- keeping ------------------------------------------------------------------------

    def renew(
        self, holds: Sequence[tuple[str, str]], lease: float, until: float
    ) -> Steps[Sequence[bool | str | StoreError]]:
        return still_held([self._held(name, owner) for name, owner in holds], until)

    # --- looking ------------------------------------------------------------------------

    def look(self, name: str, until: float) -> Steps[LockInfo | None]:
        """Three round trips."""
        path = path_of(name, self._namespace.root)
        (listed,) = yield from ask(name, [Children(path)], until)
        if listed.value is Refusal.MISSING:
            return None
        yield from check_kind(self._namespace, name, listed.value, self.kind, until)
        nodes = [each for each in listed.value if is_node(each)]
        queued = yield from without_directories(name, path, nodes, until)
        held, mode, waiters = self._order.front(queued)
        if not held:
            return None
        holders = yield from holders_of(self._namespace, name, path, held, mode, until)
        return LockInfo(name, self.kind, tuple(holders), first_end(holders), waiters)

    def topics(self, name: str, owner: str, busy: Busy) -> tuple[Any, ...]:
        return ((name, owner),)


class ZkFairLocks(ZkLocks):
    """The same nodes under the same names, and each waiter has one of its own."""

    own_places = True
