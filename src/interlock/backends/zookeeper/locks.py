"""Locks that one owner at a time has: Curator's InterProcessMutex."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

from ...errors import StoreError
from ...model import ASKED, MARKS, Busy, LockInfo, validity
from ...steps import Call, Steps, together
from . import names, queue, tombs
from .folder import Spot, Standing, leave, look_again, stand, watch
from .ground import Ground
from .kinds import check
from .nodes import Node
from .sight import looked
from .wire import Answer, Ask, Get, No, Sync

#: What another client writes into a node to ask its holder for it: Curator's word.
REVOKE = b"__REVOKE__"

#: How often the one before us may have gone when we begin to watch it.
SCANS = 8

#: How many nodes a renewal begins to watch, at most: the others can wait for the next.
LOOKS = 500

SESSION = "its session with the servers has ended"


class ZkLocks:
    """Nodes in one directory, the first of which has the lock: see `stores.LockStore`.

    A free lock costs one round trip and two requests, a release one of each; to wait takes one
    round trip more, and each wake one.
    """

    kind, reentrant, shared, trips = "lock", True, False, 1
    #: A node stays as long as its session, whatever the lease: the keeper must remove it.
    mortal = False
    #: Whether a refused owner keeps its place.
    stays = False
    #: How the names of its nodes go on after the UUID; and where they are cut to be sorted.
    node = names.LOCK
    cuts: Sequence[str] = queue.MUTEX

    def __init__(self, ground: Ground, mark: str = "") -> None:
        self.ground, self.label, self.mark = ground, ground.label, MARKS[mark or self.kind]
        self._nodes = ground.nodes
        self._patient = copy(self)
        self._patient.stays = True

    def waiting(self, timeout: float) -> ZkLocks:
        return self._patient if timeout > 0 else self

    def trusted(self, lease: float) -> float:
        """The servers promise no more than the length of a session."""
        return min(lease, self.ground.vital.session_timeout)

    def good_until(self, asked: float, lease: float) -> float:
        """A lease counts from its question; the session, of which it is a part, from when the
        leader has heard of it for sure."""
        vital = self.ground.vital
        session = validity(vital.since(asked), vital.session_timeout)
        return min(validity(asked, lease), session)

    def _spot(self, name: str, owner: str) -> Spot:
        return Spot(name, self.ground.path_of(name), owner, self.node)

    # --- asking -------------------------------------------------------------------------

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        try:
            return (yield from self._attempt(name, owner, waits, until))
        except StoreError as failure:
            # What failed was perhaps not executed, but what came before it was.
            failure.partial |= self._known(name, owner)
            raise

    def _known(self, name: str, owner: str) -> bool:
        """Whether an owner has a node."""
        return self._held(name, owner) is not None

    def _attempt(self, name: str, owner: str, waits: bool, until: float) -> Steps[int | Busy]:
        spot, topic = self._spot(name, owner), (name, owner) if waits else None
        standing, before = yield from self._line_up(spot, until, topic)
        if before is None:
            return standing.node.token
        return (yield from self._refused(spot, standing, waits, until))

    def _line_up(self, spot: Spot, until: float, topic: Any) -> Steps[tuple[Standing, str | None]]:
        """Where we stand, and who is before us; who waits hears what becomes of that one."""
        before: str | None = None
        standing = yield from self._stand(spot, until, topic)
        for _ in range(SCANS):
            yield from self._check(spot, standing, until)
            before = self._before(spot, standing)
            if before is None or (standing.watched and before == standing.node.before):
                break
            standing.node.before = before
            if topic is None or (yield from watch(spot, before, until, topic)):
                break
            standing = yield from self._stand(spot, until, topic)
        return standing, before

    def _check(self, spot: Spot, standing: Standing, until: float) -> Steps[None]:
        """Raise where the name is in use as something else."""
        return check(self.ground, spot.name, standing.children, self.kind, until)

    def _stand(self, spot: Spot, until: float, topic: Any) -> Steps[Standing]:
        """Where we stand now; at the end of the queue if we stood nowhere, or not any more."""
        node = self._nodes.get(spot.owner, spot.folder)
        if node is not None:
            standing = yield from look_again(spot, node, until, topic)
            if standing is not None:
                return standing
            yield from tombs.check(self.ground, spot.name, spot.owner, self.kind, until)
        return (yield from self._arrive(spot, until))

    def _arrive(self, spot: Spot, until: float) -> Steps[Standing]:
        """Stand at the end of the queue."""
        return stand(self._nodes, spot, until)

    def _before(self, spot: Spot, standing: Standing) -> str | None:
        """Who is before us, unless that is nobody who will ever leave."""
        before = self._nearest(standing.children, standing.node.name)
        if before is not None and queue.stray(before, self.cuts):
            raise queue.astray(spot.name, spot.folder, before, self.label)
        return before

    def _nearest(self, children: Sequence[str], mine: str) -> str | None:
        """The last one of those for whom we have to wait."""
        return queue.before_alone(children, mine)

    def _refused(self, spot: Spot, standing: Standing, waits: bool, until: float) -> Steps[Busy]:
        holder = names.owner_of(queue.ranked(standing.children, self.cuts)[0])
        placed = waits or self.stays
        if not placed:
            yield from leave(self._nodes, spot, until)
        return Busy(holder, None, placed=placed)

    # --- giving back --------------------------------------------------------------------

    def release(self, name: str, owner: str, until: float) -> Steps[bool]:
        return leave(self._nodes, self._spot(name, owner), until)

    def withdraw(self, name: str, owner: str, until: float, reason: str = "") -> Steps[bool]:
        if reason:
            yield from tombs.bury(self.ground, name, owner, reason, until)
        return (yield from leave(self._nodes, self._spot(name, owner), until))

    def why(self, name: str, owner: str, until: float) -> Steps[str]:
        reason, session = yield from tombs.read(self.ground, name, owner, until)
        node = self._held(name, owner)
        return reason or (SESSION if node is not None and node.session != session else "")

    # --- keeping ------------------------------------------------------------------------

    def renew(
        self, holds: Sequence[tuple[str, str]], lease: float, until: float
    ) -> Steps[Sequence[bool | str | StoreError]]:
        """One question to the leader for all of them, whose answer proves the session; and one
        for each that is not watched yet, so that what becomes of its node is heard."""
        return kept([self._held(name, owner) for name, owner in holds], until)

    def _held(self, name: str, owner: str) -> Node | None:
        spot = self._spot(name, owner)
        return self._nodes.get(owner, spot.folder)

    # --- looking ------------------------------------------------------------------------

    def look(self, name: str, until: float) -> Steps[LockInfo | None]:
        return looked(self.ground, self.kind, name, until)

    def topics(self, name: str, owner: str, busy: Busy) -> tuple[Any, ...]:
        return ((name, owner),)


def kept(nodes: Sequence[Node | None], until: float) -> Steps[Sequence[bool | str | StoreError]]:
    """What became of some nodes.  One round trip, or two when we hear of one meanwhile."""
    watched = [node for node in nodes if node is not None and node.watched]
    answers = yield from _looked_at(nodes, until)
    stirred = [node for node in watched if not node.watched]
    if not stirred or isinstance(answers[0], StoreError):
        return answers
    again = dict(zip(stirred, (yield from _looked_at(stirred, until)), strict=True))
    return [
        again.get(node, old) if node else old for node, old in zip(nodes, answers, strict=True)
    ]


def _looked_at(
    nodes: Sequence[Node | None], until: float
) -> Steps[Sequence[bool | str | StoreError]]:
    new = [node for node in nodes if node is not None and not node.watched][:LOOKS]
    asks: list[Ask] = [Sync("/"), *(Get(node.path, node) for node in new)]
    seen: dict[Node, Any] = {}
    for node in new:
        node.watched = True  # what is heard before the answer has been read counts as well
    try:
        synced, *looks = yield from together([Call(each, (), (), until) for each in asks])
        seen = {} if isinstance(synced, StoreError) else dict(zip(new, looks, strict=True))
    finally:
        for node in new:
            if not isinstance(seen.get(node), Answer):
                node.watched = False
    return judged(nodes, synced, seen)


def judged(
    nodes: Sequence[Node | None], synced: Any, seen: Mapping[Node, Any]
) -> list[bool | str | StoreError]:
    """What became of each hold, when the leader was asked and some nodes were looked at."""
    if isinstance(synced, StoreError):
        return [synced] * len(nodes)
    return [
        False if node is None else _kept(node, synced.session, seen.get(node)) for node in nodes
    ]


def _kept(node: Node, session: int, look: Any) -> bool | str | StoreError:
    if node.session != session:
        return False
    if look is None:
        return True
    if isinstance(look, StoreError):
        return look
    if look.value is No.MISSING:
        return False
    return ASKED if look.value[0] == REVOKE else True
