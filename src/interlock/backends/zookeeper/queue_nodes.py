"""The nodes of this client in a queue: making, finding, adopting and deleting them.

Theory of operation.  A client asks for its node and lists the directory in one burst.  The server
executes a session's requests in their order, so the list is newer than the node, and tells what
is before it.  Only such a list may decide.

Unknown outcomes.  A create whose answer was lost may have been executed, and the node of a second
one would wait behind the first for ever.  So an owner that may have a node looks for it by its
name first, after the leader has said (`Sync`) that nothing older is under way.  The node of
another session is dying: it is never adopted, only deleted.  The client's own session may have
been replaced without a sign, therefore every answer carries the session in which it was given.

A revocation leaves its reason in a note.  The note is a container that has had a child, which the
server deletes about a minute later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ...errors import OutcomeUnknown, StoreError, StoreMisconfigured, StoreUnavailable
from ...ledger import BURIED, refusal
from ...steps import Call, Steps, together
from .layout import belongs_to, uuid_of
from .namespace import Namespace, Node, NodeSpec, OwnNodes, QueuePlace
from .transport.requests import (
    EPHEMERAL,
    WRITES,
    Answer,
    Children,
    Container,
    Create,
    Delete,
    Exists,
    Get,
    Refusal,
    Sync,
    ZkRequest,
)

#: How often a directory may vanish before its node is made, until the caller is told.
VANISHED = 5

#: How often the node ahead may have gone when the client begins to watch it.
SCANS = 8


#: Decides from a list of children which node is ahead; the place it answers has no children that
#: do not queue.
Ahead: TypeAlias = Callable[[QueuePlace], Steps[tuple[QueuePlace, str | None]]]

SESSION_ENDED = "its session with the servers has ended"


# --- requests ---------------------------------------------------------------------------------


def ask(name: str, requests: Sequence[ZkRequest], until: float) -> Steps[list[Answer]]:
    """Send several requests in one burst.  One round trip; the first failure is raised."""
    replies = yield from together([Call(each, (name,), (), until) for each in requests])
    replies = _pardoned(requests, replies)
    failures = [reply for reply in replies if isinstance(reply, StoreError)]
    if failures:
        raise _worst(failures, requests, replies)
    return replies


def _pardoned(requests: Sequence[ZkRequest], replies: Sequence[Any]) -> list[Any]:
    """The same, where a directory that may not be made is as good as made if it exists.

    A server looks for the right to make a node before it looks for the node; and of a path below
    a missing directory it says neither yes nor no.
    """
    there = [
        f"{each.path}/"
        for each, reply in zip(requests, replies, strict=True)
        if isinstance(reply, StoreMisconfigured)
        or (isinstance(reply, Answer) and reply.value is not Refusal.MISSING)
    ]
    return [
        Answer(Refusal.THERE, 0)
        if isinstance(each, Container)
        and isinstance(reply, StoreMisconfigured)
        and sum(path.startswith(f"{each.path}/") for path in there) > 1
        else reply
        for each, reply in zip(requests, replies, strict=True)
    ]


def _worst(
    failures: Sequence[StoreError], requests: Sequence[ZkRequest], replies: Sequence[Any]
) -> StoreError:
    """The failure that matters; it carries whether another request of the burst wrote."""
    worst = next((each for each in failures if isinstance(each, OutcomeUnknown)), failures[0])
    worst.partial = any(
        isinstance(each, WRITES) and isinstance(reply, Answer)
        for each, reply in zip(requests, replies, strict=True)
    )
    return worst


def parents(folder: str) -> list[ZkRequest]:
    """Make every directory of a path; those that exist answer so."""
    parts = folder.split("/")[1:]
    return [Container("/" + "/".join(parts[: depth + 1])) for depth in range(len(parts))]


# --- queueing ---------------------------------------------------------------------------------


def line_up(
    namespace: Namespace, spec: NodeSpec, kind: str, until: float, topic: Any, ahead: Ahead
) -> Steps[tuple[QueuePlace, str | None]]:
    """The owner's place in a queue, and the node ahead, which a waiter then watches."""
    before: str | None = None
    place = yield from _stand(namespace, spec, kind, until, topic)
    for _ in range(SCANS):
        place, before = yield from ahead(place)
        if before is None or (place.watched and before == place.node.before):
            break
        place.node.before = before
        if topic is None or (yield from watch(spec, before, until, topic)):
            break
        place = yield from _stand(namespace, spec, kind, until, topic)
    return place, before


def _stand(
    namespace: Namespace, spec: NodeSpec, kind: str, until: float, topic: Any
) -> Steps[QueuePlace]:
    """The place of an owner; at the end of the queue if it has none, or has lost it."""
    node = namespace.nodes.get(spec.key)
    if node is not None:
        place = yield from look_again(spec, node, until, topic)
        if place is not None:
            return place
        yield from check_revoked(namespace, spec, kind, until)
    return (yield from _enqueue(namespace.nodes, spec, until))


def _enqueue(nodes: OwnNodes, spec: NodeSpec, until: float) -> Steps[QueuePlace]:
    """Make a node at the end of a queue.  One round trip, two if the directory is new."""
    if spec.key in nodes:
        found = yield from _found_again(nodes, spec, until)
        if found is not None:
            return found
        nodes[spec.key] = None
        return (yield from _enqueue_new(nodes, spec, until))
    nodes[spec.key] = None
    try:
        return (yield from _enqueue_new(nodes, spec, until))
    except StoreUnavailable as failure:
        if not failure.partial:  # no server has heard of the owner
            nodes.pop(spec.key, None)
        raise


def _enqueue_new(nodes: OwnNodes, spec: NodeSpec, until: float) -> Steps[QueuePlace]:
    burst: list[ZkRequest] = [spec.create, Children(spec.folder), *spec.beside]
    requests = burst
    for _ in range(VANISHED):
        answers = yield from ask(spec.name, requests, until)
        created, listed, *beside = answers[-len(burst) :]
        for node in made(spec, created):
            if listed.session != node.session or listed.value is Refusal.MISSING:
                raise session_replaced(spec)
            nodes[spec.key] = node
            return QueuePlace(node, listed.value, beside=beside, asked=listed.asked)
        requests = [*parents(spec.folder), *spec.new, *burst]
    raise vanishing(spec.name, spec.folder)


def made(spec: NodeSpec, *created: Answer) -> list[Node]:
    """The nodes of some creates, none where the directory was missing."""
    answers = [each for each in created if each.value is not Refusal.MISSING]
    if any(each.value[1].ephemeralOwner != each.session for each in answers):
        raise session_replaced(spec)
    return [Node(path, stat.czxid, session) for (path, stat), session, _ in answers]


def session_replaced(spec: NodeSpec) -> OutcomeUnknown:
    """The session ended while the client asked: what was made will die with it."""
    return OutcomeUnknown(f"the session ended while {spec.name!r} was asked for")


def vanishing(name: str, folder: str, store: str = "") -> StoreUnavailable:
    """A directory is deleted again each time that the client has made it."""
    return StoreUnavailable(
        f"the directory of {name!r}, {folder}, is deleted as often as it is made: ask again, and "
        "see which program deletes it",
        store,
    )


def enqueue_several(
    nodes: OwnNodes, spec: NodeSpec, count: int, reads: Sequence[ZkRequest], until: float
) -> Steps[QueuePlace]:
    """Make several nodes of one owner; the first of `reads` lists them.

    One round trip; one more if the directory is new, three more after a lost answer.
    """
    have: list[Node] = []
    if spec.key in nodes:
        have = yield from adopt_or_delete(spec, count, until)
    nodes[spec.key] = None
    above: list[ZkRequest] = []
    for _ in range(VANISHED):
        creates = [spec.create] * (count - len(have))
        answers = yield from ask(spec.name, [*above, *creates, *reads], until)
        answers = answers[len(above) :]
        have += made(spec, *answers[: len(creates)])
        if len(have) == count:
            listed, *beside = answers[len(creates) :]
            nodes[spec.key] = mine = _joined(spec, have, listed)
            return QueuePlace(mine, listed.value, beside=beside, asked=listed.asked)
        above = parents(spec.folder)
    raise vanishing(spec.name, spec.folder)


def _joined(spec: NodeSpec, have: list[Node], listed: Answer) -> Node:
    """One node for several, if a list of their own session has them all."""
    *siblings, mine = have
    mine.siblings, mine.unanswered = tuple(siblings), any(node.unanswered for node in have)
    missing = listed.value is Refusal.MISSING
    paths = () if missing else {f"{spec.folder}/{each}" for each in listed.value}
    if any(node.session != listed.session or node.path not in paths for node in have):
        raise session_replaced(spec)
    return mine


def look_again(spec: NodeSpec, node: Node, until: float, topic: Any) -> Steps[QueuePlace | None]:
    """List the directory once more; None when the client's node, or its session, has gone.

    One round trip, in which the node ahead is watched again.  The leader is asked as well, unless
    it has answered lately, because the list may grant: a follower that has lost the leader would
    tell an old list, and the leader would not hear of the session through it.
    """
    requests: list[ZkRequest] = [Sync(spec.folder, always=False), Children(spec.folder)]
    if node.before is not None and topic is not None:
        requests.insert(1, Get(f"{spec.folder}/{node.before}", topic))
    try:
        _, *first, listed = yield from ask(spec.name, requests, until)
    except StoreMisconfigured:
        if len(requests) == 2:
            raise
        node.before = None  # it may be listed, but not be read
        return (yield from look_again(spec, node, until, topic))
    if listed.session != node.session or node.name not in listed.children:
        return None
    watched = bool(first) and first[0].value is not Refusal.MISSING
    return QueuePlace(node, listed.value, watched, asked=listed.asked)


def watch(spec: NodeSpec, before: str, until: float, topic: Any) -> Steps[bool]:
    """Watch the node ahead; False when it has gone.  One round trip.

    A read leaves no watch behind on a node that has gone.  Of a node that the client may not read
    no server tells it anything; but its directory changes when it goes.
    """
    path = f"{spec.folder}/{before}"
    try:
        (answer,) = yield from ask(spec.name, [Get(path, topic)], until)
    except StoreMisconfigured:
        (listed,) = yield from ask(spec.name, [Children(spec.folder, topic)], until)
        return before in listed.children
    return answer.value is not Refusal.MISSING


# --- after a lost answer ----------------------------------------------------------------------


def _found_again(nodes: OwnNodes, spec: NodeSpec, until: float) -> Steps[QueuePlace | None]:
    """The place where a create that was not answered has put the owner, if it has."""
    living = yield from adopt_or_delete(spec, 1, until)
    if not living:
        return None
    (keep,) = living
    (listed,) = yield from ask(spec.name, [Children(spec.folder)], until)
    if listed.session != keep.session or keep.name not in listed.children:
        return None
    nodes[spec.key] = keep
    return QueuePlace(keep, listed.value, asked=listed.asked)


def adopt_or_delete(spec: NodeSpec, most: int, until: float) -> Steps[list[Node]]:
    """The nodes of creates that were not answered; surplus and dying ones are deleted."""
    mine = yield from _find_synced(spec, until)
    if not mine:
        return []
    stats = yield from ask(spec.name, [Exists(f"{spec.folder}/{each}") for each in mine], until)
    living = [
        Node(f"{spec.folder}/{each}", stat.value.czxid, stat.session, unanswered=True)
        for each, stat in zip(mine, stats, strict=True)
        if stat.value is not Refusal.MISSING and stat.value.ephemeralOwner == stat.session
    ][:most]
    kept = [node.name for node in living]
    others = [Delete(f"{spec.folder}/{each}") for each in mine if each not in kept]
    if others:
        yield from ask(spec.name, others, until)
    return living


def _find_synced(spec: NodeSpec, until: float) -> Steps[list[str]]:
    """An owner's nodes, once nothing older is under way.  One round trip."""
    synced = (Sync(spec.folder), Children(spec.folder))
    _, listed = yield from ask(spec.name, synced, until)
    return find(listed, spec.owner)


def find(listed: Answer, owner: str) -> list[str]:
    """The nodes of an owner in a directory, the oldest first.  Pure."""
    return sorted(each for each in listed.children if belongs_to(each, owner))


# --- leaving ----------------------------------------------------------------------------------


def leave(nodes: OwnNodes, spec: NodeSpec, until: float) -> Steps[bool]:
    """Delete an owner's nodes; False when there were none.  One round trip if the client knows
    them, two if it has to look for them."""
    node = nodes.get(spec.key)
    if node is not None and not node.unanswered:
        mine, node.left = [node.name], True
    else:
        mine = yield from _find_synced(spec, until)
    answers: list[Answer] = []
    if mine:
        deletes = [Delete(f"{spec.folder}/{each}") for each in mine]
        answers = yield from ask(spec.name, deletes, until)
    nodes.pop(spec.key, None)
    return any(answer.value is not Refusal.MISSING for answer in answers)


# --- why a node has gone ----------------------------------------------------------------------


def write_reason(
    namespace: Namespace, name: str, owner: str, reason: str, until: float
) -> Steps[None]:
    """Leave a note for an owner.  One round trip."""
    note = f"{namespace.revoked}/{uuid_of(owner)}"
    child = f"{note}/read"
    made = (*parents(namespace.revoked), Container(note, reason.encode()))
    yield from ask(name, [*made, Create(child, flags=EPHEMERAL), Delete(child)], until)


def read_reason(
    namespace: Namespace, name: str, owner: str, until: float
) -> Steps[tuple[str, int]]:
    """The reason for which an owner was revoked, if there is one; and the session of the
    answer.  One round trip."""
    (answer,) = yield from ask(name, [Get(f"{namespace.revoked}/{uuid_of(owner)}")], until)
    reason = b"" if answer.value is Refusal.MISSING else answer.value[0]
    return reason.decode("utf-8", "replace"), answer.session


def check_revoked(namespace: Namespace, spec: NodeSpec, kind: str, until: float) -> Steps[None]:
    """Raise if an owner was revoked while it waited.  One round trip."""
    reason, _ = yield from read_reason(namespace, spec.name, spec.owner, until)
    if reason:
        raise refusal(spec.name, kind, (BURIED,), namespace.label)


def reason_of_loss(
    namespace: Namespace, name: str, owner: str, node: Node | None, until: float
) -> Steps[str]:
    """Why an owner has lost its node, if the store can tell.  One round trip."""
    reason, session = yield from read_reason(namespace, name, owner, until)
    return reason or (SESSION_ENDED if node is not None and node.session != session else "")
