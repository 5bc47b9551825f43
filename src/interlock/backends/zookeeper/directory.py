"""What is what below the chroot: which names are in use, as what, and by which clients.

A walk lists the tree level by level and judges it afterwards, without asking any more.  A child
is the node of a holder or waiter, or a directory.  The parts of a semaphore or a latch look like
directories, and a lock may be named like one of them; so they count as parts only if they hold
what such a part holds.

When a lease was last renewed is known to its own client alone; so of another client's hold an
onlooker knows a bound: the lease that the node tells (see `layout.lease_note`), or the session.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ...drive import now
from ...errors import StoreError, StoreMisconfigured, Unsupported
from ...model import RESERVED, Holder
from ...steps import Call, Steps, together
from .kinds import in_use_as
from .latches import read_latch
from .layout import (
    FRONTS,
    LATCH,
    LEASES,
    LOCKS,
    NUMBER,
    NUMBERS,
    PERMITS,
    REVOKE,
    SYSTEM,
    identity_of,
    is_node,
    is_ours,
    is_party,
    name_of,
    owner_of,
    party_owner,
    path_of,
    use_of,
    use_of_permits,
)
from .namespace import Namespace
from .queue_nodes import ask, parents
from .transport.requests import EPHEMERAL, Children, Create, Exists, Get, Put, Refusal, ZkRequest

#: Directories to list in one burst.
STRIDE = 200

#: Seconds after which a client looks whether its description is still there.
REPEATED = 60.0

#: Seconds that no session is longer than: a server counts its milliseconds in 31 bits.
LONGEST = 2**31 / 1000

#: Parts of a name that are no directories.
FACTS = (*NUMBERS, LATCH)


class Tree(NamedTuple):
    """What a walk has seen: the children of each directory, and the content of the facts."""

    listed: dict[str, Sequence[str]]
    told: dict[str, bytes]
    #: Nodes of parties, which are no directories.
    parties: set[str]

    def is_fact(self, path: str) -> bool:
        """Whether a node says how many permits there are, or how far a latch has counted."""
        data = self.told.get(path, b"")
        return read_latch(data) is not None if path.endswith(f"/{LATCH}") else len(data) == NUMBER

    def use_of(self, path: str) -> str | None:
        """As what a directory is in use."""
        children = self.listed[path]
        own = path.rpartition("/")[2].startswith(RESERVED)  # where clients are named by UUIDs too
        if not own and any(f"{path}/{each}" in self.parties for each in children):
            return "barrier"
        facts = [each for each in FACTS if each in children and self.is_fact(f"{path}/{each}")]
        return use_of([*facts, *filter(is_node, children)]) or self._permits(path)

    def _permits(self, path: str) -> str | None:
        leases, line = (self.listed.get(f"{path}/{each}", ()) for each in (LEASES, LOCKS))
        return use_of_permits(leases, line, LEASES in self.listed[path])

    def uses(self) -> Iterator[tuple[str, str]]:
        """Every directory that is in use; those of a semaphore are not for themselves."""
        found = {path: use for path in self.listed if path and (use := self.use_of(path))}
        for path, use in found.items():
            above, _, last = path.rpartition("/")
            if last not in (LOCKS, LEASES) or found.get(above) not in PERMITS:
                yield path, use


class ZkDirectory:
    """See `spi.Directory`."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace

    def introduce(self, holder: Holder, until: float) -> Steps[float]:
        """Describe this client for as long as its session lasts.  One round trip."""
        session, clients = self._namespace.session.session_timeout, self._namespace.clients
        client = {"host": holder.host, "pid": holder.pid, "program": holder.program}
        told = json.dumps({**client, "started": holder.since, "session": session})
        create = Create(f"{clients}/{holder.owner}", told.encode(), EPHEMERAL)
        yield from ask("", [*parents(clients), create], until)
        return REPEATED

    def kind_of(self, name: str, until: float) -> Steps[str | None]:
        kind, _ = yield from self._found(name, until)
        return kind

    def _found(self, name: str, until: float) -> Steps[tuple[str | None, Sequence[str]]]:
        """As what a name is in use, and the children of its directory."""
        (listed,) = yield from ask(name, [Children(path_of(name, self._namespace.root))], until)
        if listed.value is Refusal.MISSING:
            return None, ()
        kind = yield from in_use_as(self._namespace, name, listed.value, until)
        return kind, listed.value

    # --- requesting a release -----------------------------------------------------------

    def request_release(self, name: str, until: float) -> Steps[int]:
        """Request the release of a name from each of its holders; answers how many there are.

        Two round trips.  Safe to repeat: a second request says the same.
        """
        kind, children = yield from self._found(name, until)
        if kind is None:
            return 0
        if kind not in FRONTS:
            raise Unsupported(
                f"{name!r} is a {kind}: a release can be requested of locks and read/write locks "
                "alone; revoke() ends a hold without asking"
            )
        path, holders = path_of(name, self._namespace.root), FRONTS[kind](children).nodes
        answers = yield from ask(name, [Put(f"{path}/{each}", REVOKE) for each in holders], until)
        return sum(answer.value is not Refusal.MISSING for answer in answers)

    # --- walking ------------------------------------------------------------------------

    def names(self, until: float) -> Steps[Sequence[tuple[str, str]]]:
        """One round trip for each level, and for each 200 directories of it."""
        root = self._namespace.root
        tree, level = Tree({}, {}, set()), [root]
        while level:
            for start in range(0, len(level), STRIDE):
                yield from _list(tree, root, level[start : start + STRIDE], until)
            level = [below for path in level for below in _below(tree, root, path)]
        uses = [(path[len(root) :], use) for path, use in tree.uses() if path != root]
        return [(name_of(path), use) for path, use in uses]


def _list(tree: Tree, root: str, paths: Sequence[str], until: float) -> Steps[None]:
    """Look into some directories at once.  One round trip."""
    requests: list[ZkRequest] = [Children(path or "/") for path in paths]
    requests += [Get(path) for path in paths if path.rpartition("/")[2] in FACTS and path != root]
    requests += [Exists(path) for path in paths if is_party(path.rpartition("/")[2])]
    replies = yield from together([Call(each, (), (), until) for each in requests])
    for each, reply in zip(requests, replies, strict=True):
        value = _seen(reply)
        if value is None:
            continue
        if isinstance(each, Get):
            tree.told[each.path] = value[0]
        elif isinstance(each, Exists):
            tree.parties.update([each.path] if value.ephemeralOwner else [])
        else:
            tree.listed[each.path.rstrip("/")] = value


def _seen(reply: Any) -> Any:
    """The answer; None of what has gone, or may not be read by this client."""
    if isinstance(reply, StoreMisconfigured) and not reply.final:
        return None
    if isinstance(reply, StoreError):
        raise reply
    return None if reply.value is Refusal.MISSING else reply.value


def _below(tree: Tree, root: str, path: str) -> Iterator[str]:
    """The directories in a directory; at the top some are not for locks."""
    for child in tree.listed.get(path, ()):
        own = path == root and (child == SYSTEM or child.startswith(RESERVED))
        if not own and not is_node(child):
            yield f"{path}/{child}"


# --- holders ----------------------------------------------------------------------------------


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


def leader_of(
    namespace: Namespace, name: str, folder: str, node: str, told: Any, until: float
) -> Steps[Holder]:
    """The participant of an election whose node says so.  One round trip."""
    called, stat = told
    leader = replace(_holder(node, stat, ""), participant=called.decode("utf-8", "replace"))
    (leader,), _ = yield from _introduced(namespace, name, [leader], until, ())
    return _ending(namespace, folder, leader, None)


def parties_at(
    namespace: Namespace,
    name: str,
    folder: str,
    nodes: Sequence[str],
    opened: int,
    until: float,
) -> Steps[tuple[list[Holder], int | None]]:
    """The parties that have these nodes, and how many one of them says there have to be; those are
    inside that were there when the barrier opened.  Two round trips."""
    answers = yield from ask(name, [Get(f"{folder}/{each}") for each in nodes], until)
    told = [(node, a.value) for node, a in zip(nodes, answers, strict=True)]
    there = [(node, *value) for node, value in told if value is not Refusal.MISSING]
    found = [
        Holder(
            party_owner(node),
            since=stat.ctime / 1000,
            token=stat.czxid,
            mode="inside" if stat.czxid < opened else "waits",
        )
        for node, _, stat in there
    ]
    holders, _ = yield from _introduced(namespace, name, found, until, ())
    notes = [_read((data,)) for _, data, _ in there]
    leases = [_seconds(note.get("lease")) for note in notes]
    numbers = [each for note in notes if type(each := note.get("parties")) is int]
    ends = zip(holders, leases, strict=True)
    return [_ending(namespace, folder, *each) for each in ends], next(iter(numbers), None)


def _holder(node: str, stat: Any, mode: str) -> Holder:
    return Holder(owner_of(node), since=stat.ctime / 1000, token=stat.czxid, mode=mode)


def first_end(holders: Sequence[Holder]) -> float | None:
    """When the first of them ends, at the latest, unless it is renewed."""
    return min((each.expires_in for each in holders if each.expires_in is not None), default=None)


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
