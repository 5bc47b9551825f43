"""The ledger's operations on the records of one name, with a clock to move."""

from __future__ import annotations

from typing import Any

from interlock import ledger
from interlock.backends.memory.transport.records import MemoryRecords
from interlock.ledger import WHOLE, latches

from .hand import Clock

LEASE = 30.0


class Desk:
    """Records and the operations on them, for one name of one kind."""

    def __init__(self, kind: str = "lock", permits: int | None = None) -> None:
        self.kind, self.permits = kind, permits
        self.clock = Clock()
        self.records = MemoryRecords(self.clock)
        self.woken: list[str] = []

    def attempt(
        self, owner: str, waits: bool = False, kind: str | None = None, weight: int = 1
    ) -> Any:
        wish = (kind or self.kind, owner, LEASE, waits, weight, self.permits)
        return ledger.attempt(self.records, "name", *wish)

    def wait(self, owner: str, weight: int = 1) -> Any:
        """Listen and ask, as a waiter does."""
        self.listen(owner)
        return self.attempt(owner, waits=True, weight=weight)

    def listen(self, owner: str) -> None:
        self.records.listeners["name", owner] = lambda: self.woken.append(owner)

    def vanish(self, owner: str) -> None:
        del self.records.listeners["name", owner]

    def release(self, owner: str) -> int:
        return ledger.release(self.records, "name", self.kind, owner)

    def withdraw(self, owner: str, reason: str = "") -> int:
        return ledger.withdraw(self.records, "name", self.kind, owner, reason)

    def renew(self, owner: str) -> list[bool]:
        return ledger.renew(self.records, LEASE, ("name", owner))

    def look(self) -> Any:
        return ledger.look(self.records, "name")

    @property
    def holders(self) -> list[str]:
        return [held.owner for held in self.records.held("name")]

    @property
    def holder(self) -> str | None:
        """The one holder of what only one can hold."""
        assert len(self.holders) < 2
        return self.holders[0] if self.holders else None

    @property
    def left(self) -> float:
        """How long the one holder still has."""
        (held,) = self.records.held("name")
        return held.left

    @property
    def lefts(self) -> dict[str, float]:
        """How long each holder still has."""
        return {held.owner: held.left for held in self.records.held("name")}

    @property
    def queue(self) -> list[str]:
        return list(self.records.queues.get("name", ()))


class RwDesk(Desk):
    """A read/write lock."""

    def __init__(self) -> None:
        super().__init__("rwlock")

    def read(self, owner: str) -> Any:
        return self.attempt(owner)

    def write(self, owner: str) -> Any:
        return self.attempt(owner, weight=WHOLE)

    def wait_to_write(self, owner: str) -> Any:
        return self.wait(owner, WHOLE)

    def downgrade(self, owner: str) -> int:
        return ledger.downgrade(self.records, "name", self.kind, owner, LEASE)

    @property
    def modes(self) -> dict[str, str]:
        """Who reads and who writes."""
        info = self.look()
        return {} if info is None else {each.owner: each.mode for each in info.holders}


class PermitDesk(Desk):
    """A semaphore."""

    def __init__(self, permits: int | None, kind: str = "semaphore") -> None:
        super().__init__(kind, permits)

    def set_permits(self, permits: int) -> Any:
        return ledger.set_permits(self.records, "name", self.kind, permits)

    @property
    def available(self) -> int | None:
        info = self.look()
        return None if info is None else info.available


class LatchDesk(Desk):
    """A latch."""

    def __init__(self) -> None:
        super().__init__("latch")

    def set(self, count: int) -> Any:
        return ledger.set_count(self.records, "name", count)

    def count_down(self, owner: str) -> Any:
        return ledger.count_down(self.records, "name", owner)

    def attempt(
        self, owner: str, waits: bool = False, kind: str | None = None, weight: int = 1
    ) -> Any:
        return ledger.pass_latch(self.records, "name", owner, waits)

    def withdraw(self, owner: str, reason: str = "") -> int:
        return latches.leave_latch(self.records, "name", owner)

    @property
    def count(self) -> int | None:
        info = self.look()
        return None if info is None else info.count
