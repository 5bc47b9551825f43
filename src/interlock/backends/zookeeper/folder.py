"""What can be done in one directory of nodes: to stand in it, to look, and to leave.

Theory of operation.  A node is asked for and the directory listed in one burst; a session's
questions are executed in their order, so the list is newer than the node, and tells who is
before it.  Only such a list may decide.

Unknown outcomes.  A create whose answer was lost may have been executed, and a second one would
stand behind the first for ever.  So an owner that may have a node looks for it by its name
first, after the leader has said (`Sync`) that nothing older is under way.  A node of another
session is dying: it is never adopted, only removed.  Its own session may have been replaced
without our noticing, therefore every answer carries the session in which it was given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...errors import OutcomeUnknown, StoreError, StoreMisconfigured, StoreUnavailable
from ...steps import Call, Steps, together
from . import names
from .nodes import Node, Nodes, made
from .wire import WRITES, Answer, Ask, Children, Container, Create, Delete, Exists, Get, No, Sync

#: How often a directory may vanish under our hands before we say so.
VANISHED = 5


class Spot(NamedTuple):
    """Where an owner wants to stand: in which directory, with which name of node."""

    name: str
    folder: str
    owner: str
    mark: str
    #: What the node says.
    data: bytes = b""


class Standing(NamedTuple):
    """A node of ours and the children of its directory, listed after it was made."""

    node: Node
    children: Sequence[str]
    #: Whether the one before us, as we last knew it, is watched since before the list.
    watched: bool = False
    #: What else was asked in the same burst; nothing when the node was there already.
    beside: Sequence[Answer] = ()


def ask(name: str, asks: Sequence[Ask], until: float) -> Steps[list[Answer]]:
    """Ask several things in one burst.  One round trip; the first failure is raised."""
    replies = yield from together([Call(each, (name,), (), until) for each in asks])
    replies = _pardoned(asks, replies)
    failures = [reply for reply in replies if isinstance(reply, StoreError)]
    if failures:
        raise _worst(failures, asks, replies)
    return replies


def _pardoned(asks: Sequence[Ask], replies: Sequence[Any]) -> list[Any]:
    """The same, where a directory that we may not make is as good as made if it is there.

    A server looks for the right to make a node before it looks for the node; and it answers
    neither yes nor no of what is below a directory that is missing.
    """
    there = [
        f"{each.path}/"
        for each, reply in zip(asks, replies, strict=True)
        if isinstance(reply, StoreMisconfigured)
        or (isinstance(reply, Answer) and reply.value is not No.MISSING)
    ]
    return [
        Answer(No.THERE, 0)
        if isinstance(each, Container)
        and isinstance(reply, StoreMisconfigured)
        and sum(path.startswith(f"{each.path}/") for path in there) > 1
        else reply
        for each, reply in zip(asks, replies, strict=True)
    ]


def _worst(
    failures: Sequence[StoreError], asks: Sequence[Ask], replies: Sequence[Any]
) -> StoreError:
    """The failure that matters; whether something was written all the same is said with it."""
    worst = next((each for each in failures if isinstance(each, OutcomeUnknown)), failures[0])
    worst.partial = any(
        isinstance(each, WRITES) and isinstance(reply, Answer)
        for each, reply in zip(asks, replies, strict=True)
    )
    return worst


def parents(folder: str) -> list[Ask]:
    """Make every directory on the way; those that are there already say so."""
    parts = folder.split("/")[1:]
    return [Container("/" + "/".join(parts[: depth + 1])) for depth in range(len(parts))]


def stand(
    nodes: Nodes, spot: Spot, until: float, beside: Sequence[Ask] = (), new: Sequence[Ask] = ()
) -> Steps[Standing]:
    """Stand in a directory, at the end of its queue.  One round trip, two if it is new.

    `beside` is asked in the same burst, and `new` where the directory has to be made.
    """
    if nodes.asked(spot.owner, spot.folder):
        found = yield from _found_again(nodes, spot, until)
        if found is not None:
            return found
        nodes.asking(spot.owner, spot.folder)
        return (yield from _stand_anew(nodes, spot, until, beside, new))
    nodes.asking(spot.owner, spot.folder)
    try:
        return (yield from _stand_anew(nodes, spot, until, beside, new))
    except StoreUnavailable as failure:
        if not failure.partial:  # nobody has heard of us
            nodes.forget(spot.owner, spot.folder)
        raise


def _stand_anew(
    nodes: Nodes, spot: Spot, until: float, beside: Sequence[Ask], new: Sequence[Ask]
) -> Steps[Standing]:
    create = Create(f"{spot.folder}/{names.prefix_of(spot.owner)}{spot.mark}", spot.data)
    burst: list[Ask] = [create, Children(spot.folder), *beside]
    asks = burst
    for _ in range(VANISHED):
        answers = yield from ask(spot.name, asks, until)
        created, listed, *others = answers[-len(burst) :]
        if created.value is No.MISSING:
            asks = [*parents(spot.folder), *new, *burst]
            continue
        node = made(created)
        if node is not None and listed.session == node.session and listed.value is not No.MISSING:
            nodes.note(spot.owner, spot.folder, node)
            return Standing(node, listed.value, beside=others)
        raise unknown(spot)
    raise StoreUnavailable(f"the directory of {spot.name!r} keeps vanishing: {spot.folder}")


def _found_again(nodes: Nodes, spot: Spot, until: float) -> Steps[Standing | None]:
    """Stand where a create that was not answered has put us, if it has."""
    living = yield from survivors(spot, 1, until)
    if not living:
        return None
    (keep,) = living
    (listed,) = yield from ask(spot.name, [Children(spot.folder)], until)
    if listed.session != keep.session or not _lists(listed, keep):
        return None
    nodes.note(spot.owner, spot.folder, keep)
    return Standing(keep, listed.value)


def survivors(spot: Spot, most: int, until: float) -> Steps[list[Node]]:
    """The nodes of creates that were not answered; those too many, and the dying, go."""
    synced = (Sync(spot.folder), Children(spot.folder))
    _, listed = yield from ask(spot.name, synced, until)
    mine = find(listed.value, spot)
    if not mine:
        return []
    stats = yield from ask(spot.name, [Exists(f"{spot.folder}/{each}") for each in mine], until)
    living = [
        Node(f"{spot.folder}/{each}", stat.value.czxid, stat.session, doubted=True)
        for each, stat in zip(mine, stats, strict=True)
        if stat.value is not No.MISSING and stat.value.ephemeralOwner == stat.session
    ][:most]
    kept = [node.name for node in living]
    others = [Delete(f"{spot.folder}/{each}") for each in mine if each not in kept]
    if others:
        yield from ask(spot.name, others, until)
    return living


def _lists(listed: Answer, node: Node) -> bool:
    return listed.value is not No.MISSING and node.name in listed.value


def find(children: Any, spot: Spot) -> list[str]:
    """The nodes of an owner in a directory, the oldest first."""
    if children is No.MISSING:
        return []
    return sorted(each for each in children if names.belongs_to(each, spot.owner))


def look_again(spot: Spot, node: Node, until: float, topic: Any) -> Steps[Standing | None]:
    """List the directory once more; None when our node, or its session, has gone.

    One round trip.  Whoever was before us is watched again in the same burst.  The leader is
    asked as well, unless it has answered us just now, because the list may let us in: a follower
    that has lost it would tell us what was, and keep our session as little as its own.
    """
    asks: list[Ask] = [Sync(spot.folder, always=False), Children(spot.folder)]
    if node.before is not None and topic is not None:
        asks.insert(1, Get(f"{spot.folder}/{node.before}", topic))
    try:
        _, *first, listed = yield from ask(spot.name, asks, until)
    except StoreMisconfigured:
        if len(asks) == 2:
            raise
        node.before = None  # it may be listed, but not be read
        return (yield from look_again(spot, node, until, topic))
    if listed.session != node.session or not _lists(listed, node):
        return None
    watched = bool(first) and first[0].value is not No.MISSING
    return Standing(node, listed.value, watched)


def watch(spot: Spot, before: str, until: float, topic: Any) -> Steps[bool]:
    """Hear what becomes of whoever is before us; False when it has gone.  One round trip.

    Reading leaves no watch behind on a node that has gone.  Of a node that we may not read no
    server tells us anything; but its directory will change when it goes.
    """
    path = f"{spot.folder}/{before}"
    try:
        (answer,) = yield from ask(spot.name, [Get(path, topic)], until)
    except StoreMisconfigured:
        (listed,) = yield from ask(spot.name, [Children(spot.folder, topic)], until)
        return listed.value is not No.MISSING and before in listed.value
    return answer.value is not No.MISSING


def leave(nodes: Nodes, spot: Spot, until: float) -> Steps[bool]:
    """Take our nodes away; False when there were none.  One round trip if we know them, two
    if they have to be looked for."""
    node = nodes.get(spot.owner, spot.folder)
    if node is not None and not node.doubted:
        paths, node.left = [node.path], True
    else:
        synced = (Sync(spot.folder), Children(spot.folder))
        _, listed = yield from ask(spot.name, synced, until)
        paths = [f"{spot.folder}/{each}" for each in find(listed.value, spot)]
    answers: list[Answer] = []
    if paths:
        answers = yield from ask(spot.name, [Delete(path) for path in paths], until)
    nodes.forget(spot.owner, spot.folder)
    return any(answer.value is not No.MISSING for answer in answers)


def unknown(spot: Spot) -> OutcomeUnknown:
    """The session was replaced while we asked: whatever was made will die with the old one."""
    return OutcomeUnknown(f"the session ended while {spot.name!r} was asked for")
