"""A lock file without clients: the operations of the ledger by name, at instants of choice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from interlock.backends.sqlite.transport.shared_file import SharedFile, open_files
from interlock.drive import now
from interlock.ledger import WHOLE, attempt, look, release
from interlock.steps import Call

#: Owners; what their numbers end in says that they use names as locks.
ANN, BOB, CID, DAN = "ann:1", "bob:1", "cid:1", "dan:1"


class LockFile:
    """A lock file whose operations can be called by their names, at an instant of choice."""

    def __init__(self, path: Path) -> None:
        self.shared: SharedFile = open_files().enter(str(path))
        self.call(look, "k")  # opens it
        database = self.shared._database
        assert database is not None
        self._start, self._offset = database._instant, 0
        database._instant = database.records._instant = lambda: self._start() + self._offset

    def later(self, milliseconds: int) -> None:
        self._offset += milliseconds

    def call(self, operation: Any, *args: Any) -> Any:
        """Perform an operation; the first argument is the name that it is about."""
        return self._once(Call(operation, args[:1], args[1:], now() + 5))

    def asked(self, operation: Any, *args: Any) -> Any:
        """Perform an operation that is about no name, or about several."""
        return self._once(Call(operation, (), args, now() + 5))

    def _once(self, call: Call) -> Any:
        replies = self.shared.try_apply((call,))
        assert replies is not None
        return replies[0]

    def attempt(self, owner: str, waits: bool = True, lease: float = 30.0) -> tuple[Any, ...]:
        answer: tuple[Any, ...] = self.call(attempt, "k", "lock", owner, lease, waits)
        return answer

    def read(self, owner: str, lease: float = 30.0) -> tuple[Any, ...]:
        answer: tuple[Any, ...] = self.call(attempt, "k", "rwlock", owner, lease, True, 1)
        return answer

    def write(self, owner: str, lease: float = 30.0) -> tuple[Any, ...]:
        answer: tuple[Any, ...] = self.call(attempt, "k", "rwlock", owner, lease, True, WHOLE)
        return answer

    def permit(
        self, owner: str, weight: int = 1, permits: int | None = None, lease: float = 30.0
    ) -> tuple[Any, ...]:
        terms = ("semaphore", owner, lease, True, weight, permits)
        answer: tuple[Any, ...] = self.call(attempt, "k", *terms)
        return answer

    def release(self, owner: str, kind: str = "lock") -> int:
        return int(self.call(release, "k", kind, owner))

    def close(self) -> None:
        open_files().leave(self.shared)
