"""What can be seen of a lock: its holder, who waits, and since when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...model import Holder, LockInfo
from ...steps import Steps
from . import names, queue
from .folder import ask
from .ground import Ground
from .kinds import check
from .people import described
from .wire import Children, Exists, No


def looked(ground: Ground, kind: str, name: str, until: float) -> Steps[LockInfo | None]:
    """Who holds a lock, and how many wait; None when nobody does.  Three round trips."""
    path = ground.path_of(name)
    (listed,) = yield from ask(name, [Children(path)], until)
    if listed.value is No.MISSING:
        return None
    yield from check(ground, name, listed.value, kind, until)
    queued = [each for each in queue.ranked(listed.value, queue.MUTEX) if is_node(each)]
    if not queued:
        return None
    holders = yield from holding(ground, name, path, queued[:1], "", until)
    waiters = len(queued) - 1
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


def _holder(node: str, stat: Any, mode: str) -> Holder:
    since = stat.ctime / 1000
    return Holder(names.owner_of(node), since=since, token=stat.czxid, mode=mode)


def is_node(node: str) -> bool:
    """Whether a child is a node of a lock, and not a directory below it."""
    return queue.use_of([node]) is not None


def expires(holders: Sequence[Holder]) -> float | None:
    """When the first of them would go, if its client died now."""
    return min((each.expires_in for each in holders if each.expires_in is not None), default=None)
