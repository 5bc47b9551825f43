"""For the inside of a protected function: whether its caller holds the lock."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from ..errors import LockLost, NotHeld
from ..model import checked_name
from ..recipes.lease import Lease
from ..session.holds import Holds
from ..session.lifetimes import live_sessions
from ..session.session import BaseSession

if TYPE_CHECKING:
    from .client import AsyncClient, Client

#: Patterns of names that pass without being held: see `interlock.testing.pretend_held`.
pretended: list[str] = []


def assert_held(name: str, *, client: Client | AsyncClient | None = None) -> None:
    """Raise NotHeld unless the running thread or task holds a lock of this name, by `client` or by
    any client of this process; LockLost if it does, and the lease is over.

    A lock of any kind counts, a permit or a read lock too; of a `majority_of`, if enough stand.
    A thread or task that was started by the holder does not inherit the lock.
    `interlock.testing.pretend_held` lets it pass in unit tests.
    Cost: no round trip; a look at what each client holds for this thread or task.
    """
    sessions = live_sessions() if client is None else [client._session]
    check_held(sessions, checked_name(name))


def check_held(sessions: Sequence[BaseSession], name: str) -> None:
    """See `assert_held`."""
    if any(fnmatchcase(name, pattern) for pattern in pretended):
        return
    current = [holds for session in sessions if (holds := session.holds.found()) is not None]
    loss: LockLost | None = None
    for holds in current:
        for lease in holds.named(name):
            loss = _loss_of(lease, current)
            if loss is None:
                return
    raise loss or _not_held(sessions, name)


def _loss_of(lease: Lease, current: Iterable[Holds]) -> LockLost | None:
    """Why a lease does not count, if it does not: it is lost, or so are too many beside it."""
    if (cause := lease.loss()) is not None:
        return lease.lost_error(cause)
    for holds in current:
        for held in holds.multiholds:
            if lease in held._leases and held.lost:
                error: LockLost = held._lost_error()
                return error
    return None


def _not_held(sessions: Iterable[BaseSession], name: str) -> NotHeld:
    elsewhere = any(each.name == name for session in sessions for each in session.schedule.holds())
    why = f"by {_actor()}"
    if elsewhere:
        why += ", though another thread or task of this process holds it, which is not inherited"
    return NotHeld(
        name,
        why=why,
        advice=f"take it around this call, as in `with client.lock({name!r}):`; "
        "in unit tests interlock.testing.pretend_held lets it pass",
    )


def _actor() -> str:
    """The running thread or task, for people."""
    asyncio: Any = sys.modules.get("asyncio")  # without it there are no tasks
    try:
        task = None if asyncio is None else asyncio.current_task()
    except RuntimeError:
        task = None  # this thread runs no event loop
    if task is not None:
        return f"task {task.get_name()!r}"
    return f"thread {threading.current_thread().name!r}"
