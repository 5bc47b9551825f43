"""Which node is before which, and which of them hold.  Pure: decided from names alone.

Curator counts every child, whatever its name, and so does Interlock: a grant that overlooks a
holder is worse than one that waits.  But where Java would wait for ever behind a node that no
client removes, Interlock says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import NamedTuple

from ...errors import StoreMisconfigured
from .layout import (
    LEASE_CUTS,
    LOCK,
    MUTEX_CUTS,
    READ,
    RW_CUTS,
    WRITE,
    is_node,
    is_ours,
    is_sequence,
    owner_of,
    sort_key,
)
from .namespace import NodeSpec, QueuePlace


class Front(NamedTuple):
    """The nodes of a queue that hold, in which mode, and how many others wait."""

    nodes: Sequence[str]
    mode: str
    waiters: int


class Order(NamedTuple):
    """How one kind of queue is sorted, and who waits for whom in it."""

    #: How the names of its nodes go on after the UUID; and where names are cut to be sorted.
    mark: str
    cuts: Sequence[str]
    #: The last of those for whom a node has to wait, among some children.
    nearest: Callable[[Sequence[str], str], str | None]
    front: Callable[[Sequence[str]], Front]


def ranked(children: Sequence[str], cuts: Sequence[str]) -> list[str]:
    """The children in the order of their numbers."""
    return sorted(children, key=lambda node: sort_key(node, *cuts))


def earlier(children: Sequence[str], mine: str, cuts: Sequence[str]) -> list[str]:
    """The children before a node."""
    place = sort_key(mine, *cuts)
    return [each for each in children if sort_key(each, *cuts) < place]


def _last_before(children: Sequence[str], mine: str, cuts: Sequence[str]) -> str | None:
    before = earlier(children, mine, cuts)
    return max(before, key=lambda node: sort_key(node, *cuts), default=None)


def before_alone(children: Sequence[str], mine: str) -> str | None:
    """The nearest one before a node that wants to be alone; None when there is none."""
    return _last_before(children, mine, MUTEX_CUTS)


def before_writer(children: Sequence[str], mine: str) -> str | None:
    """The nearest one before a writer, be it a reader or a writer."""
    return _last_before(children, mine, RW_CUTS)


def before_reader(children: Sequence[str], mine: str) -> str | None:
    """The nearest writer before a reader."""
    return _last_before([node for node in children if WRITE[1:] in node], mine, RW_CUTS)


def node_ahead(order: Order, spec: NodeSpec, place: QueuePlace, store: str) -> str | None:
    """The node for which an owner waits; raises where that is of no lock, and so may stay for
    ever."""
    nearest = order.nearest(place.children, place.node.name)
    if nearest is None or not is_stray(nearest, order.cuts):
        return nearest
    error = StoreMisconfigured(
        f"lock {spec.name!r} waits behind {spec.folder}/{nearest}, which is no node of a lock, "
        "so no client removes it: delete it, or choose another name",
        store,
    )
    error.partial = True
    raise error


def is_stray(before: str, cuts: Sequence[str]) -> bool:
    """Whether a node was not made by any lock."""
    cut = any(each in before for each in cuts)
    return not cut or not is_sequence(sort_key(before, *cuts))


# --- which nodes hold -------------------------------------------------------------------------


def first_alone(children: Sequence[str]) -> Front:
    """The first holds."""
    queued = [each for each in ranked(children, MUTEX_CUTS) if is_node(each)]
    return Front(queued[:1], "", len(queued[1:]))


def first_readers(children: Sequence[str]) -> Front:
    """All readers before the first writer hold; without any, the writer.

    A reader with the number of a writer is that writer itself: in Java it may be both.
    """
    nodes = [each for each in ranked(children, RW_CUTS) if is_node(each)]
    writing = {sort_key(each, *RW_CUTS) for each in nodes if not _reads(each)}
    nodes = [each for each in nodes if not _reads(each) or sort_key(each, *RW_CUTS) not in writing]
    readers = [*takewhile(_reads, nodes)]
    holders = readers or nodes[:1]
    return Front(holders, "read" if readers else "write", len(nodes) - len(holders))


def _reads(node: str) -> bool:
    return READ in node


ALONE = Order(LOCK, MUTEX_CUTS, before_alone, first_alone)
READERS = Order(READ, RW_CUTS, before_reader, first_readers)
WRITERS = Order(WRITE, RW_CUTS, before_writer, first_readers)

#: Who can be asked for a release, by the kind of the name.
FRONTS = {"lock": first_alone, "rwlock": first_readers}


# --- permits ----------------------------------------------------------------------------------


def lease_holders(
    line: Sequence[str], leases: Sequence[str], room: int | None
) -> tuple[list[str], int]:
    """The leases that are permits, and how many clients wait.

    The first in line may have made leases beyond the room: they are no permits yet.  If the
    leases fit, the first in line holds its own, and is about to leave the line.
    """
    permits, first = ranked(leases, LEASE_CUTS), ranked(line, MUTEX_CUTS)[:1]
    if first and room is not None and len(permits) > room:
        permits = _without_surplus(permits, first[0])
    owners = {owner_of(each) for each in permits}
    return permits, sum(owner_of(each) not in owners for each in line)


def _without_surplus(permits: list[str], first: str) -> list[str]:
    """Java names each node anew, so of its leases the newest is the one too many."""
    if not is_ours(first):
        return permits[:-1]
    return [each for each in permits if owner_of(each) != owner_of(first)]


def leases_up_to(line: Sequence[str], leases: Sequence[str], mine: str, weight: int) -> int:
    """How many leases there will be once everyone in line up to a node has its own.

    An owner before that node may want several, but no name tells; it counts as one.
    """
    lent = {owner_of(each) for each in leases}
    before = earlier(line, mine, MUTEX_CUTS)
    return len(leases) + sum(owner_of(each) not in lent for each in before) + weight
