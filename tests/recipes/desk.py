"""The ledger's operations on the records of one name, with a clock to move."""

from __future__ import annotations

from typing import Any

from interlock import ledger
from interlock.backends.memory.store import Records

from .hand import Clock

LEASE = 30.0


class Desk:
    """Records and the operations on them, for one name."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.records = Records(self.clock)
        self.woken: list[str] = []

    def attempt(self, owner: str, waits: bool = False, kind: str = "lock") -> Any:
        return ledger.attempt(self.records, "name", kind, owner, LEASE, waits)

    def wait(self, owner: str) -> Any:
        """Listen and ask, as a waiter does."""
        self.records.listeners["name", owner] = lambda: self.woken.append(owner)
        return self.attempt(owner, waits=True)

    def vanish(self, owner: str) -> None:
        del self.records.listeners["name", owner]

    def release(self, owner: str) -> int:
        return ledger.release(self.records, "name", "lock", owner)

    def withdraw(self, owner: str) -> int:
        return ledger.withdraw(self.records, "name", "lock", owner)

    def renew(self, owner: str) -> list[bool]:
        return ledger.renew(self.records, "lock", LEASE, ("name", owner))

    @property
    def holder(self) -> str | None:
        held = self.records.held("name")
        return None if held is None else held.owner

    @property
    def left(self) -> float:
        held = self.records.held("name")
        assert held is not None
        return held.left

    @property
    def queue(self) -> list[str]:
        return list(self.records.queues.get("name", ()))
