"""How a name is laid out, in Curator's manner: paths, and names of nodes.  These names alone tell
as what a name is in use, which node is before which, and which of them hold.  Pure.

A name is the path of its directory below the chroot: Java's `/locks/orders` is `locks/orders`,
and may be spelled with its slash as well.  Characters that ZooKeeper refuses in a path are
written as `%XX`, and so is the percent sign itself, so that no two names share a path.  A part
that would begin with a percent sign has a tilde before it: Java would sort a bare percent sign
before every node of a queue.

A node of Interlock is named as Curator names a protected one: `_c_<uuid>-lock-0000000007`.  The
UUID is the owner, spelled in 16 bytes (see `model.permit_id`), of version 8; Java's are of
version 4.  So a list of names tells which owner made which node, and a client whose create was
not answered finds its node again.

A lock's directory has the nodes of a queue in it.  A semaphore's has two directories, `locks` and
`leases`, and its number of permits in `count` (in `leased`, if the permits have ids).  A latch's
has one node, `latch%`; a barrier's has the nodes of its parties, which are UUIDs, and `ready`.  A
lock may be named like a part of something: `z/count` is below `z`, and so is its directory.  Parts
that Curator shares keep their place and are told by their content: `count` is a number of permits
if it holds four bytes, a party is ephemeral, and directories are neither.  Parts that only
Interlock has are named as no name of a lock is written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import NamedTuple
from uuid import UUID

from ...model import kind_of_owner, permit_id

#: How the name of a node goes on after its UUID.
LOCK, LEASE, READ, WRITE = "-lock-", "-lease-", "-__READ__", "-__WRIT__"

#: Of a participant in an election; Curator calls that a leader latch.
CANDIDATE = "-latch-"

#: Curator cuts names here to sort them, without the dash that Curator and Interlock write.
MUTEX_CUTS, RW_CUTS, LEASE_CUTS = ("lock-",), ("__READ__", "__WRIT__"), ("lease-",)
ELECTION_CUTS = ("latch-",)

#: The parts of a semaphore or a mutex, and of a latch.
LOCKS, LEASES, COUNT, LEASED, LATCH = "locks", "leases", "count", "leased", "latch%"

#: Parts that hold a number of permits, unless they are directories; and its length in bytes.
NUMBERS, NUMBER = (COUNT, LEASED), 4

#: What is there while the parties of a barrier are inside.
READY = "ready"

#: What a client writes into the node of a holder to request its release: Curator's word.
REVOKE = b"__REVOKE__"

#: ZooKeeper's own directory, beside Interlock's when there is no chroot.
SYSTEM = "zookeeper"

#: Kinds whose holders have leases.
PERMITS = ("mutex", "semaphore", "leased_semaphore")

_CERTAIN = {COUNT: "semaphore", LEASED: "leased_semaphore", LATCH: "latch"}

#: Characters that ZooKeeper refuses in a path, and the percent sign.
_REFUSED = re.compile("[%\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff\U00010000-\U0010ffff]")
_ESCAPED = re.compile("(?:%[0-9A-F]{2})+")

_BEGIN = r"_c_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-"

#: A node of Curator or of Interlock, by a name that no lock has; and one that is a lease.
PROTECTED = re.compile(f"{_BEGIN}.*", re.DOTALL)
LEASE_NODE = re.compile(f"{_BEGIN}.*lease-.*", re.DOTALL)

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SEQUENCE = re.compile(r"-?\d{10}")
_MARKS = ("lock-", "lease-", "__READ__", "__WRIT__")
_OWNER = re.compile(r"[0-9a-f-]{36}:\d+")


# --- paths ------------------------------------------------------------------------------------


def path_of(name: str, root: str = "") -> str:
    """The directory of a name."""
    first, *others = name.removeprefix("/").split("/")
    parts = ["%7A" + first[1:] if first == SYSTEM else _segment(first), *map(_segment, others)]
    return f"{root}/{'/'.join(parts)}"


def name_of(path: str) -> str:
    """The name that is kept at a path below the chroot."""
    return "/".join(_unescaped(part) for part in path[1:].split("/"))


def _segment(text: str) -> str:
    if text in ("", ".", ".."):
        return "~%" + "%".join("2E" for _ in text)
    part = _REFUSED.sub(_escaped, text)
    return f"~{part}" if part[0] in "%~" and "%" in part else part


def _escaped(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found.group().encode())


def _unescaped(text: str) -> str:
    if "%" in text:
        text = text.removeprefix("~")
    return "" if text == "%" else _ESCAPED.sub(_original, text)


def _original(found: re.Match[str]) -> str:
    return bytes.fromhex(found.group().replace("%", "")).decode("utf-8", "replace")


# --- nodes ------------------------------------------------------------------------------------


def uuid_of(owner: str) -> str:
    """How an owner is spelled in the name of a node."""
    if _OWNER.fullmatch(owner) is None:
        return owner  # a client of another make, which is known by this alone
    return str(UUID(bytes=permit_id(owner)))


def prefix_of(owner: str) -> str:
    """How the names of an owner's nodes begin."""
    return f"_c_{uuid_of(owner)}"


def owner_of(node: str) -> str:
    """The owner of a node: one of Interlock, the UUID of another client, or the node's name."""
    found = PROTECTED.fullmatch(node)
    if found is None:
        return node
    if not is_ours(node):
        return found.group(1)
    raw = UUID(found.group(1)).bytes
    return f"{UUID(bytes=raw[:10] + bytes(6))}:{int.from_bytes(raw[10:], 'big')}"


def identity_of(owner: str) -> str:
    """The client of an owner of Interlock; empty for others."""
    return owner.rpartition(":")[0]


def belongs_to(node: str, owner: str) -> bool:
    """Whether a node is one of this owner's."""
    return node == owner or node.startswith(prefix_of(owner) + "-")


def is_ours(node: str) -> bool:
    """Whether a node was made by Interlock: its UUID is of version 8."""
    return node[:3] == "_c_" and node[17:18] == "8" and PROTECTED.fullmatch(node) is not None


def is_node(child: str) -> bool:
    """Whether a child is named as the node of a holder or waiter, of any make of client."""
    if PROTECTED.fullmatch(child) is not None:
        return True
    return any(mark in child and is_sequence(sort_key(child, mark)) for mark in _MARKS)


def is_party(child: str) -> bool:
    """Whether a child is named as the node of a party at a barrier."""
    return _UUID.fullmatch(child) is not None


def party_owner(node: str) -> str:
    """The owner of a party's node: one of Interlock, or the UUID of another client's."""
    return owner_of(f"_c_{node}-")


def is_lookalike(child: str) -> bool:
    """Whether a child is named as a node, and may be a directory all the same."""
    return child[:3] != "_c_" and is_node(child)


def sort_key(node: str, *cuts: str) -> str:
    """What a node is sorted by: the text after the last of each cut, as Java does it."""
    for cut in cuts:
        _, found, after = node.rpartition(cut)
        node = after if found else node
    return node


def is_sequence(text: str) -> bool:
    """Whether a key is a number that a server gave; after 2**31 nodes they are negative."""
    return _SEQUENCE.fullmatch(text) is not None


def lease_note(lease: float, session_timeout: float) -> bytes:
    """What a node says of its lease; nothing of one that is as long as the session.

    A node stays as long as its session, whatever its lease; the client that holds a shorter lease
    removes the node when the lease ends.  The note is a part of the create, so it costs nothing.
    A release request overwrites it, and an onlooker then sees the session's length.
    """
    return b"" if lease >= session_timeout else json.dumps({"lease": lease}).encode()


def party_note(lease: bytes, parties: int | None) -> bytes:
    """What the node of a party says: how many parties there have to be, beside its lease."""
    return json.dumps({**json.loads(lease or b"{}"), "parties": parties}).encode()


# --- as what a name is in use -----------------------------------------------------------------


def use_of(children: Sequence[str]) -> str | None:
    """The kind that the names of the children tell for sure; None when they do not."""
    for child, kind in _CERTAIN.items():
        if child in children:
            return kind
    if any(is_party(child) and is_ours(f"_c_{child}-") for child in children):
        return "barrier"
    return use_of_queue(children)


def use_of_queue(children: Sequence[str]) -> str | None:
    """The kind of lock whose queue the children are; None when their names do not tell.

    The first in the queue decides: the others learn from it, and leave.
    """
    uses = {node[-10:]: use for node in children if (use := _use_of_node(node)) is not None}
    return uses[min(uses)] if uses else None


def _use_of_node(node: str) -> str | None:
    if READ in node or WRITE in node:
        return "rwlock"
    if "lock-" in node and (is_ours(node) or is_sequence(sort_key(node, *MUTEX_CUTS))):
        return "lock"
    if CANDIDATE in node and is_sequence(sort_key(node, *ELECTION_CUTS)):
        return "election"
    return None


def use_of_permits(leases: Sequence[str], line: Sequence[str], lent: bool) -> str | None:
    """The kind for which permits are held or wanted; None without any.

    `lent` says whether there is a directory for leases at all: without one, Java's nodes in
    `locks` want a lock of that name.  With one, nothing tells for what Java takes its permits.
    """
    held = [each for each in leases if "lease-" in each and is_node(each)]
    nodes = [*held, *filter(is_node, line)]
    ours = [owner_of(node) for node in nodes if is_ours(node)]
    kinds = [kind for owner in ours if (kind := kind_of_owner(owner)) in PERMITS]
    if kinds:
        return kinds[0]
    return "semaphore" if lent and len(nodes) > len(ours) else None


def has_certain_part(children: Sequence[str]) -> bool:
    """Whether one of the children is a part that only one kind has."""
    return any(child in children for child in _CERTAIN)


# --- the order of a queue ---------------------------------------------------------------------


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


def before_candidate(children: Sequence[str], mine: str) -> str | None:
    """The nearest one before a candidate; None when there is none."""
    return _last_before(children, mine, ELECTION_CUTS)


def before_writer(children: Sequence[str], mine: str) -> str | None:
    """The nearest one before a writer, be it a reader or a writer."""
    return _last_before(children, mine, RW_CUTS)


def before_reader(children: Sequence[str], mine: str) -> str | None:
    """The nearest writer before a reader."""
    return _last_before([node for node in children if WRITE[1:] in node], mine, RW_CUTS)


def is_stray(before: str, cuts: Sequence[str]) -> bool:
    """Whether a node was not made by any lock."""
    cut = any(each in before for each in cuts)
    return not cut or not is_sequence(sort_key(before, *cuts))


def first_alone(children: Sequence[str], cuts: Sequence[str] = MUTEX_CUTS) -> Front:
    """The first holds."""
    queued = [each for each in ranked(children, cuts) if is_node(each)]
    return Front(queued[:1], "", len(queued[1:]))


def first_candidate(children: Sequence[str]) -> Front:
    """The first leads."""
    return first_alone(children, ELECTION_CUTS)


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
CANDIDATES = Order(CANDIDATE, ELECTION_CUTS, before_candidate, first_candidate)
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
