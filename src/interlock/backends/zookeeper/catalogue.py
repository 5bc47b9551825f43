"""What is what below the chroot: which directories are in use, and as what.

A walk lists the tree level by level and judges it afterwards, without asking any more.  A child
is a node of somebody who holds or waits, or a directory.  The parts of a semaphore or a latch
look like directories, and somebody may have named a lock like one of them; so they count as
parts only if they hold what such a part holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ...errors import StoreError, StoreMisconfigured, Unsupported
from ...model import RESERVED, Holder
from ...steps import Call, Steps, together
from . import kinds, names, people
from .folder import ask
from .ground import Ground
from .kinds import COUNT, LATCH, LEASED, LEASES, LOCKS, PERMITS
from .latches import read
from .locks import REVOKE
from .rw import front
from .sight import first_alone
from .wire import Ask, Children, Get, No, Put

#: Directories to list in one burst.
STRIDE = 200

FACTS = (COUNT, LEASED, LATCH)

#: What can be asked for, and who has it.
FRONTS = {"lock": first_alone, "rwlock": front}


class Tree(NamedTuple):
    """What a walk has seen: the children of each directory, and what the facts say."""

    listed: dict[str, Sequence[str]]
    told: dict[str, bytes]

    def is_fact(self, path: str) -> bool:
        """Whether a node says how many permits there are, or how far a latch has counted."""
        data = self.told.get(path, b"")
        if self.listed.get(path):
            return False
        return read(data) is not None if path.endswith(f"/{LATCH}") else len(data) == 4

    def use_of(self, path: str) -> str | None:
        """As what a directory is in use."""
        children = self.listed[path]
        facts = [each for each in FACTS if each in children and self.is_fact(f"{path}/{each}")]
        return kinds.use_of([*facts, *filter(names.is_node, children)]) or self._permits(path)

    def _permits(self, path: str) -> str | None:
        parts = [self.listed.get(f"{path}/{each}", ()) for each in (LEASES, LOCKS)]
        nodes = [node for part in parts for node in part if names.is_node(node)]
        if LEASES not in self.listed[path] and not any(map(names.is_ours, nodes)):
            return None  # Java's, of a lock that is named `locks`
        use = kinds.use_of_permits(nodes)
        return use if use in PERMITS else None

    def uses(self) -> Iterator[tuple[str, str]]:
        """Every directory that is in use; those of a semaphore are not for themselves."""
        found = {path: use for path in self.listed if path and (use := self.use_of(path))}
        for path, use in found.items():
            above, _, last = path.rpartition("/")
            if last not in (LOCKS, LEASES) or found.get(above) not in PERMITS:
                yield path, use


class ZkDirectory:
    """See `stores.Directory`."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    def introduce(self, holder: Holder, until: float) -> Steps[float]:
        return people.introduce(self._ground, holder, until)

    def kind_of(self, name: str, until: float) -> Steps[str | None]:
        kind, _ = yield from self._found(name, until)
        return kind

    def _found(self, name: str, until: float) -> Steps[tuple[str | None, Sequence[str]]]:
        """As what a name is in use, and the children of its directory."""
        (listed,) = yield from ask(name, [Children(self._ground.path_of(name))], until)
        if listed.value is No.MISSING:
            return None, ()
        kind = yield from kinds.in_use_as(self._ground, name, listed.value, until)
        return kind, listed.value

    # --- asking for what others hold ----------------------------------------------------

    def ask_back(self, name: str, until: float) -> Steps[int]:
        """Ask everybody who holds a name to give it back; answers how many.  Two round trips.

        Safe to repeat: who was asked is asked.
        """
        kind, children = yield from self._found(name, until)
        if kind is None:
            return 0
        if kind not in FRONTS:
            raise Unsupported(
                f"{name!r} is a {kind}, and nobody can be asked for one: only for locks and "
                "read/write locks; revoke() ends it without asking"
            )
        path, holders = self._ground.path_of(name), FRONTS[kind](children).nodes
        answers = yield from ask(name, [Put(f"{path}/{each}", REVOKE) for each in holders], until)
        return sum(answer.value is not No.MISSING for answer in answers)

    # --- walking ------------------------------------------------------------------------

    def names(self, until: float) -> Steps[Sequence[tuple[str, str]]]:
        """One round trip for each level, and for each 200 directories of it."""
        root = self._ground.root
        tree, level = Tree({}, {}), [root]
        while level:
            for start in range(0, len(level), STRIDE):
                yield from _list(tree, root, level[start : start + STRIDE], until)
            level = [below for path in level for below in _below(tree, root, path)]
        uses = [(path[len(root) :], use) for path, use in tree.uses() if path != root]
        return [(names.name_of(path), use) for path, use in uses]


def _list(tree: Tree, root: str, paths: Sequence[str], until: float) -> Steps[None]:
    """Look into some directories at once.  One round trip."""
    asks: list[Ask] = [Children(path or "/") for path in paths]
    asks += [Get(path) for path in paths if path.rpartition("/")[2] in FACTS and path != root]
    replies = yield from together([Call(each, (), (), until) for each in asks])
    for each, reply in zip(asks, replies, strict=True):
        value = _seen(reply)
        if value is None:
            continue
        if isinstance(each, Get):
            tree.told[each.path] = value[0]
        else:
            tree.listed[each.path.rstrip("/")] = value


def _seen(reply: Any) -> Any:
    """What was answered; None of what has gone, or is nothing for our eyes."""
    if isinstance(reply, StoreMisconfigured) and not reply.final:
        return None
    if isinstance(reply, StoreError):
        raise reply
    return None if reply.value is No.MISSING else reply.value


def _below(tree: Tree, root: str, path: str) -> Iterator[str]:
    """The directories in a directory; at the top some are not for locks."""
    for child in tree.listed.get(path, ()):
        own = path == root and (child == names.SYSTEM or child.startswith(RESERVED))
        if not own and not names.is_node(child):
            yield f"{path}/{child}"
