"""Permits: the leases that are permits, and how many there may be.

Theory of operation.  An owner that wants permits first enqueues in the line, the directory
`locks`; the first in line makes its leases in `leases`, and holds them once there are no more
leases than permits.  Until then it stays the first: two owners that both waited with a lease too
many would wait for each other.  As soon as it holds them it leaves the line, without awaiting the
answer.  A lease counts from the list that was made behind it, so that no owner is granted too
much, whatever becomes of the line.

How many permits there are is Curator's SharedCount, four bytes beside the two directories.  The
first client that names a number writes it, and from then on the name is a semaphore for good.  In
its place may be the directory of a lock of that name; then the number is written into that.
Before it is written the name may be in use as a mutex, which leaves nothing but nodes.  So the
client lists the nodes before it writes the number, and once more behind it, because others may
come in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ...errors import StoreMisconfigured
from ...ledger import UNSET, OtherKind, refusal
from ...model import Holder, LockInfo, kind_of_owner
from ...steps import Steps
from .directory import first_end, holders_of
from .kinds import genuine, in_use, without_directories
from .layout import (
    COUNT,
    LEASED,
    LEASES,
    LOCKS,
    NUMBER,
    PROTECTED,
    is_node,
    is_ours,
    owner_of,
    use_of,
    use_of_permits,
)
from .namespace import Namespace, Node, NodeSpec, OwnNodes
from .queue_nodes import VANISHED, ask, find, parents, vanishing
from .transport.requests import (
    PERSISTENT,
    Answer,
    Children,
    Create,
    Delete,
    Get,
    Put,
    Refusal,
    Sync,
    ZkRequest,
)

#: Where each kind has its number of permits; a mutex has one permit, which is nowhere written.
COUNT_NODES = {"semaphore": COUNT, "leased_semaphore": LEASED}

#: The child that keeps a directory with a number in it; no lock has a name like this.
KEPT = "kept%"


# --- leases -----------------------------------------------------------------------------------


class PermitClaim(NamedTuple):
    """What an owner wants of a name: a place in line, then leases.

    `until` bounds how long an answer is worth waiting for; a waiter listens to its `topic`.
    """

    name: str
    path: str
    line: NodeSpec
    leases: NodeSpec
    until: float
    topic: Any = None

    @property
    def specs(self) -> tuple[NodeSpec, NodeSpec]:
        return self.leases, self.line


def all_listed(listed: Answer, node: Node) -> bool:
    """Whether a list, of the same session, has all the leases of an owner."""
    alive = all(each.session == listed.session for each in node.share)
    return alive and {each.name for each in node.share} <= {*listed.children}


def taken(claim: PermitClaim, children: Sequence[str]) -> Steps[list[str]]:
    """The children of the leases' directory that take a permit: all but directories, and nodes
    of the queue of a lock of that name.  Mostly no round trip."""
    leases = [each for each in children if "lease-" in each or not is_node(each)]
    if all(map(PROTECTED.fullmatch, leases)):
        return leases
    return (yield from without_directories(claim.name, claim.leases.folder, leases, claim.until))


# --- looking ----------------------------------------------------------------------------------


def info_of(
    namespace: Namespace,
    kind: str,
    claim: PermitClaim,
    held: Sequence[str],
    waiters: int,
    room: int | None,
) -> Steps[LockInfo | None]:
    """Who holds these leases; None when nothing is known of the name.  Two round trips."""
    name, folder = claim.name, claim.leases.folder
    holders = yield from holders_of(namespace, name, folder, held, "", claim.until)
    info = LockInfo(name, kind, _weighed(holders), first_end(holders), waiters)
    if kind == "mutex" or room is None:
        return info if info.holders else None
    return replace(info, permits=room, available=max(0, room - len(holders)))


def _weighed(holders: Sequence[Holder]) -> tuple[Holder, ...]:
    """One holder for all the leases of an owner.  Pure."""
    shares: dict[str, list[Holder]] = {}
    for each in holders:
        shares.setdefault(each.owner, []).append(each)
    return tuple(
        replace(share[-1], since=share[0].since, weight=len(share)) for share in shares.values()
    )


# --- giving back ------------------------------------------------------------------------------


def leave_both(nodes: OwnNodes, claim: PermitClaim) -> Steps[bool]:
    """Give leases and place back; False when a lease was gone, or there was none.

    One round trip if the client knows them, two if it has to look for them.
    """
    for spec in claim.specs:
        _leaving(nodes.get(spec.key))
    leases, line = yield from _paths_of_both(nodes, claim)
    answers: list[Answer] = []
    if leases or line:
        deletes = [Delete(path) for path in (*leases, *line)]
        answers = yield from ask(claim.name, deletes, claim.until)
    for spec in claim.specs:
        nodes.pop(spec.key, None)
    given = [answer.value is not Refusal.MISSING for answer in answers[: len(leases)]]
    return bool(given) and all(given)


def _leaving(node: Node | None) -> None:
    for each in node.share if node is not None else ():
        each.left = True


def _paths_of_both(nodes: OwnNodes, claim: PermitClaim) -> Steps[list[list[str]]]:
    """The paths of an owner's leases, and of its place.  Those of another client's owner, or
    after a lost answer, have to be looked for."""
    foreign = not any(spec.key in nodes for spec in claim.specs)
    unsure = [spec for spec in claim.specs if foreign or _is_unsure(nodes, spec)]
    found: dict[str, list[str]] = {}
    if unsure:
        reads: list[ZkRequest] = [Children(spec.folder) for spec in unsure]
        _, *listed = yield from ask(claim.name, [Sync(claim.path), *reads], claim.until)
        found = {
            spec.folder: [f"{spec.folder}/{node}" for node in find(each, spec.owner)]
            for spec, each in zip(unsure, listed, strict=True)
        }
    return [found.get(spec.folder, _known_paths(nodes, spec)) for spec in claim.specs]


def _is_unsure(nodes: OwnNodes, spec: NodeSpec) -> bool:
    node = nodes.get(spec.key)
    return spec.key in nodes and (node is None or node.unanswered)


def _known_paths(nodes: OwnNodes, spec: NodeSpec) -> list[str]:
    node = nodes.get(spec.key)
    return [] if node is None else [each.path for each in node.share]


# --- how many there are -----------------------------------------------------------------------


class PermitCount(NamedTuple):
    """Where the permits of a name are counted, and as what."""

    name: str
    path: str
    kind: str
    store: str

    @property
    def place(self) -> str:
        return f"{self.path}/{COUNT_NODES[self.kind]}"

    def read(self, data: bytes) -> int | None:
        """The number in the node, None in a directory of that name; a negative number is none."""
        if not data:
            return None
        if len(data) != NUMBER:
            raise StoreMisconfigured(
                f"{self.place} holds {len(data)} bytes, and a number of permits has four: "
                "choose another name",
                self.store,
            )
        return max(0, int.from_bytes(data, "big", signed=True))

    def lists(self) -> list[ZkRequest]:
        """The requests whose answers tell as what else the name may be in use."""
        return [Children(each) for each in (self.path, *self._parts)]

    @property
    def _parts(self) -> tuple[str, str]:
        return f"{self.path}/{LOCKS}", f"{self.path}/{LEASES}"

    def check(self, listed: Sequence[Answer], until: float) -> Steps[None]:
        """Raise where the name is something else.  Mostly no round trip."""
        children, line, leases = (each.children for each in listed)
        children = without_count(children, self.kind)
        children = yield from genuine(self.name, self.path, children, until)
        use = other_use(children, leases, line, self.kind)
        if use is not None:
            raise in_use(self.name, use, self.kind, self.store)


def without_count(children: Sequence[str], kind: str) -> list[str]:
    """The same children without the number of this kind.  Pure."""
    return [each for each in children if each != COUNT_NODES.get(kind)]


def other_use(
    children: Sequence[str], leases: Sequence[str], line: Sequence[str], kind: str
) -> str | None:
    """As what else a name is in use, by its children and those of its two parts.  Pure.

    Java's nodes do not tell their kind, so they are taken for this one.
    """
    if (use := use_of(children)) is None:
        lent, queued = (
            [node for node in part if _is_of_other_kind(node, kind)] for part in (leases, line)
        )
        use = use_of_permits(lent, queued, lent=False)
    return None if use == kind else use


def _is_of_other_kind(node: str, kind: str) -> bool:
    return is_ours(node) and kind_of_owner(owner_of(node)) != kind


def begin_count(count: PermitCount, permits: int | None, until: float) -> Steps[int]:
    """Write the number of permits, unless there is one; answers how many.  Two round trips."""
    for _ in range(VANISHED):
        listed = yield from ask(count.name, count.lists(), until)
        yield from count.check(listed, until)
        if permits is None:
            raise refusal(count.name, count.kind, (UNSET,), count.store)
        written = yield from _write(count, permits, until)
        if written is not None:
            return written
    raise vanishing(count.name, count.path)


def _write(count: PermitCount, permits: int, until: float) -> Steps[int | None]:
    above = parents(count.path)
    create = Create(count.place, _packed(permits), PERSISTENT)
    requests = [*above, create, Get(count.place), *count.lists()]
    answers = yield from ask(count.name, requests, until)
    created, told, *listed = answers[len(above) :]
    try:
        yield from count.check(listed, until)
    except OtherKind:
        if created.value is not Refusal.THERE:
            yield from ask(count.name, [Delete(count.place)], until)
        raise
    if told.value is Refusal.MISSING:
        return None
    data, stat = told.value
    number = count.read(data)
    if number is None:
        yield from _write_into_directory(count, permits, stat.version, until)
    return number


def _packed(permits: int) -> bytes:
    return permits.to_bytes(NUMBER, "big", signed=True)


def _write_into_directory(
    count: PermitCount, permits: int, version: int, until: float
) -> Steps[None]:
    """Write the number into the directory of a lock of that name.

    The directory may be a container, which the servers delete when its last child has gone; so it
    gets a child that stays.
    """
    write = Put(count.place, _packed(permits), version)
    yield from ask(count.name, [_kept(count), write], until)


def _kept(count: PermitCount) -> Create:
    return Create(f"{count.place}/{KEPT}", flags=PERSISTENT)


def put_count(count: PermitCount, permits: int, until: float) -> Steps[None]:
    """From now on there are so many permits.  One round trip; three the first time."""
    write = [Put(count.place, _packed(permits))]
    (answer,) = yield from ask(count.name, write, until)
    if answer.value is Refusal.MISSING:
        if (yield from begin_count(count, permits, until)) != permits:
            yield from ask(count.name, write, until)
    elif answer.value.cversion > 0:  # it has children, or had some
        yield from ask(count.name, [_kept(count)], until)
