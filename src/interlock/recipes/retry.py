"""Saying a thing again until it is answered, where the store does it once however often it is
said."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

from ..errors import OutcomeUnknown, StoreUnavailable
from ..steps import Steps
from .lock import ANSWER, Clock

R = TypeVar("R")

#: How often it is said before we give up.
TRIES = 3


def retry(ask: Callable[[float], Steps[R]], clock: Clock, limit: float = math.inf) -> Steps[R]:
    """Ask until there is an answer, or it is `limit`.  One round trip, if its answer arrives."""
    for _ in range(TRIES - 1):
        try:
            return (yield from ask(min(clock() + ANSWER, limit)))
        except (OutcomeUnknown, StoreUnavailable) as failure:
            if failure.final or clock() >= limit:
                raise
    return (yield from ask(min(clock() + ANSWER, limit)))
