"""Names, paths and node names, in Curator's manner.  Pure.

A name is the path of its node below the chroot: Java's `/locks/orders` is `locks/orders`, and
may be spelled with its slash as well.  What ZooKeeper cannot have in a path is written as
`%XX`, and so is the percent sign itself, so that every text names something of its own.

A node of ours is named as Curator names a protected one: `_c_<uuid>-lock-0000000007`.  The
UUID is the owner, spelled in 16 bytes (see `model.permit_id`), of version 8; Java's are of
version 4.  So whoever lists a directory knows whose node is whose, and a client whose create
was not answered finds its node again.
"""

from __future__ import annotations

import re
from uuid import UUID

from ...model import permit_id

LOCK, LEASE, READ, WRITE = "-lock-", "-lease-", "-__READ__", "-__WRIT__"

#: ZooKeeper's own folder, which lies beside ours when there is no chroot.
SYSTEM = "zookeeper"

#: What ZooKeeper refuses in a path, and the percent sign.
_REFUSED = re.compile("[%\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff\U00010000-\U0010ffff]")
_ESCAPED = re.compile("(?:%[0-9A-F]{2})+")

_NODE = re.compile(r"_c_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-(.*)", re.DOTALL)
_SEQUENCE = re.compile(r"-?\d{10}")
#: What stands before the number of a node, also where clients put no dash before it.
_MARKS = ("lock-", "lease-", "__READ__", "__WRIT__")
_OURS = re.compile(r"[0-9a-f-]{36}:\d+")


def path_of(name: str) -> str:
    """Where a name is kept, below the chroot: see `Ground.path_of`."""
    first, *others = name.removeprefix("/").split("/")
    if first == SYSTEM:
        first = "%7A" + first[1:]
        return "/".join(["", first, *map(_segment, others)])
    return "/".join(["", *map(_segment, (first, *others))])


def name_of(path: str) -> str:
    """The name that is kept at a path below the chroot."""
    return "/".join(_unescaped(part) for part in path[1:].split("/"))


def _segment(text: str) -> str:
    if text in ("", ".", ".."):
        return "%" + "%".join("2E" for _ in text)
    return _REFUSED.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found.group().encode())


def _unescaped(text: str) -> str:
    if text == "%":
        return ""
    return _ESCAPED.sub(_original, text)


def _original(found: re.Match[str]) -> str:
    return bytes.fromhex(found.group().replace("%", "")).decode("utf-8", "replace")


def uuid_of(owner: str) -> str:
    """How an owner is spelled in the name of a node."""
    if _OURS.fullmatch(owner) is None:
        return owner  # somebody of another make, who is known by this alone
    return str(UUID(bytes=permit_id(owner)))


def prefix_of(owner: str) -> str:
    """How the names of an owner's nodes begin."""
    return f"_c_{uuid_of(owner)}"


def owner_of(node: str) -> str:
    """Whose node it is: an owner of ours, the UUID of another client, or the node's name."""
    found = _NODE.fullmatch(node)
    if found is None:
        return node
    if not is_ours(node):
        return found.group(1)
    raw = UUID(found.group(1)).bytes
    return f"{UUID(bytes=raw[:10] + bytes(6))}:{int.from_bytes(raw[10:], 'big')}"


def is_ours(node: str) -> bool:
    """Whether a node was made by Interlock: its UUID is of version 8."""
    return node[:3] == "_c_" and node[17:18] == "8" and _NODE.fullmatch(node) is not None


def is_node(child: str) -> bool:
    """Whether a child is somebody who holds or waits, of whatever make, and not a directory."""
    if _NODE.fullmatch(child) is not None:
        return True
    return any(mark in child and is_sequence(key(child, mark)) for mark in _MARKS)


def belongs_to(node: str, owner: str) -> bool:
    """Whether a node is one of this owner's."""
    return node == owner or node.startswith(prefix_of(owner) + "-")


def identity_of(owner: str) -> str:
    """The client of an owner of ours; empty for others."""
    return owner.rpartition(":")[0]


def key(node: str, *marks: str) -> str:
    """What a node is sorted by: the text after the last of each mark, as Java does it."""
    for mark in marks:
        _, found, after = node.rpartition(mark)
        node = after if found else node
    return node


def is_sequence(text: str) -> bool:
    """Whether a key is a number that a server gave; after 2**31 nodes they are negative."""
    return _SEQUENCE.fullmatch(text) is not None
