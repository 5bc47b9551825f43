"""Who holds a name, as what it can be seen: the holders, their clients, when their holds end.

When a lease was last renewed is known to its own client alone; so of another client's hold an
onlooker knows a bound: the lease that the node tells (see `layout.lease_note`), or the session.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ...drive import now
from ...errors import StoreError
from ...model import Holder, LockInfo
from ...steps import Call, Steps, together
from .kinds import check_kind, without_directories
from .layout import LEASES, Front, identity_of, is_node, is_ours, lease_holders, owner_of, path_of
from .namespace import Namespace
from .queue_nodes import ask
from .transport.requests import Children, Exists, Get, Refusal, ZkRequest

#: Seconds that no session is longer than: a server counts its milliseconds in 31 bits.
LONGEST = 2**31 / 1000


class LeaseLists(NamedTuple):
    """The leases of a name, its line, and for how many there is room, if that is known."""

    leases: Sequence[str]
    line: Sequence[str]
    room: int | None


def look_at_queue(
    namespace: Namespace,
    kind: str,
    name: str,
    until: float,
    front: Callable[[Sequence[str]], Front],
) -> Steps[LockInfo | None]:
    """Who holds a lock, and how many wait; None when it is free.  Three round trips."""
    path = path_of(name, namespace.root)
    (listed,) = yield from ask(name, [Children(path)], until)
    if listed.value is Refusal.MISSING:
        return None
    yield from check_kind(namespace, name, listed.value, kind, until)
    nodes_only = [each for each in listed.value if is_node(each)]
    queued = yield from without_directories(name, path, nodes_only, until)
    nodes, mode, waiters = front(queued)
    if not nodes:
        return None
    holders = yield from holders_of(namespace, name, path, nodes, mode, until)
    return LockInfo(name, kind, tuple(holders), _first_end(holders), waiters)


def holders_of(
    namespace: Namespace, name: str, folder: str, nodes: Sequence[str], mode: str, until: float
) -> Steps[list[Holder]]:
    """The holders that have these nodes; one that has gone is left out.  Two round trips."""
    if not nodes:
        return []
    answers = yield from ask(name, [Exists(f"{folder}/{each}") for each in nodes], until)
    stats = [(node, answer.value) for node, answer in zip(nodes, answers, strict=True)]
    held = [
        (_holder(node, stat, mode), node, stat)
        for node, stat in stats
        if stat is not Refusal.MISSING
    ]
    return (yield from _described(namespace, name, folder, held, until))


def _holder(node: str, stat: Any, mode: str) -> Holder:
    return Holder(owner_of(node), since=stat.ctime / 1000, token=stat.czxid, mode=mode)


def _first_end(holders: Sequence[Holder]) -> float | None:
    """When the first of them ends, at the latest, unless it is renewed."""
    return min((each.expires_in for each in holders if each.expires_in is not None), default=None)


def look_at_leases(
    namespace: Namespace, kind: str, name: str, until: float, seen: LeaseLists
) -> Steps[LockInfo | None]:
    """Who holds permits, and how many wait; None when nothing is known.  Two round trips."""
    folder = f"{path_of(name, namespace.root)}/{LEASES}"
    held, waiters = lease_holders(seen.line, seen.leases, seen.room)
    holders = yield from holders_of(namespace, name, folder, held, "", until)
    info = LockInfo(name, kind, _weighed(holders), _first_end(holders), waiters)
    if kind == "mutex" or seen.room is None:
        return info if info.holders else None
    return replace(info, permits=seen.room, available=max(0, seen.room - len(holders)))


def _weighed(holders: Sequence[Holder]) -> tuple[Holder, ...]:
    """One holder for all the leases of an owner.  Pure."""
    shares: dict[str, list[Holder]] = {}
    for each in holders:
        shares.setdefault(each.owner, []).append(each)
    return tuple(
        replace(share[-1], since=share[0].since, weight=len(share)) for share in shares.values()
    )


# --- clients and leases -----------------------------------------------------------------------


def _described(
    namespace: Namespace,
    name: str,
    folder: str,
    held: Sequence[tuple[Holder, str, Any]],
    until: float,
) -> Steps[list[Holder]]:
    """The same holders, each with what is known of its client and when its hold ends.

    Each comes with its node and the node's stat.  One round trip.
    """
    telling = [node for _, node, stat in held if is_ours(node) and stat.dataLength > 0]
    notes: list[ZkRequest] = [Get(f"{folder}/{node}") for node in telling]
    holders = [holder for holder, _, _ in held]
    holders, replies = yield from _introduced(namespace, name, holders, until, notes)
    leases = {node: _lease(reply) for node, reply in zip(telling, replies, strict=False)}
    return [
        _ending(namespace, folder, holder, leases.get(node))
        for holder, (_, node, _) in zip(holders, held, strict=True)
    ]


def _introduced(
    namespace: Namespace,
    name: str,
    holders: Sequence[Holder],
    until: float,
    beside: Sequence[ZkRequest],
) -> Steps[tuple[list[Holder], list[Any]]]:
    """The same holders with what their clients say of themselves; and the replies to the other
    requests of the same burst.  One round trip."""
    clients = list(dict.fromkeys(filter(None, map(_client, holders))))
    if not clients:
        return list(holders), []
    reads: list[ZkRequest] = [Get(f"{namespace.clients}/{each}") for each in clients]
    replies = yield from together([Call(each, (name,), (), until) for each in (*reads, *beside)])
    answers, others = replies[: len(reads)], replies[len(reads) :]
    if failures := [each for each in answers if isinstance(each, StoreError)]:
        raise failures[0]
    told = dict(zip(clients, (_read(answer.value) for answer in answers), strict=True))
    return [_with_client(each, told.get(_client(each), {})) for each in holders], others


def _client(holder: Holder) -> str:
    return identity_of(holder.owner)


def _read(value: Any) -> dict[str, Any]:
    """What a node says, if it makes sense at all.  Pure."""
    try:
        told = {} if value is Refusal.MISSING else json.loads(value[0])
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def _with_client(holder: Holder, told: dict[str, Any]) -> Holder:
    """Any client may have written the description, so only what makes sense of it counts."""
    pid = told.get("pid")
    return replace(
        holder,
        host=_text(told.get("host")),
        pid=pid if type(pid) is int else 0,
        program=_text(told.get("program")),
        expires_in=_seconds(told.get("session")),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _seconds(value: Any) -> float | None:
    """A length of time that makes sense.  Pure."""
    return value if type(value) in (int, float) and 0 <= value <= LONGEST else None


def _lease(reply: Any) -> float | None:
    """What a node says of its lease, if this client may read it."""
    return None if isinstance(reply, StoreError) else _seconds(_read(reply.value).get("lease"))


def _ending(namespace: Namespace, folder: str, holder: Holder, lease: float | None) -> Holder:
    mine = namespace.nodes.get((holder.owner, folder))
    if mine is not None and mine.held:
        left = namespace.valid_until(mine.held, mine.lease) - now()
        return replace(holder, expires_in=max(0.0, left))
    ends = [each for each in (holder.expires_in, lease) if each is not None]
    return replace(holder, expires_in=min(ends, default=None))
