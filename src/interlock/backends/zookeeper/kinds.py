"""As what a name is in use, and which of its children are what their names say.

The two directories of a mutex stay for a while after its last use, so a client that finds them
has to look whether they are empty.

Curator counts every child of a directory as a node of its queue, whatever its name, and so does
Interlock, unless the child is a directory: there is a lock `a` and a lock `a/0`, and Java, which
has no way to tell, waits for `0` as long as it exists.  To overlook a directory grants nothing too
early: nodes of a queue are ephemeral, and an ephemeral node has no children.  But a grant that
overlooks a holder is worse than one that waits, so any other child counts; where Java would wait
for ever behind one that no client removes, Interlock says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import StoreError, StoreMisconfigured
from ...ledger import OTHER_KIND, refusal
from ...steps import Call, Steps, together
from .layout import (
    LEASES,
    LOCKS,
    NUMBER,
    NUMBERS,
    PROTECTED,
    Order,
    earlier,
    has_certain_part,
    is_lookalike,
    is_ours,
    is_party,
    is_stray,
    path_of,
    use_of,
    use_of_permits,
    use_of_queue,
)
from .namespace import Namespace, NodeSpec, QueuePlace
from .queue_nodes import ask
from .transport.requests import Children, Exists, Get, Refusal, Sync, ZkRequest

#: How often to look at a child that was perhaps made just now, and will be a directory soon.
LOOKS = 8


def check_kind(
    namespace: Namespace, name: str, children: Sequence[str], kind: str, until: float
) -> Steps[None]:
    """Raise where a name is in use as something else.  Mostly no round trip."""
    use = yield from in_use_as(namespace, name, children, until)
    if use is not None and use != kind:
        raise in_use(name, use, kind, namespace.label)


def in_use(name: str, kind: str, wanted: str, store: str) -> StoreError:
    """The name is something else; the client's node is there for a moment all the same."""
    error = refusal(name, wanted, (OTHER_KIND, kind), store)
    error.partial = True
    return error


def in_use_as(
    namespace: Namespace, name: str, children: Sequence[str], until: float
) -> Steps[str | None]:
    """The kind of a name; None when it is free.  One round trip where there are permits."""
    if all(child[:3] == "_c_" for child in children):  # nothing but a queue, as of every lock
        return use_of_queue(children)
    path = path_of(name, namespace.root)
    if parties := [each for each in children if is_party(each)]:
        if (yield from only_parties(name, path, parties, until)):
            return "barrier"
        children = [each for each in children if each not in parties]
    children = yield from genuine(name, path, children, until)
    inside = [each for each in (LEASES, LOCKS) if each in children]
    if not inside or has_certain_part(children):
        return use_of(children)
    answers = yield from ask(name, [Children(f"{path}/{each}") for each in inside], until)
    listed = {each: answer.children for each, answer in zip(inside, answers, strict=True)}
    # The client that asks may have a node among the children, beside the holders of permits.
    use = use_of_permits(listed.get(LEASES, ()), listed.get(LOCKS, ()), LEASES in listed)
    return use or use_of(children)


def genuine(name: str, path: str, children: Sequence[str], until: float) -> Steps[list[str]]:
    """The same children without those that are only named like a number of permits, or like a
    node of a queue.  A round trip for each of the two, but mostly none."""
    lookalikes = [child for child in children if is_lookalike(child)]
    numbers = [each for each in NUMBERS if each in children]
    false: list[str] = []
    if lookalikes:
        real = yield from without_directories(name, path, lookalikes, until)
        false += [child for child in lookalikes if child not in real]
    if numbers:
        reads = [Call(Get(f"{path}/{each}"), (name,), (), until) for each in numbers]
        replies = yield from together(reads)
        pairs = zip(numbers, replies, strict=True)
        false += [each for each, told in pairs if not _is_number(told)]
    return [child for child in children if child not in false] if false else list(children)


def only_parties(
    name: str, folder: str, children: Sequence[str], until: float
) -> Steps[list[str]]:
    """Those of some children named by UUIDs that are parties at a barrier, and no directories of
    other names.  No round trip where all are Interlock's; otherwise one."""
    unclear = [each for each in children if not is_ours(f"_c_{each}-")]
    if not unclear:
        return list(children)
    stats = yield from ask(name, [Exists(f"{folder}/{each}") for each in unclear], until)
    seen = dict(zip(unclear, (answer.value for answer in stats), strict=True))
    gone = [each for each, stat in seen.items() if not _is_ephemeral(stat)]
    return [each for each in children if each not in gone]


def _is_ephemeral(stat: Any) -> bool:
    return stat is not Refusal.MISSING and stat.ephemeralOwner != 0


def _is_number(reply: Any) -> bool:
    if isinstance(reply, StoreMisconfigured):
        return True  # the client may not read it, so it may well be one
    if isinstance(reply, StoreError):
        raise reply
    return reply.value is not Refusal.MISSING and len(reply.value[0]) == NUMBER


# --- which children queue ---------------------------------------------------------------------


def only_queued(
    spec: NodeSpec, place: QueuePlace, cuts: Sequence[str], until: float
) -> Steps[QueuePlace]:
    """The same place without the directories before its node.  Mostly no round trip."""
    before = earlier(place.children, place.node.name, cuts)
    if all(map(PROTECTED.fullmatch, before)):
        return place
    queued = yield from without_directories(spec.name, spec.folder, before, until)
    others = [each for each in place.children if each not in before]
    return place._replace(children=[*queued, *others])


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


def without_directories(
    name: str, folder: str, children: Sequence[str], until: float
) -> Steps[list[str]]:
    """The children of a directory that are no directories.  No round trip where every child is a
    node by its name; otherwise one, or a few if one of the others was made just now."""
    unclear = [child for child in children if PROTECTED.fullmatch(child) is None]
    directories: list[str] = []
    for _ in range(LOOKS):
        if not unclear:
            break
        looks: list[ZkRequest] = [
            Sync(folder),
            *(Exists(f"{folder}/{child}") for child in unclear),
        ]
        _, *stats = yield from ask(name, looks, until)
        seen = {child: stat.value for child, stat in zip(unclear, stats, strict=True)}
        directories += [child for child, stat in seen.items() if _is_directory(stat)]
        unclear = [child for child, stat in seen.items() if _is_unclear(stat)]
    return [child for child in children if child not in directories]


def _is_directory(stat: Any) -> bool:
    """Whether it has, or has had, children; or has gone, and does not queue any more."""
    return stat is Refusal.MISSING or stat.cversion > 0


def _is_unclear(stat: Any) -> bool:
    """Whether it may become a directory: it is persistent and empty, and never had a child."""
    return not _is_directory(stat) and stat.ephemeralOwner == 0 and stat.dataLength == 0
