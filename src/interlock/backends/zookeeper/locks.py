"""Locks that one owner at a time has: Curator's InterProcessMutex."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

from ...errors import StoreError
from ...model import ASKED, MARKS, Busy, LockInfo
from ...steps import Call, Steps, together
from . import names, queue, tombs
from .folder import Spot, Standing, leave, look_again, stand, watch
from .ground import Ground
from .kinds import check
from .nodes import Node
from .sight import looked
from .wire import Ask, Get, No, Sync

#: What another client writes into a node to ask its holder for it: Curator's word.
REVOKE = b"__REVOKE__"

#: How often the one before us may have gone when we begin to watch it.
SCANS = 8

SESSION = "its session with the servers has ended"


class ZkLocks:
    """Nodes in one directory, the first of which has the lock: see `stores.LockStore`.

    A free lock costs one round trip and two requests, a release one of each; to wait takes one
    round trip more, and each wake one.
    """

    kind, reentrant, shared = "lock", True, False
    #: A node stays as long as its session, whatever the lease: the keeper must remove it.
    mortal = False
    #: Whether a refused owner keeps its place.
    stays = False
    #: How the names of its nodes go on after the UUID.
    node = names.LOCK

    def __init__(self, ground: Ground) -> None:
        self.ground, self.label, self.mark = ground, ground.label, MARKS[self.kind]
        self._nodes = ground.nodes
        self._patient = copy(self)
        self._patient.stays = True

    def waiting(self, timeout: float) -> ZkLocks:
        return self._patient if timeout > 0 else self

    def trusted(self, lease: float) -> float:
        """The servers promise no more than the length of a session."""
        return min(lease, self.ground.vital.session_timeout)

    def _spot(self, name: str, owner: str) -> Spot:
        return Spot(name, self.ground.path_of(name), owner, self.node)

    # --- asking -------------------------------------------------------------------------

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        spot, topic = self._spot(name, owner), (name, owner) if waits else None
        standing = yield from self._stand(spot, until, topic)
        for _ in range(SCANS):
            yield from check(self.ground, name, standing.children, self.kind, until)
            before = self._before(spot, standing)
            if before is None:
                return standing.node.token
            if not waits:
                break
            if standing.watched and before == standing.node.before:
                break
            standing.node.before = before
            if (yield from watch(spot, before, until, topic)):
                break
            standing = yield from self._stand(spot, until, topic)
        return (yield from self._refused(spot, standing, waits, until))

    def _stand(self, spot: Spot, until: float, topic: Any) -> Steps[Standing]:
        """Where we stand now; at the end of the queue if we stood nowhere, or not any more."""
        node = self._nodes.get(spot.owner, spot.folder)
        if node is not None:
            standing = yield from look_again(spot, node, until, topic)
            if standing is not None:
                return standing
            yield from tombs.check(self.ground, spot.name, spot.owner, self.kind, until)
        return (yield from stand(self._nodes, spot, until))

    def _before(self, spot: Spot, standing: Standing) -> str | None:
        """Who is before us, unless that is nobody who will ever leave."""
        before = queue.before_alone(standing.children, standing.node.name)
        if before is not None and queue.stray(before, queue.MUTEX):
            raise queue.astray(spot.name, spot.folder, before, self.label)
        return before

    def _refused(self, spot: Spot, standing: Standing, waits: bool, until: float) -> Steps[Busy]:
        holder = names.owner_of(queue.ranked(standing.children, queue.MUTEX)[0])
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
        return tombs.read(self.ground, name, owner, until)

    # --- keeping ------------------------------------------------------------------------

    def renew(
        self, holds: Sequence[tuple[str, str]], lease: float, until: float
    ) -> Steps[Sequence[bool | str | StoreError]]:
        """One question to the leader for all of them, whose answer proves the session; and one
        for each that is not watched yet, so that what becomes of its node is heard."""
        nodes = [self._held(name, owner) for name, owner in holds]
        asks: list[Ask] = [
            Sync("/"),
            *(Get(each.path, each) for each in nodes if _unwatched(each)),
        ]
        replies = yield from together([Call(each, (), (), until) for each in asks])
        return judged(nodes, replies[0], replies[1:])

    def _held(self, name: str, owner: str) -> Node | None:
        spot = self._spot(name, owner)
        return self._nodes.get(owner, spot.folder)

    # --- looking ------------------------------------------------------------------------

    def look(self, name: str, until: float) -> Steps[LockInfo | None]:
        return looked(self.ground, self.kind, name, until)

    def topics(self, name: str, owner: str, busy: Busy) -> tuple[Any, ...]:
        return ((name, owner),)


def _unwatched(node: Node | None) -> bool:
    return node is not None and not node.watched


def judged(
    nodes: Sequence[Node | None], synced: Any, seen: Sequence[Any]
) -> list[bool | str | StoreError]:
    """What became of each hold.  Pure, but for noting which nodes are watched from now on."""
    if isinstance(synced, StoreError):
        return [synced] * len(nodes)
    answers, looks = [], iter(seen)
    for node in nodes:
        look = next(looks) if _unwatched(node) else None
        answers.append(_kept(node, synced.session, look))
    return answers


def _kept(node: Node | None, session: int, look: Any) -> bool | str | StoreError:
    if node is None or node.session != session:
        return False
    if look is None:
        return True
    if isinstance(look, StoreError):
        return look
    if look.value is No.MISSING:
        return False
    node.watched = True
    return ASKED if look.value[0] == REVOKE else True
