"""How long an acquire waits, as its caller has spelled it."""

from __future__ import annotations

from typing import Any, Final

from ..errors import UsageError
from ..model import Seconds, checked_timeout
from ..words import given, shown


class OwnTimeout:
    """Stands for the timeout that the lock was made with."""

    def __repr__(self) -> str:
        return "the lock's own"


#: Any, so that signatures show a plain timeout.
OWN: Final[Any] = OwnTimeout()


def patience(blocking: object, timeout: Seconds | None, own: float) -> float | None:
    """How long an acquire waits that was called like this; None for a try."""
    if not isinstance(blocking, bool):
        hint = f"; to wait as long as that say acquire(timeout={shown(blocking)})"
        wanted = hint if isinstance(blocking, (int, float)) else ""
        raise TypeError(f"blocking must be True or False, not {given(blocking)}{wanted}")
    if blocking:
        return own if isinstance(timeout, OwnTimeout) else checked_timeout(timeout)
    if not isinstance(timeout, OwnTimeout) and timeout != -1:
        raise UsageError(
            f"acquire(blocking=False) tries once and waits for nothing, so it takes no timeout, "
            f"not even {shown(timeout)}: leave one of the two out"
        )
    return None
