"""A name is of one kind: a client that takes it for another is told as what it is in use."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

from ..errors import StoreError
from ..ledger import OTHER_KIND, OtherKind, refusal
from ..spi import Backend, LockStore
from ..steps import Steps
from .lock import ANSWER, CHANCE, Clock

R = TypeVar("R")


def explain_kind_mismatch(
    backend: Backend,
    store: LockStore,
    name: str,
    ask: Callable[[], Steps[R]],
    clock: Clock,
    limit: float = math.inf,
) -> Steps[R]:
    """Ask a store about a name; a refusal names both kinds, for one round trip more."""
    try:
        return (yield from ask())
    except OtherKind as error:
        yield from raise_mismatch(backend, store, name, error, clock, limit)
        raise


def raise_mismatch(
    backend: Backend,
    store: LockStore,
    name: str,
    error: OtherKind,
    clock: Clock,
    limit: float,
) -> Steps[None]:
    """Raise a refusal that says as what a name is in use, if that is why it was refused."""
    now = clock()
    until = max(min(now + ANSWER, limit), now + CHANCE)
    try:
        kind = yield from backend.directory.kind_of(name, until)
    except StoreError:
        return
    if kind is not None and kind != store.kind:
        raise refusal(name, store.kind, (OTHER_KIND, kind), backend.label) from error
