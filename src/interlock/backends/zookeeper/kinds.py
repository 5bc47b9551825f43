"""As what a name is in use.

A lock's directory has the nodes of a queue in it; a semaphore's has two directories, `locks` and
`leases`, and says in `count` how many permits there are (in `leased`, if they have ids); a
latch's has one node, `latch`.  The two directories of a mutex stay for a while after its last
use, so whoever finds them has to look whether there is anything inside.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import StoreError
from ...ledger import OTHER_KIND, refusal
from ...model import MARKS
from ...steps import Steps
from . import names, queue
from .folder import ask
from .ground import Ground
from .wire import Children, No

LOCKS, LEASES, COUNT, LEASED, LATCH = "locks", "leases", "count", "leased", "latch"

_CERTAIN = {COUNT: "semaphore", LEASED: "leased_semaphore", LATCH: "latch"}
PERMITS = ("mutex", "semaphore", "leased_semaphore")
_KINDS = {mark: kind for kind, mark in MARKS.items()}


def use_of(children: Sequence[str]) -> str | None:
    """The kind that the names of the children tell for sure; None when they do not.  Pure."""
    for child, kind in _CERTAIN.items():
        if child in children:
            return kind
    return queue.use_of(children)


def use_of_permits(nodes: Sequence[str]) -> str | None:
    """What those who hold or want permits take them for; Java's are anybody's guess.  Pure."""
    kinds = [_KINDS.get(names.owner_of(node)[-1]) for node in nodes if names.is_ours(node)]
    return kinds[0] if kinds else "semaphore" if nodes else None


def in_use_as(
    ground: Ground, name: str, children: Sequence[str], until: float
) -> Steps[str | None]:
    """The kind of a name; None when it is free.  One round trip where there are permits."""
    inside = [each for each in (LEASES, LOCKS) if each in children]
    if not inside or any(child in children for child in _CERTAIN):
        return use_of(children)
    path = ground.path_of(name)
    answers = yield from ask(name, [Children(f"{path}/{each}") for each in inside], until)
    listed = [answer.value for answer in answers if answer.value is not No.MISSING]
    nodes = [node for part in listed for node in part if names.is_node(node)]
    # Whoever asks may stand among the children already, beside those who have permits.
    use = use_of_permits(nodes)
    return use if use in PERMITS else use_of(children)


def check(
    ground: Ground, name: str, children: Sequence[str], kind: str, until: float
) -> Steps[None]:
    """Raise where a name is in use as something else.  Mostly no round trip."""
    use = yield from in_use_as(ground, name, children, until)
    if use is not None and use != kind:
        raise in_use(name, use, kind, ground.label)


def in_use(name: str, kind: str, wanted: str, store: str) -> StoreError:
    """The name is something else; our node stands there for a moment all the same."""
    error = refusal(name, wanted, (OTHER_KIND, kind), store)
    error.partial = True
    return error
