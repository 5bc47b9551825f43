"""One kind a name: whoever takes it for something else is told as what it is in use."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..drive import now
from ..errors import StoreError
from ..ledger import OTHER_KIND, OtherKind, refusal
from ..recipes.lock import ANSWER
from ..steps import Steps
from ..stores import Backend, LockStore

R = TypeVar("R")


def kindly(backend: Backend, store: LockStore, name: str, ask: Callable[[], Steps[R]]) -> Steps[R]:
    """Ask a store about a name; a refusal names both kinds, for one round trip more."""
    try:
        return (yield from ask())
    except OtherKind as error:
        yield from name_both(backend, store, name, error)
        raise


def name_both(backend: Backend, store: LockStore, name: str, error: OtherKind) -> Steps[None]:
    """Raise a refusal that says as what a name is in use, if that is why it was refused."""
    try:
        kind = yield from backend.directory.kind_of(name, now() + ANSWER)
    except StoreError:
        return
    if kind is not None and kind != store.kind:
        raise refusal(name, store.kind, (OTHER_KIND, kind), backend.label) from error
