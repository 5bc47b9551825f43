"""Why somebody was revoked: a note that its holder finds, and that goes by itself.

The note is a container that has had a child, which the server takes away about a minute later.
"""

from __future__ import annotations

from ...ledger import refusal
from ...steps import Steps
from .folder import ask, parents
from .ground import Ground
from .names import uuid_of
from .wire import EPHEMERAL, Container, Create, Delete, Get, No

#: Any answer that is neither yes nor busy: see `ledger.refusal`.
BURIED = (2,)


def bury(ground: Ground, name: str, owner: str, reason: str, until: float) -> Steps[None]:
    """Leave a note for an owner.  One round trip."""
    note = f"{ground.revoked}/{uuid_of(owner)}"
    child = f"{note}/read"
    made = (*parents(ground.revoked), Container(note, reason.encode()))
    yield from ask(name, [*made, Create(child, flags=EPHEMERAL), Delete(child)], until)


def read(ground: Ground, name: str, owner: str, until: float) -> Steps[tuple[str, int]]:
    """The reason for which an owner was revoked, if there is one; and the session of the
    answer.  One round trip."""
    (answer,) = yield from ask(name, [Get(f"{ground.revoked}/{uuid_of(owner)}")], until)
    reason = b"" if answer.value is No.MISSING else answer.value[0]
    return reason.decode("utf-8", "replace"), answer.session


def check(ground: Ground, name: str, owner: str, kind: str, until: float) -> Steps[None]:
    """Raise if an owner was revoked before it had what it waits for.  One round trip."""
    reason, _ = yield from read(ground, name, owner, until)
    if reason:
        raise refusal(name, kind, BURIED, ground.label)
