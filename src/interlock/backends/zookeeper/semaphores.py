"""Semaphores and mutexes: Curator's InterProcessSemaphoreV2 and InterProcessSemaphoreMutex.

A mutex is a semaphore of one permit, whose number is nowhere written.  How permits are taken, and
where the number of a semaphore is written, is told in `permits`.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import partial
from typing import Any, NamedTuple

from ...errors import StoreError
from ...model import FOREVER, KIND_CODES, Busy, LockInfo
from ...steps import Call, Steps, together
from .kinds import genuine, in_use, node_ahead, only_queued
from .layout import (
    ALONE,
    LEASE,
    LEASE_CUTS,
    LEASE_NODE,
    LEASES,
    LOCK,
    LOCKS,
    MUTEX_CUTS,
    NUMBER,
    is_node,
    lease_holders,
    lease_note,
    leases_up_to,
    owner_of,
    path_of,
    prefix_of,
    ranked,
    use_of,
)
from .namespace import Namespace, Node, NodeSpec, QueuePlace, still_held
from .permits import (
    COUNT_NODES,
    PermitClaim,
    PermitCount,
    all_listed,
    begin_count,
    info_of,
    leave_both,
    put_count,
    taken,
)
from .queue_nodes import (
    SCANS,
    ask,
    check_revoked,
    enqueue_several,
    leave,
    line_up,
    reason_of_loss,
    write_reason,
)
from .transport.requests import Answer, Children, Container, Delete, Get, Refusal, Sync, ZkRequest


class SeenLeases(NamedTuple):
    """An owner's leases, all that there are, and for how many there is room."""

    mine: Node
    leases: Sequence[str]
    room: int
    #: When the leases were listed.
    asked: float

    @property
    def fits(self) -> bool:
        return len(self.leases) <= self.room

    @property
    def holder(self) -> str | None:
        """Another owner that holds a permit."""
        mine = {each.name for each in self.mine.share}
        others = [each for each in ranked(self.leases, LEASE_CUTS) if each not in mine]
        return owner_of(others[0]) if others else None


class ZkSemaphores:
    """Leases in one directory, and a line before it: see `spi.PermitStore`.

    A free permit costs two round trips, a release one; to wait takes one round trip more, and
    each wake one or two.
    """

    reentrant = own_places = False
    #: Only the first in line may look at the leases.
    takes_turns = True
    #: A lease stays as long as its session: the keeper must remove it.
    leases_expire = False
    #: Whether a refused owner keeps its place.
    stays = False

    def __init__(self, kind: str, permits: int | None, weight: int, namespace: Namespace) -> None:
        self.kind, self.permits, self.weight = kind, permits, weight
        self.shared, self.kind_code = kind != "mutex", KIND_CODES[kind]
        self.label = namespace.label
        self.effective_lease, self.valid_until = namespace.effective_lease, namespace.valid_until
        self._namespace, self._nodes = namespace, namespace.nodes
        self._patient = copy(self)
        self._patient.stays = True

    def for_wait(self, timeout: float) -> ZkSemaphores:
        return self._patient if timeout > 0 else self

    def _claim(
        self, name: str, owner: str, until: float, lease: float = FOREVER, topic: Any = None
    ) -> PermitClaim:
        data = lease_note(lease, self._namespace.session.session_timeout)
        path, begin = path_of(name, self._namespace.root), prefix_of(owner)
        leases = NodeSpec(name, f"{path}/{LEASES}", owner, begin + LEASE, data)
        line = NodeSpec(name, f"{path}/{LOCKS}", owner, begin + LOCK)
        line.beside, line.new = [self._room_request(path)], [Container(leases.folder)]
        return PermitClaim(name, path, line, leases, until, topic)

    def _held(self, name: str, owner: str) -> Node | None:
        return self._nodes.get((owner, f"{path_of(name, self._namespace.root)}/{LEASES}"))

    # --- for how many there is room ------------------------------------------------------

    def _count(self, name: str, path: str) -> PermitCount:
        return PermitCount(name, path, self.kind, self.label)

    def _room_request(self, path: str, topic: Any = None) -> ZkRequest:
        """The request whose answer tells for how many there is room."""
        if self.kind == "mutex":
            return Children(path)
        return Get(f"{path}/{COUNT_NODES[self.kind]}", topic)

    def _room_told(self, claim: PermitClaim, told: Answer) -> int | None:
        """For how many there is room; None when no client has said so."""
        if self.kind == "mutex":
            return 1
        if told.value is Refusal.MISSING:
            return None
        data = told.value[0]
        if len(data) == NUMBER:
            return max(0, int.from_bytes(data, "big", signed=True))
        return self._count(claim.name, claim.path).read(data)

    def _room(self, claim: PermitClaim, told: Answer) -> Steps[int]:
        """The same, once it was said; raises where the name is in use as something else."""
        if self.kind == "mutex":
            # A lock or semaphore that comes now is told so, and goes again.
            lasting = [each for each in told.children if not is_node(each)]
            yield from self._refuse_other_kind(claim, lasting)
        room = self._room_told(claim, told)
        if room is None:
            count = self._count(claim.name, claim.path)
            room = yield from begin_count(count, self.permits, claim.until)
        return room

    def _refuse_other_kind(self, claim: PermitClaim, children: Sequence[str]) -> Steps[None]:
        children = yield from genuine(claim.name, claim.path, children, claim.until)
        if (use := use_of(children)) is not None:
            raise in_use(claim.name, use, self.kind, self.label)

    def set_permits(self, name: str, permits: int, until: float) -> Steps[None]:
        """Waiters watch the number, and are woken."""
        count = self._count(name, path_of(name, self._namespace.root))
        return put_count(count, permits, until)

    # --- asking -------------------------------------------------------------------------

    def attempt(
        self, name: str, owner: str, lease: float, waits: bool, until: float
    ) -> Steps[int | Busy]:
        claim = self._claim(name, owner, until, lease, (name, owner) if waits else None)
        try:
            answer = yield from self._attempt(claim)
        except StoreError as failure:
            # The request that failed was perhaps not executed, but those before it were.
            failure.partial |= any(self._nodes.get(spec.key) for spec in claim.specs)
            raise
        if isinstance(answer, Busy):
            return answer
        answer.mine.lease, answer.mine.held = lease, answer.asked
        return answer.mine.token

    def _attempt(self, claim: PermitClaim) -> Steps[SeenLeases | Busy]:
        seen = yield from self._seen_again(claim)
        if seen is None:
            place, before = yield from self._in_line(claim)
            if before is not None:
                if claim.leases.key in self._nodes:
                    # The owner ahead would wait for leases that wait behind it.
                    yield from leave(self._nodes, claim.leases, claim.until)
                first = ranked(place.children, MUTEX_CUTS)[0]
                return (yield from self._refused(claim, owner_of(first)))
            seen = yield from self._make_leases(claim, place)
        if not seen.fits:
            return (yield from self._refused(claim, seen.holder))
        yield from self._leave_line(claim)
        return seen

    def _refused(self, claim: PermitClaim, holder: str | None) -> Steps[Busy]:
        placed = claim.topic is not None or self.stays
        if not placed:
            yield from leave_both(self._nodes, claim)
        return Busy(holder, None, placed=placed)

    # --- the line -----------------------------------------------------------------------

    def _in_line(self, claim: PermitClaim) -> Steps[tuple[QueuePlace, str | None]]:
        """Enqueue in the line, and see which node is ahead.

        A mere try looks again while there is room for every owner before it, and for itself: it
        would be wrong to say that nothing is free.
        """
        place, before = yield from self._line_up(claim)
        for _ in range(SCANS):
            if before is None or claim.topic is not None or self.stays:
                break
            if not (yield from self._has_room_for_all(claim, place)):
                break
            place, before = yield from self._line_up(claim)
        return place, before

    def _line_up(self, claim: PermitClaim) -> Steps[tuple[QueuePlace, str | None]]:
        ahead = partial(self._ahead, claim)
        line, until = claim.line, claim.until
        return line_up(self._namespace, line, self.kind, until, claim.topic, ahead)

    def _ahead(
        self, claim: PermitClaim, place: QueuePlace
    ) -> Steps[tuple[QueuePlace, str | None]]:
        """The node ahead; raises where the name is in use as something else."""
        alone = [f"{claim.line.folder}/{each}" for each in place.children] == [place.node.path]
        if not alone:
            place = yield from only_queued(claim.line, place, ALONE.cuts, claim.until)
        for told in place.beside:
            if self.kind == "mutex":
                yield from self._refuse_other_kind(claim, told.children)
            else:
                yield from self._room(claim, told)
        return place, None if alone else node_ahead(ALONE, claim.line, place, self.label)

    def _has_room_for_all(self, claim: PermitClaim, place: QueuePlace) -> Steps[bool]:
        """Whether there is room for those before it as well.  One round trip, or none."""
        line, mine, weight = place.children, place.node.name, self.weight
        rooms = [self._room_told(claim, told) for told in place.beside]
        if any(room is not None and room < leases_up_to(line, (), mine, weight) for room in rooms):
            return False
        reads = (Children(claim.leases.folder), self._room_request(claim.path))
        leases, told = yield from ask(claim.name, reads, claim.until)
        lent = yield from taken(claim, leases.children)
        room = self._room_told(claim, told)
        return room is not None and leases_up_to(line, lent, mine, weight) <= room

    def _leave_line(self, claim: PermitClaim) -> Steps[None]:
        """Let the next in line ask.  No round trip: the answer is not awaited."""
        node = self._nodes.get(claim.line.key)
        if node is None:
            return
        if node.unanswered:
            yield from leave(self._nodes, claim.line, claim.until)
            return
        yield from together([Call(Delete(node.path, awaited=False), (), (), claim.until)])
        self._nodes.pop(claim.line.key, None)

    # --- the leases ---------------------------------------------------------------------

    def _make_leases(self, claim: PermitClaim, place: QueuePlace) -> Steps[SeenLeases]:
        """Make the leases of the first in line.  One round trip: see `enqueue_several`."""
        known = [each for each in place.beside if each.value is not Refusal.MISSING]
        reads: list[ZkRequest] = [Children(claim.leases.folder, claim.topic)]
        if claim.topic is not None or not known:
            reads.append(self._room_request(claim.path, claim.topic))
        made = yield from enqueue_several(
            self._nodes, claim.leases, self.weight, reads, claim.until
        )
        (told,) = made.beside or known
        return (yield from self._leases_seen(claim, made, told))

    def _leases_seen(
        self, claim: PermitClaim, made: QueuePlace, told: Answer
    ) -> Steps[SeenLeases]:
        room = yield from self._room(claim, told)
        leases = made.children
        if not all(map(LEASE_NODE.fullmatch, leases)):
            leases = yield from taken(claim, leases)
        return SeenLeases(made.node, leases, room, made.asked)

    def _seen_again(self, claim: PermitClaim) -> Steps[SeenLeases | None]:
        """Look at the leases that the owner has; None without any, or when they are void.

        One round trip.  They are void when one of them has gone, or if they are too many and the
        owner is not in line any more.
        """
        mine, place = self._nodes.get(claim.leases.key), self._nodes.get(claim.line.key)
        if mine is None:
            return None
        reads = (
            Sync(claim.path, always=False),  # the list may grant: see `queue_nodes.look_again`
            Children(claim.leases.folder, claim.topic),
            Children(claim.line.folder),
            self._room_request(claim.path, claim.topic),
        )
        _, listed, line, told = yield from ask(claim.name, reads, claim.until)
        if all_listed(listed, mine):
            made = QueuePlace(mine, listed.value, asked=listed.asked)
            seen = yield from self._leases_seen(claim, made, told)
            if seen.fits or (place is not None and all_listed(line, place)):
                return seen
        yield from check_revoked(self._namespace, claim.line, self.kind, claim.until)
        yield from leave_both(self._nodes, claim)
        return None

    # --- giving back, keeping, looking ----------------------------------------------------

    def release(self, name: str, owner: str, until: float) -> Steps[bool]:
        return leave_both(self._nodes, self._claim(name, owner, until))

    def withdraw(self, name: str, owner: str, until: float, reason: str = "") -> Steps[bool]:
        if reason:
            yield from write_reason(self._namespace, name, owner, reason, until)
        return (yield from leave_both(self._nodes, self._claim(name, owner, until)))

    def withdrawal_reason(self, name: str, owner: str, until: float) -> Steps[str]:
        return reason_of_loss(self._namespace, name, owner, self._held(name, owner), until)

    def renew(
        self, holds: Sequence[tuple[str, str]], lease: float, until: float
    ) -> Steps[Sequence[bool | str | StoreError]]:
        return still_held([self._held(name, owner) for name, owner in holds], until)

    def look(self, name: str, until: float) -> Steps[LockInfo | None]:
        """Three round trips."""
        claim = self._claim(name, "", until)
        folders = (claim.path, claim.leases.folder, claim.line.folder)
        reads = [*(Children(each) for each in folders), self._room_request(claim.path)]
        children, leases, line, told = yield from ask(name, reads, until)
        yield from self._count(name, claim.path).check((children, line, leases), until)
        lent = yield from taken(claim, leases.children)
        room = self._room_told(claim, told)
        held, waiters = lease_holders(line.children, lent, room)
        return (yield from info_of(self._namespace, self.kind, claim, held, waiters, room))

    def topics(self, name: str, owner: str, busy: Busy) -> tuple[Any, ...]:
        return ((name, owner),)
