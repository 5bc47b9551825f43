"""Barriers: Curator's DistributedDoubleBarrier.  Parties enter together, and leave together.

A party has a node in the directory of the barrier, named by its UUID alone.  The one that finds
all of them there makes the node `ready`, which lets the others in; while it is there, parties that
come wait for the next time, and make no node.  (Java's do not wait: they are let in as well.)

To leave in Curator's manner: the party whose name is the lowest keeps its node until it is alone,
and waits for the highest; the others delete theirs and wait for the lowest.  The last one deletes
`ready`.  By the transaction that made `ready` a party knows the time that it belongs to from the
next one; and where those inside have died, the next one to come deletes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

from ...errors import StoreError
from ...model import FOREVER, Busy, LockInfo
from ...steps import Steps
from .directory import first_end, parties_at
from .kinds import check_kind, only_parties
from .layout import READY, is_party, party_note, party_owner, uuid_of
from .locks import ZkLocks
from .namespace import Namespace, Node, NodeSpec
from .queue_nodes import SCANS, VANISHED, ask, check_revoked, parents, vanishing, write_reason
from .transport.requests import (
    EPHEMERAL,
    PERSISTENT,
    Answer,
    Children,
    Create,
    Delete,
    Exists,
    Refusal,
    Sync,
    ZkRequest,
)

#: How a barrier answers a party that is not inside any more, and one that was let go.
GONE, LEFT = 0, 1


class Hall(NamedTuple):
    """What is seen of a barrier at one time."""

    #: Which transaction made `ready`; 0 while the parties gather.
    opened: int
    #: The nodes of the parties, in the order of their names.
    parties: Sequence[str]
    #: In which session it was seen, and when that was asked for.
    session: int
    asked: float
    #: What else is in the directory, and whether there is one.
    others: Sequence[str] = ()
    exists: bool = True


class ZkBarriers(ZkLocks):
    """See `spi.BarrierStore`.  To enter is two round trips, for the last party three; to leave is
    two.  Where Java's parties are there, each question takes one more."""

    kind, reentrant, own_places = "barrier", False, True
    _leaves = False

    def __init__(self, parties: int | None, namespace: Namespace) -> None:
        super().__init__(namespace, code="barrier")
        self.parties = parties
        #: Of each party that is inside: which transaction made `ready`.
        self._opened: dict[tuple[str, str], int] = {}
        self._patient = copy(self)
        self._patient.stays = True
        self.leaving = copy(self)
        self.leaving._leaves, self.leaving._patient = True, self.leaving

    def _spec(self, name: str, owner: str, lease: float = FOREVER) -> NodeSpec:
        spec = super()._spec(name, owner, lease)
        data = party_note(spec.data, self.parties)
        spec.create = Create(f"{spec.folder}/{uuid_of(owner)}", data, EPHEMERAL)
        return spec

    # --- looking ------------------------------------------------------------------------

    def _seen(
        self, spec: NodeSpec, until: float, topic: Any = None, before: Sequence[ZkRequest] = ()
    ) -> Steps[tuple[Hall, list[Answer]]]:
        """What is seen behind some other requests, and their answers.  One round trip."""
        ready = Exists(f"{spec.folder}/{READY}", topic)
        burst = [*before, ready, Children(spec.folder)]
        *answers, made, listed = yield from ask(spec.name, burst, until)
        found = [each for each in listed.children if is_party(each)]
        parties = yield from only_parties(spec.name, spec.folder, found, until)
        opened = 0 if made.value is Refusal.MISSING else made.value.czxid
        exists = listed.value is not Refusal.MISSING
        others = [each for each in listed.children if each not in (READY, *parties)]
        hall = Hall(opened, sorted(parties), listed.session, listed.asked, others, exists)
        return hall, answers

    def _check(self, name: str, hall: Hall, until: float) -> Steps[None]:
        """Raise where the name is in use as something else.  Mostly no round trip."""
        if hall.others:
            yield from check_kind(self._namespace, name, hall.others, self.kind, until)

    # --- entering -----------------------------------------------------------------------

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        spec, topic = self._spec(name, owner, lease), (name, owner) if waits else None
        try:
            if self._leaves:
                answer = yield from self._depart(spec, topic, until)
            else:
                answer = yield from self._enter(spec, topic, until)
        except StoreError as failure:
            # The request that failed was perhaps not executed, but those before it were.
            failure.partial |= self._nodes.get(spec.key) is not None
            raise
        if self._leaves:
            return answer
        if isinstance(answer, Busy) and not (waits or self.stays):
            yield from self._go(spec, until)
        node = self._nodes.get(spec.key)
        if node is not None:
            node.lease = lease
        return answer

    def _enter(self, spec: NodeSpec, topic: Any, until: float) -> Steps[int | Busy]:
        node, hall = yield from self._found(spec, topic, until)
        if node is None and hall.opened:
            if hall.parties:  # they belong to the time before
                return Busy(party_owner(hall.parties[0]), None)
            yield from ask(spec.name, [Delete(f"{spec.folder}/{READY}")], until)
        if node is None:
            node, hall = yield from self._come(spec, hall, topic, until)
        if not hall.opened and len(hall.parties) >= (self.parties or 0):
            hall = hall._replace(opened=(yield from self._open(spec, until)))
        if hall.opened > node.token:
            self._opened[spec.key], node.held = hall.opened, hall.asked
            return node.token
        if hall.opened:  # it has come too late, and must not keep the others from leaving
            yield from self._go(spec, until)
        return Busy(party_owner(hall.parties[0]) if hall.opened else None, None, placed=True)

    def _found(self, spec: NodeSpec, topic: Any, until: float) -> Steps[tuple[Node | None, Hall]]:
        """The node that a party has already, if it still stands."""
        node = self._nodes.get(spec.key)
        synced = [Sync(spec.folder, always=False)] if node is not None else []
        hall, _ = yield from self._seen(spec, until, topic, synced)
        yield from self._check(spec.name, hall, until)
        if node is None:
            return None, hall
        if node.session == hall.session and node.name in hall.parties:
            return node, hall
        yield from check_revoked(self._namespace, spec, self.kind, until)
        return None, hall

    def _come(
        self, spec: NodeSpec, hall: Hall, topic: Any, until: float
    ) -> Steps[tuple[Node, Hall]]:
        """Make the node of a party.  One round trip; two where one may be there already."""
        above = [] if hall.exists else parents(spec.folder)
        for _ in range(VANISHED):
            self._nodes[spec.key] = None
            requests = [*above, spec.create, Exists(spec.create.path)]
            hall, answers = yield from self._seen(spec, until, topic, requests)
            *_, made, stood = answers
            above = parents(spec.folder)
            if stood.value is Refusal.MISSING:
                continue
            if stood.value.ephemeralOwner == stood.session == hall.session:
                unanswered = made.value is Refusal.THERE
                node = Node(spec.create.path, stood.value.czxid, hall.session)
                node.unanswered, self._nodes[spec.key] = unanswered, node
                return node, hall
            yield from ask(spec.name, [Delete(spec.create.path)], until)  # of a dying session
        raise vanishing(spec.name, spec.folder, self.label)

    def _open(self, spec: NodeSpec, until: float) -> Steps[int]:
        """Let all in; answers which transaction did.  One round trip."""
        ready = f"{spec.folder}/{READY}"
        requests = (Create(ready, flags=PERSISTENT), Exists(ready))
        _, made = yield from ask(spec.name, requests, until)
        return 0 if made.value is Refusal.MISSING else int(made.value.czxid)

    # --- leaving ------------------------------------------------------------------------

    def _depart(self, spec: NodeSpec, topic: Any, until: float) -> Steps[int | Busy]:
        node, mine = self._nodes.get(spec.key), uuid_of(spec.owner)
        for _ in range(SCANS):
            hall, _ = yield from self._seen(spec, until)
            there = mine in hall.parties
            if node is None or (not there and not node.left) or node.session != hall.session:
                self._forget(spec)
                return GONE
            if hall.opened != self._opened.get(spec.key):  # the others have gone
                yield from self._go(spec, until)
                return LEFT
            if set(hall.parties) <= {mine}:
                ready = f"{spec.folder}/{READY}"
                yield from ask(spec.name, [Delete(spec.create.path), Delete(ready)], until)
                self._forget(spec)
                return LEFT
            if (yield from self._waits(spec, hall, node, topic, until)):
                others = [each for each in hall.parties if each != mine]
                return Busy(party_owner(others[0]), None, placed=True)
        return Busy(None, 0.05, placed=True)  # it goes on changing: ask again soon

    def _waits(
        self, spec: NodeSpec, hall: Hall, node: Node, topic: Any, until: float
    ) -> Steps[bool]:
        """Wait for another party as Curator does; False when that has gone meanwhile."""
        lowest, highest = hall.parties[0], hall.parties[-1]
        is_lowest = lowest == node.name
        requests: list[ZkRequest] = [
            Exists(f"{spec.folder}/{highest if is_lowest else lowest}", topic)
        ]
        if not is_lowest and node.name in hall.parties:
            node.left = True
            requests.append(Delete(node.path))
        seen, *_ = yield from ask(spec.name, requests, until)
        return seen.value is not Refusal.MISSING

    def _go(self, spec: NodeSpec, until: float) -> Steps[bool]:
        """Delete a party's node, and `ready` behind the last one; False when there was none.

        One round trip; two for the last party, and where Java's are there.
        """
        hall, (deleted,) = yield from self._seen(spec, until, before=[Delete(spec.create.path)])
        if hall.opened and not hall.parties:
            yield from ask(spec.name, [Delete(f"{spec.folder}/{READY}")], until)
        self._forget(spec)
        return deleted.value is not Refusal.MISSING

    def _forget(self, spec: NodeSpec) -> None:
        self._nodes.pop(spec.key, None)
        self._opened.pop(spec.key, None)

    def release(self, name: str, owner: str, until: float) -> Steps[bool]:
        return self._go(self._spec(name, owner), until)

    def withdraw(self, name: str, owner: str, until: float, reason: str = "") -> Steps[bool]:
        if reason:
            yield from write_reason(self._namespace, name, owner, reason, until)
        return (yield from self._go(self._spec(name, owner), until))

    # --- for onlookers ------------------------------------------------------------------

    def look(self, name: str, until: float) -> Steps[LockInfo | None]:
        """Three round trips."""
        spec = self._spec(name, "")
        hall, _ = yield from self._seen(spec, until)
        yield from self._check(name, hall, until)
        if not hall.parties:
            return None
        holders, parties = yield from parties_at(
            self._namespace, name, spec.folder, hall.parties, hall.opened, until
        )
        if not holders:
            return None
        end = first_end(holders)
        return LockInfo(name, self.kind, tuple(holders), end, parties=self.parties or parties)
