"""The shelf over SQL: what the ledger's operations read and write inside one transaction.

Nearly every operation asks the same things of one name first, so one SELECT answers them
all, and what it said is remembered until the operation changes it.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

from ...ledger import Fact, Held, Shelf, Waiter, withdraw
from ...model import MARKS, TOMBSTONE, Holder
from . import statements as sql
from .clock import wall_us
from .failures import estranged

#: A waiter counts for so long after it last asked; it asks every two seconds or so.
ALIVE_MS = 5_000

#: Who has not introduced itself for so long is gone.
GONE_MS = 3 * 3_600_000

#: As what an owner uses a name, by the last digit of its number.
_KINDS = {mark: "rwlock" if kind in ("read", "write") else kind for kind, mark in MARKS.items()}


class Records:
    """See `ledger.Shelf`.  Used by one transaction at a time."""

    def __init__(
        self, cursor: sqlite3.Cursor, boot: str, instant: Callable[[], int], path: str
    ) -> None:
        self._execute = cursor.execute
        self._boot, self._instant, self._path = boot, instant, path
        #: The instant of this transaction, and to whom it has handed something.
        self.at = 0
        self.handed: list[tuple[str, str]] = []
        self._about = ""
        self._fetched: str | None = None
        self._shares: dict[str, Held] = {}
        self._last_place, self._lapsed = 0, False
        self._fact: Fact | None = None
        self._head: Waiter | None = None
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
        rows = self._execute(sql.FETCH, (owner, at, name, name, at, name)).fetchall()
        if len(rows) > 1:
            rows.sort()  # by their places, no two of which are the same
        if not rows or rows[0][1] != self._boot:
            raise estranged(self._path)
        _, _, _, buried, _, self._token = rows[0]
        self._fetched, self._buried = name, buried == 1
        self._fact = self._head = None
        self._head_known, self._lapsed = True, False
        self._shares, self._last_place = {}, 0
        if len(rows) > 1:
            self._read(rows[1:])

    def _read(self, rows: list[tuple[Any, ...]]) -> None:
        """What a name is for good, who waits first, and who holds it, in order."""
        at, shares = self.at, self._shares
        for place, owner, kind, weight, until, token in rows:
            if place > 0:
                self._last_place = place
                if until > at:
                    shares[owner] = Held(kind, owner, weight, (until - at) / 1000, token)
                else:
                    self._lapsed = True
            elif place == sql.HEAD_PLACE:
                self._head = Waiter(owner, weight)
            else:
                self._fact = Fact(kind, weight)

    # --- who holds -------------------------------------------------------------------------

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
        # Without its token, which no operation asks for once it has changed something.
        self._shares[owner] = Held(kind, owner, weight, lease)

    def drop(self, name: str, owner: str) -> None:
        self._execute(sql.DROP, (name, owner))
        if self._fetched == name:
            self._shares.pop(owner, None)
            if self._lapsed:
                self._forget_lapsed(name)

    def _forget_lapsed(self, name: str) -> None:
        """Whoever comes or goes takes along those whose leases have ended."""
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

    # --- what a name is for good -----------------------------------------------------------

    def fact(self, name: str) -> Fact | None:
        if self._fetched != name:
            self._fetch(name)
        return self._fact

    def set_fact(self, name: str, kind: str, number: int) -> None:
        self._execute(sql.SET_FACT, (name, kind, number))
        if self._fetched == name:
            self._fact = Fact(kind, number)

    def drop_fact(self, name: str) -> None:
        self._execute(sql.DROP_FACT, (name,))
        if self._fetched == name:
            self._fact = None

    # --- who waits -------------------------------------------------------------------------

    def head(self, name: str) -> Waiter | None:
        """The first waiter that is alive."""
        if self._fetched != name or not self._head_known:
            row = self._execute(sql.HEAD, (name, self.at)).fetchone()
            head = None if row is None else Waiter(*row)
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
            return  # nobody alive waits, so neither does this owner
        self._execute(sql.DEQUEUE, (name, owner, self.at))
        self._head_known = False

    def waiting(self, name: str) -> int:
        return int(self._execute(sql.WAITING, (name, self.at)).fetchone()[0])

    def hears(self, name: str, owner: str) -> bool:
        """Whoever has asked lately hears, and nobody else is ever the head."""
        return True

    def wake(self, name: str, owner: str) -> bool:
        """The commit is the wake; in this process there is a shorter way."""
        self.handed.append((name, owner))
        return True

    # --- who is gone, and who is who ----------------------------------------------------------

    def buried(self, owner: str) -> bool:
        self._fetch(self._about, owner)
        return self._buried

    def bury(self, owner: str, reason: str) -> None:
        self._execute(sql.SWEEP_TOMBS, (self.at,))
        self._execute(sql.BURY, (owner, self.at + math.ceil(TOMBSTONE * 1000), _text(reason)))

    def epitaph(self, owner: str) -> str:
        row = self._execute(sql.EPITAPH, (owner, self.at)).fetchone()
        return "" if row is None else str(row[0])

    def describe(self, owner: str) -> Holder:
        row = self._execute(sql.DESCRIBE, (owner.rpartition(":")[0],)).fetchone()
        return Holder(owner) if row is None else Holder(owner, *row)

    def introduce(self, holder: Holder) -> None:
        """Also the moment to sweep: it comes once an hour for each client."""
        person = (holder.owner, _text(holder.host), holder.pid, _text(holder.program))
        self._execute(sql.INTRODUCE, (*person, holder.since, self.at))
        for statement in sql.SWEEP:
            self._execute(statement, (self.at,))
        self._execute(sql.SWEEP_CLIENTS, (self.at - GONE_MS,))

    def names(self) -> Sequence[str]:
        return [name for (name,) in self._execute(sql.NAMES, (self.at,))]


def vacate(shelf: Shelf, *topics: tuple[str, str]) -> None:
    """Withdraw owners whose client goes while they wait.  Safe to repeat: nothing is left."""
    for name, owner in topics:
        withdraw(shelf, name, _KINDS.get(owner[-1:], "lock"), owner)


def _text(text: str) -> str:
    """Host and program names, and reasons, may hold bytes that are no text."""
    return text.encode("utf-8", "replace").decode()
