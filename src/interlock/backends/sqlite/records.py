"""The shelf over SQL: what the ledger's operations read and write inside one transaction.

Nearly every operation asks the same things of one name first, so one SELECT answers them
all, and what it said is remembered until the operation changes it.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable

from ...ledger import Held, Shelf, withdraw
from ...model import TOMBSTONE, Holder
from .clock import wall_us
from .failures import estranged

#: A waiter counts for so long after it last asked; it asks every two seconds or so.
ALIVE_MS = 5_000

#: Who has not introduced itself for so long is gone.
GONE_MS = 3 * 3_600_000

FETCH = """
SELECT world.owner, world.token, held.kind, held.owner, held.until_ms,
    (SELECT owner FROM queue WHERE name = ? AND alive_ms > ? ORDER BY place LIMIT 1),
    EXISTS (SELECT 1 FROM tombs WHERE owner = ? AND until_ms > ?)
FROM records AS world LEFT JOIN records AS held ON held.name = ?
WHERE world.name = ''
"""
HEAD = "SELECT owner FROM queue WHERE name = ? AND alive_ms > ? ORDER BY place LIMIT 1"
PUT = """
INSERT INTO records (name, kind, owner, until_ms, token) VALUES (?, ?, ?, ?, 0)
ON CONFLICT (name) DO UPDATE
SET kind = excluded.kind, owner = excluded.owner, until_ms = excluded.until_ms
"""
DROP = "DELETE FROM records WHERE name = ?"
TOKEN = "UPDATE records SET token = ? WHERE name IN ('', ?)"
REFRESH = "UPDATE queue SET alive_ms = ? WHERE name = ? AND owner = ?"
ENQUEUE = """
INSERT INTO queue (name, place, owner, alive_ms)
SELECT ?, coalesce(max(place), 0) + 1, ?, ? FROM queue WHERE name = ?
"""
# Whoever leaves the queue takes along those that died in it.
DEQUEUE = "DELETE FROM queue WHERE name = ? AND (owner = ? OR alive_ms <= ?)"
WAITING = "SELECT count(*) FROM queue WHERE name = ? AND alive_ms > ?"
BURY = "INSERT OR REPLACE INTO tombs (owner, until_ms) VALUES (?, ?)"
DESCRIBE = "SELECT host, pid, program FROM clients WHERE identity = ?"
INTRODUCE = """
INSERT OR REPLACE INTO clients (identity, host, pid, program, started, seen_ms)
VALUES (?, ?, ?, ?, ?, ?)
"""
SWEEP_TOMBS = "DELETE FROM tombs WHERE until_ms <= ?"
SWEEP = (
    "DELETE FROM records WHERE name != '' AND until_ms <= ?",
    "DELETE FROM queue WHERE alive_ms <= ?",
    SWEEP_TOMBS,
)
SWEEP_CLIENTS = "DELETE FROM clients WHERE seen_ms <= ?"


class Records:
    """See `ledger.Shelf`.  Used by one transaction at a time."""

    def __init__(
        self, cursor: sqlite3.Cursor, boot: str, instant: Callable[[], int], path: str
    ) -> None:
        self._cursor, self._execute = cursor, cursor.execute
        self._boot, self._instant, self._path = boot, instant, path
        #: The instant of this transaction, and to whom it has handed a lock.
        self.at = 0
        self.handed: list[tuple[str, str]] = []
        self._about = ""
        self._fetched: str | None = None
        self._held: Held | None = None
        self._head: str | None = None
        self._head_known = self._buried = False
        self._token = 0

    def begin(self) -> None:
        """A transaction has begun: nobody else writes from now on."""
        self.at, self.handed = self._instant(), []

    def turn_to(self, keys: tuple[str, ...]) -> None:
        """The next operation is about these names."""
        self._about, self._fetched = keys[0] if keys else "", None

    def _fetch(self, name: str, owner: str | None = None) -> None:
        """Read everything that operations ask about one name, and perhaps one owner."""
        at = self.at
        row = self._execute(FETCH, (name, at, owner, at, name)).fetchone()
        if row is None or row[0] != self._boot:
            raise estranged(self._path)
        _, self._token, kind, holder, until, self._head, buried = row
        self._buried, self._head_known, self._fetched = buried == 1, True, name
        left = 0 if until is None else until - at
        self._held = Held(kind, holder, left / 1000) if left > 0 else None

    # --- who holds -------------------------------------------------------------------------

    def buried(self, owner: str) -> bool:
        self._fetch(self._about, owner)
        return self._buried

    def held(self, name: str) -> Held | None:
        if self._fetched != name:
            self._fetch(name)
        return self._held

    def put(self, name: str, kind: str, owner: str, lease: float) -> None:
        self._execute(PUT, (name, kind, owner, self.at + math.ceil(lease * 1000)))
        if self._fetched == name:
            self._held = Held(kind, owner, lease)

    def drop(self, name: str) -> None:
        self._execute(DROP, (name,))
        if self._fetched == name:
            self._held = None

    def next_token(self) -> int:
        if self._fetched is None:
            self._fetch(self._about)
        self._token = max(self._token + 1, wall_us())
        self._execute(TOKEN, (self._token, self._about))
        return self._token

    # --- who waits -------------------------------------------------------------------------

    def head(self, name: str) -> str | None:
        """The first waiter that is alive."""
        if self._fetched == name and self._head_known:
            return self._head
        row = self._execute(HEAD, (name, self.at)).fetchone()
        return None if row is None else str(row[0])

    def enqueue(self, name: str, owner: str) -> None:
        alive = self.at + ALIVE_MS
        if self._execute(REFRESH, (alive, name, owner)).rowcount == 0:
            self._execute(ENQUEUE, (name, owner, alive, name))
        self._head_known = False

    def dequeue(self, name: str, owner: str) -> None:
        if self._fetched == name and self._head_known and self._head is None:
            return  # nobody alive waits, so neither does this owner
        self._execute(DEQUEUE, (name, owner, self.at))
        self._head_known = False

    def waiting(self, name: str) -> int:
        return int(self._execute(WAITING, (name, self.at)).fetchone()[0])

    def wake(self, name: str, owner: str) -> bool:
        """The commit is the wake; in this process there is a shorter way."""
        self.handed.append((name, owner))
        return True

    # --- who is gone, and who is who ----------------------------------------------------------

    def bury(self, owner: str) -> None:
        self._execute(SWEEP_TOMBS, (self.at,))
        self._execute(BURY, (owner, self.at + math.ceil(TOMBSTONE * 1000)))

    def describe(self, owner: str) -> Holder:
        row = self._execute(DESCRIBE, (owner.rpartition(":")[0],)).fetchone()
        return Holder(owner) if row is None else Holder(owner, *row)

    def introduce(self, holder: Holder) -> None:
        """Also the moment to sweep: it comes once an hour for each client."""
        person = (holder.owner, _text(holder.host), holder.pid, _text(holder.program))
        self._execute(INTRODUCE, (*person, holder.since, self.at))
        for statement in SWEEP:
            self._execute(statement, (self.at,))
        self._execute(SWEEP_CLIENTS, (self.at - GONE_MS,))


def vacate(shelf: Shelf, *topics: tuple[str, str]) -> None:
    """Withdraw owners whose client goes while they wait.  Safe to repeat: nothing is left."""
    for name, owner in topics:
        held = shelf.held(name)
        withdraw(shelf, name, "" if held is None else held.kind, owner)


def _text(text: str) -> str:
    """Host and program names may hold bytes that are no text."""
    return text.encode("utf-8", "replace").decode()
