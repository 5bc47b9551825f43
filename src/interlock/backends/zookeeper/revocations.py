"""How a holder learns what became of its nodes: they stand, are wanted back, or were revoked.

A revocation leaves its reason in a note.  The note is a container that has had a child, which the
server deletes about a minute later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import StoreError
from ...ledger import refusal
from ...model import RELEASE_REQUESTED
from ...steps import Call, Steps, together
from .layout import REVOKE, uuid_of
from .namespace import Namespace, Node
from .queue_nodes import ask, parents
from .transport.requests import (
    EPHEMERAL,
    Answer,
    Container,
    Create,
    Delete,
    Get,
    Refusal,
    Sync,
    ZkRequest,
)

#: Any answer that is neither yes nor busy: see `ledger.refusal`.
BURIED = (2,)

#: How many nodes a renewal begins to watch, at most: the others can wait for the next.
LOOKS = 500

SESSION_ENDED = "its session with the servers has ended"


def write_reason(
    namespace: Namespace, name: str, owner: str, reason: str, until: float
) -> Steps[None]:
    """Leave a note for an owner.  One round trip."""
    note = f"{namespace.revoked}/{uuid_of(owner)}"
    child = f"{note}/read"
    made = (*parents(namespace.revoked), Container(note, reason.encode()))
    yield from ask(name, [*made, Create(child, flags=EPHEMERAL), Delete(child)], until)


def read_reason(
    namespace: Namespace, name: str, owner: str, until: float
) -> Steps[tuple[str, int]]:
    """The reason for which an owner was revoked, if there is one; and the session of the
    answer.  One round trip."""
    (answer,) = yield from ask(name, [Get(f"{namespace.revoked}/{uuid_of(owner)}")], until)
    reason = b"" if answer.value is Refusal.MISSING else answer.value[0]
    return reason.decode("utf-8", "replace"), answer.session


def check_revoked(
    namespace: Namespace, name: str, owner: str, kind: str, until: float
) -> Steps[None]:
    """Raise if an owner was revoked while it waited.  One round trip."""
    reason, _ = yield from read_reason(namespace, name, owner, until)
    if reason:
        raise refusal(name, kind, BURIED, namespace.label)


def reason_of_loss(
    namespace: Namespace, name: str, owner: str, node: Node | None, until: float
) -> Steps[str]:
    """Why an owner has lost its node, if the store can tell.  One round trip."""
    reason, session = yield from read_reason(namespace, name, owner, until)
    return reason or (SESSION_ENDED if node is not None and node.session != session else "")


# --- what became of nodes ---------------------------------------------------------------------


def still_held(
    nodes: Sequence[Node | None], until: float
) -> Steps[Sequence[bool | str | StoreError]]:
    """Whether some nodes stand, see `spi.LockStore.renew`.  One round trip, or two when one of
    them changes meanwhile.

    One request to the leader for all of them, whose answer proves the session; and one for each
    that is not watched yet, so that its next change is told.
    """
    watched = [node for node in nodes if node is not None and node.watched]
    answers = yield from _looked_at(nodes, until)
    changed = [node for node in watched if not node.watched]
    if not changed or isinstance(answers[0], StoreError):
        return answers
    again = dict(zip(changed, (yield from _looked_at(changed, until)), strict=True))
    return [
        again.get(node, old) if node else old for node, old in zip(nodes, answers, strict=True)
    ]


def _looked_at(
    nodes: Sequence[Node | None], until: float
) -> Steps[Sequence[bool | str | StoreError]]:
    new = [node for node in nodes if node is not None and not node.watched][:LOOKS]
    requests: list[ZkRequest] = [Sync("/"), *(Get(node.path, node) for node in new)]
    seen: dict[Node, Any] = {}
    for node in new:
        node.watched = True  # a change that is told before the answer has been read counts too
    try:
        synced, *looks = yield from together([Call(each, (), (), until) for each in requests])
        seen = {} if isinstance(synced, StoreError) else dict(zip(new, looks, strict=True))
    finally:
        for node in new:
            if not isinstance(seen.get(node), Answer):
                node.watched = False
    return judged(nodes, synced, seen)


def judged(
    nodes: Sequence[Node | None], synced: Any, seen: Mapping[Node, Any]
) -> list[bool | str | StoreError]:
    """What became of each hold, by the leader's answer and a look at some of the nodes."""
    if isinstance(synced, StoreError):
        return [synced] * len(nodes)
    for node in nodes:
        if node is not None and node.held:
            node.held = max(node.held, synced.asked)
    return [
        False if node is None else _stands(node, synced.session, seen.get(node)) for node in nodes
    ]


def _stands(node: Node, session: int, look: Any) -> bool | str | StoreError:
    if node.session != session:
        return False
    if look is None:
        return True
    if isinstance(look, StoreError):
        return look
    if look.value is Refusal.MISSING:
        return False
    return RELEASE_REQUESTED if look.value[0] == REVOKE else True
