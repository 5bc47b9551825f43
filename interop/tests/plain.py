"""Foreign clients of the plain SET NX PX layout, on one server or on several that vote."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from ..harness.foreign import Foreign, ForeignError

#: How often a foreign waiter asks, in ms; ours asks five to ten times a second.
DELAY_MS = 20

#: Leases here are of 20 s, so that nobody gets a mutex because one ran out.
LEASE_MS = 20_000

PRIMITIVES = {"redsync": "Mutex", "node-redlock": "Lock", "redis-py": "Lock"}


class Peer:
    """A foreign client of the plain layout."""

    def __init__(self, process: Foreign) -> None:
        self.process = process

    def start(
        self, name: str, lease_ms: int = LEASE_MS, tries: int = 1, handle: str = ""
    ) -> Future[Any]:
        """Try so many times to take a mutex; its value is the answer."""
        terms = {"expiry_ms": lease_ms, "tries": tries, "delay_ms": DELAY_MS}
        return self.process.start(verb="lock", name=name, handle=handle or name, **terms)

    def lock(self, name: str, lease_ms: int = LEASE_MS) -> Any:
        return self.start(name, lease_ms).result(10)

    def refused(self, name: str) -> bool:
        """Whether one try is answered with no."""
        with pytest.raises(ForeignError) as refusal:
            self.lock(name)
        return refusal.value.kind in ("*redsync.ErrTaken", "ExecutionError", "TimeoutError")

    def unlock(self, name: str) -> None:
        self.process.ask(verb="unlock", handle=name)

    def extend(self, name: str) -> None:
        self.process.ask(verb="extend", handle=name, expiry_ms=LEASE_MS)
