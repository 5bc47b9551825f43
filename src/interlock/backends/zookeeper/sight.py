"""What can be seen of a lock: its holder, who waits, and since when."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...model import Holder, LockInfo
from ...steps import Steps
from . import names, queue
from .folder import ask
from .ground import Ground
from .kinds import check
from .people import described
from .wire import Children, Exists, No


class Front(NamedTuple):
    """Those in a directory who have what it is about, as what, and how many others wait."""

    nodes: Sequence[str]
    mode: str
    waiters: int


def first_alone(children: Sequence[str]) -> Front:
    """The first has it.  Pure."""
    queued = [each for each in queue.ranked(children, queue.MUTEX) if names.is_node(each)]
    return Front(queued[:1], "", len(queued[1:]))


def looked(
    ground: Ground,
    kind: str,
    name: str,
    until: float,
    front_of: Callable[[Sequence[str]], Front] = first_alone,
) -> Steps[LockInfo | None]:
    """Who holds a lock, and how many wait; None when nobody does.  Three round trips."""
    path = ground.path_of(name)
    (listed,) = yield from ask(name, [Children(path)], until)
    if listed.value is No.MISSING:
        return None
    yield from check(ground, name, listed.value, kind, until)
    nodes, mode, waiters = front_of(listed.value)
    if not nodes:
        return None
    holders = yield from holding(ground, name, path, nodes, mode, until)
    return LockInfo(name, kind, tuple(holders), expires(holders), waiters)


def holding(
    ground: Ground, name: str, folder: str, nodes: Sequence[str], mode: str, until: float
) -> Steps[list[Holder]]:
    """Those who have these nodes; who has gone meanwhile is left out.  Two round trips."""
    if not nodes:
        return []
    stats = yield from ask(name, [Exists(f"{folder}/{each}") for each in nodes], until)
    holders = [
        Holder(
            names.owner_of(node), since=stat.value.ctime / 1000, token=stat.value.czxid, mode=mode
        )
        for node, stat in zip(nodes, stats, strict=True)
        if stat.value is not No.MISSING
    ]
    return (yield from described(ground, name, holders, until))


def expires(holders: Sequence[Holder]) -> float | None:
    """When the first of them would go, if its client died now."""
    return min((each.expires_in for each in holders if each.expires_in is not None), default=None)
