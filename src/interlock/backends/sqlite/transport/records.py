"""The ledger's records in SQL: what its operations read and write inside one transaction.

Nearly every operation first reads the same things about one name, so one SELECT fetches them
all, and the answer is kept until the operation changes it.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

from ....ledger import Declared, Held, Queued, Records, barriers, withdraw
from ....model import TOMBSTONE, Holder, Register, use_of_owner
from ..errors import estranged
from . import statements as sql
from .clock import wall_us

#: A waiter counts as alive for so long after its last question; it asks every two seconds.
ALIVE_MS = 5_000

#: A client that has not introduced itself for so long is gone.
GONE_MS = 3 * 3_600_000


class SqliteRecords:
    """See `ledger.Records`.  Used by one transaction at a time."""

    def __init__(
        self, cursor: sqlite3.Cursor, boot: str, instant: Callable[[], int], path: str
    ) -> None:
        self._execute = cursor.execute
        self._boot, self._instant, self._path = boot, instant, path
        #: The instant of this transaction, and the waiters to which it has handed something.
        self.at = 0
        self.handed: list[tuple[str, str]] = []
        self._about = ""
        self._fetched: str | None = None
        self._shares: dict[str, Held] = {}
        self._last_place, self._lapsed = 0, False
        self._declared: Declared | None = None
        self._head: Queued | None = None
        self._head_known = self._buried = False
        self._token = 0

    def begin(self) -> None:
        """Start a transaction: until its end no other process writes."""
        self.at, self.handed = self._instant(), []

    def turn_to(self, keys: tuple[str, ...]) -> None:
        """Start an operation, which is about these names."""
        self._about, self._fetched = keys[0] if keys else "", None

    def _fetch(self, name: str, owner: str | None = None) -> None:
        """Read everything that operations need of one name, and whether an owner is buried."""
        at = self.at
        rows = self._execute(sql.FETCH, (owner, at, name, name, at, name)).fetchall()
        if len(rows) > 1:
            rows.sort()  # by their places, which are all different
        if not rows or rows[0][1] != self._boot:
            raise estranged(self._path)
        _, _, _, buried, _, self._token = rows[0]
        self._fetched, self._buried = name, buried == 1
        self._declared = self._head = None
        self._head_known, self._lapsed = True, False
        self._shares, self._last_place = {}, 0
        if len(rows) > 1:
            self._read(rows[1:])

    def _read(self, rows: list[tuple[Any, ...]]) -> None:
        """Take in the declaration, the first waiter and the holders of a name, in order."""
        at, shares = self.at, self._shares
        for place, owner, kind, weight, until, token in rows:
            if place > 0:
                self._last_place = place
                if until > at:
                    shares[owner] = Held(kind, owner, weight, (until - at) / 1000, token)
                else:
                    self._lapsed = True
            elif place == sql.HEAD_PLACE:
                self._head = Queued(owner, weight)
            else:
                self._declared = Declared(kind, weight)

    # --- holders ---------------------------------------------------------------------------

    def held(self, name: str) -> Sequence[Held]:
        if self._fetched != name:
            self._fetch(name)
        return tuple(self._shares.values())

    def put(self, name: str, kind: str, owner: str, weight: int, lease: float) -> None:
        if self._fetched != name:
            self._fetch(name)
        if owner not in self._shares:
            self._last_place += 1
            if self._lapsed:
                self._forget_lapsed(name)
        until = self.at + math.ceil(lease * 1000)
        self._execute(sql.PUT, (name, kind, owner, weight, until, self._last_place))
        # Without its token, which no operation reads once it has changed something.
        self._shares[owner] = Held(kind, owner, weight, lease)

    def drop(self, name: str, owner: str) -> None:
        self._execute(sql.DROP, (name, owner))
        if self._fetched == name:
            self._shares.pop(owner, None)
            if self._lapsed:
                self._forget_lapsed(name)

    def _forget_lapsed(self, name: str) -> None:
        """Delete the rows whose leases have ended, on the occasion of another change."""
        self._execute(sql.FORGET_LAPSED, (name, self.at))
        self._lapsed = False

    def next_token(self, name: str, owner: str) -> int:
        if self._fetched != name:
            self._fetch(name)
        self._token = max(self._token + 1, wall_us())
        self._execute(sql.LAST_TOKEN, (self._token,))
        if owner in self._shares:
            self._execute(sql.TOKEN, (self._token, name, owner))
        return self._token

    # --- declarations ----------------------------------------------------------------------

    def declared(self, name: str) -> Declared | None:
        if self._fetched != name:
            self._fetch(name)
        return self._declared

    def declare(self, name: str, kind: str, number: int) -> None:
        self._execute(sql.DECLARE, (name, kind, number))
        if self._fetched == name:
            self._declared = Declared(kind, number)

    def undeclare(self, name: str) -> None:
        self._execute(sql.UNDECLARE, (name,))
        if self._fetched == name:
            self._declared = None

    # --- registers -------------------------------------------------------------------------

    def register(self, name: str) -> Register | None:
        row = self._execute(sql.REGISTER, (name, wall_us() // 1000)).fetchone()
        return None if row is None else Register(*row)

    def set_register(self, name: str, text: str, keep: float) -> None:
        at = wall_us() // 1000
        self._execute(sql.SWEEP_REGISTERS, (at,))
        until = min(at + keep * 1000, sql.FOR_EVER)
        version = self.next_token(name, "")
        self._execute(sql.SET_REGISTER, (name, text, version, math.ceil(until)))

    # --- the queue -------------------------------------------------------------------------

    def head(self, name: str) -> Queued | None:
        """The first waiter that is alive."""
        if self._fetched != name or not self._head_known:
            row = self._execute(sql.HEAD, (name, self.at)).fetchone()
            head = None if row is None else Queued(*row)
            if self._fetched != name:
                return head
            self._head, self._head_known = head, True
        return self._head

    def enqueue(self, name: str, owner: str, weight: int) -> None:
        alive = self.at + ALIVE_MS
        if self._execute(sql.REFRESH, (alive, name, owner)).rowcount == 0:
            self._execute(sql.ENQUEUE, (name, owner, weight, alive, name))
        self._head_known = False

    def dequeue(self, name: str, owner: str) -> None:
        if self._fetched == name and self._head_known and self._head is None:
            return  # no live owner waits, so neither does this one
        self._execute(sql.DEQUEUE, (name, owner, self.at))
        self._head_known = False

    def waiting(self, name: str) -> int:
        return int(self._execute(sql.WAITING, (name, self.at)).fetchone()[0])

    def hears(self, name: str, owner: str) -> bool:
        """A waiter that has asked lately hears, and no other is ever the head."""
        return True

    def wake(self, name: str, owner: str) -> bool:
        """Note whom the commit wakes; waiters of this process are woken directly."""
        self.handed.append((name, owner))
        return True

    # --- tombstones and clients ---------------------------------------------------------------

    def buried(self, owner: str) -> bool:
        self._fetch(self._about, owner)
        return self._buried

    def bury(self, owner: str, reason: str) -> None:
        self._execute(sql.SWEEP_TOMBS, (self.at,))
        self._execute(sql.BURY, (owner, self.at + math.ceil(TOMBSTONE * 1000), _text(reason)))

    def reason(self, owner: str) -> str:
        row = self._execute(sql.REASON, (owner, self.at)).fetchone()
        return "" if row is None else str(row[0])

    def describe(self, owner: str) -> Holder:
        row = self._execute(sql.DESCRIBE, (owner.rpartition(":")[0],)).fetchone()
        return Holder(owner) if row is None else Holder(owner, *row)

    def introduce(self, holder: Holder) -> None:
        """Also sweeps what has ended: each client comes here once an hour."""
        client = (holder.owner, _text(holder.host), holder.pid, _text(holder.program))
        self._execute(sql.INTRODUCE, (*client, holder.since, self.at))
        for statement in sql.SWEEP:
            self._execute(statement, (self.at,))
        self._execute(sql.SWEEP_CLIENTS, (self.at - GONE_MS,))

    def names(self) -> Sequence[str]:
        return [name for (name,) in self._execute(sql.NAMES, (self.at,))]


def withdraw_waiters(records: Records, *topics: tuple[str, str]) -> None:
    """Withdraw the waiters of a client that closes.  Safe to repeat: nothing is left."""
    for name, owner in topics:
        kind = use_of_owner(owner)
        if kind == barriers.BARRIER:
            barriers.withdraw(records, name, owner)
        else:
            withdraw(records, name, kind, owner)


def _text(text: str) -> str:
    """Make a host, a program or a reason storable: they may hold bytes that are no text."""
    return text.encode("utf-8", "replace").decode()
