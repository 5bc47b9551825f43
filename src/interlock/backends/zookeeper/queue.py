"""Who is before whom in a directory.  Pure: decided from a list of children alone.

Curator counts every child, whatever its name, and so do we: a grant that overlooks somebody
is worse than one that waits.  But where Java would wait for ever behind a node that nobody
will remove, we say so.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import StoreMisconfigured
from .names import READ, WRITE, is_ours, is_sequence, key

#: Curator cuts names at these, without the dash that we write before them.
MUTEX, RW = ("lock-",), ("__READ__", "__WRIT__")


def ranked(children: Sequence[str], marks: Sequence[str]) -> list[str]:
    """The children in the order of their numbers."""
    return sorted(children, key=lambda node: key(node, *marks))


def before_alone(children: Sequence[str], mine: str) -> str | None:
    """The nearest one before a node that wants to be alone; None when there is none."""
    return _nearest(children, key(mine, *MUTEX), MUTEX)


def before_writer(children: Sequence[str], mine: str) -> str | None:
    """The nearest one before a writer, be it a reader or a writer."""
    return _nearest(children, key(mine, *RW), RW)


def before_reader(children: Sequence[str], mine: str) -> str | None:
    """The nearest writer before a reader."""
    writers = [node for node in children if WRITE[1:] in node]
    return _nearest(writers, key(mine, *RW), RW)


def _nearest(children: Sequence[str], mine: str, marks: Sequence[str]) -> str | None:
    earlier = [node for node in children if key(node, *marks) < mine]
    return max(earlier, key=lambda node: key(node, *marks), default=None)


def stray(before: str, marks: Sequence[str]) -> bool:
    """Whether a node that stands before us was not made by any lock, and so may stay for ever."""
    marked = any(mark in before for mark in marks)
    return not marked or not is_sequence(key(before, *marks))


def astray(name: str, path: str, node: str, store: str) -> StoreMisconfigured:
    """What to say where Java would wait for ever."""
    error = StoreMisconfigured(
        f"lock {name!r} waits behind {path}/{node}, which is no node of a lock and which nobody "
        "will remove: take it away, or choose another name",
        store,
    )
    error.partial = True
    return error


def use_of(children: Sequence[str]) -> str | None:
    """As what a directory is in use, by the names of its children; None when nobody can tell.

    Whoever came first decides: the others learn from it, and leave.
    """
    uses = {node[-10:]: use for node in children if (use := _use_of(node)) is not None}
    return uses[min(uses)] if uses else None


def _use_of(node: str) -> str | None:
    if READ in node or WRITE in node:
        return "rwlock"
    if "lock-" in node and (is_ours(node) or is_sequence(key(node, *MUTEX))):
        return "lock"
    return None
