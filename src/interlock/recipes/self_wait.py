"""A thread or task that would wait for itself, for ever: it is told so at once.

Known locally is only what one client holds, and only a wait without a limit is refused: a lease
that is not kept ends by itself, and within a limit another thread may release the hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import StoreError, UsageError
from ..spi import LockStore
from ..steps import Steps
from .lease import Lease
from .local_queue import Key
from .lock import ANSWER, Clock

#: Added to the error of a wait that had a limit.
ITSELF = "this thread or task holds it already, and it is not reentrant"


def stacked(lease: Lease | None) -> Iterator[Lease]:
    """The leases of one name that a thread or task has, the newest first."""
    while lease is not None:
        yield lease
        lease = lease.outer


def refuse_a_second(key: Key, newest: Lease | None) -> None:
    """Refuse to wait for what has room for one, and is held by the one who would wait."""
    if any(lease.lasting for lease in stacked(newest)):
        instead = " or use lock()" if key[0] == "mutex" else ""
        raise UsageError(
            f"this thread or task already holds {key[0]} {key[1]!r}, which is not reentrant, and "
            f"would wait for itself: release it first{instead}; if another thread is to "
            "release it, wait with a timeout"
        )


def refuse_too_many(store: LockStore, key: Key, newest: Lease | None, clock: Clock) -> Steps[None]:
    """Refuse to wait for permits all of which are held by the one who would wait.

    Cost: what a look costs, and only for a thread or task that holds permits and finds no more.
    """
    mine = sum(weight_of(each.store) for each in stacked(newest) if each.lasting)
    try:
        info = (yield from store.look(key[1], clock() + ANSWER)) if mine else None
    except StoreError:
        return  # a waiter bears it
    if info is not None and info.permits is not None and mine + weight_of(store) > info.permits:
        raise UsageError(
            f"this thread or task already holds {mine} of the {info.permits} permits of {key[0]} "
            f"{key[1]!r}, and would wait for itself: release them first; if another thread is to "
            "release them, wait with a timeout"
        )


def check_itself(store: LockStore, key: Key, holds: Any, clock: Clock) -> Steps[None]:
    """Raise UsageError where to wait for it without a limit would be to wait for itself."""
    held = holds.get(key)
    if held is not None and held.depth:
        if store.reentrant:
            return  # it is held once more, or was lost and is taken anew
        if store.shared:
            yield from refuse_too_many(store, key, held, clock)
        else:
            refuse_a_second(key, held)
    refuse_amid(key, holds.doing)


def refuse_amid(key: Key, doing: tuple[Key, ...]) -> None:
    """Refuse to wait, in a signal handler, for what the interrupted thread is just taking or
    giving back."""
    if key in doing:
        raise UsageError(
            f"this thread is just taking or releasing {key[0]} {key[1]!r}, and a signal handler "
            "that waits for it would wait for itself: try with a timeout, or let the handler set "
            "a flag and act on it elsewhere"
        )


def weight_of(store: Any) -> int:
    """How many permits an acquisition takes."""
    return int(getattr(store, "weight", 1))
