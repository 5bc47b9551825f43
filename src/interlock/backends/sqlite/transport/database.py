"""One open lock file: its transactions, and cheap polls at what has changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import suppress

from ....ledger import kind_of, look, names, read_register, withdrawal_reason
from ....ledger.barriers import BARRIER, GATHERS, INSIDE
from ....model import kind_of_owner
from ....steps import Call, Reply
from ..errors import from_sqlite, replaced, uncommitted
from . import clock
from .opening import Inode, connect, identity
from .records import SqliteRecords
from .statements import GLANCE, PARTY
from .watch import Topic, WaiterState

#: Operations that write nothing, and so need not wait for a process that does.
READ_ONLY = {look, kind_of, names, withdrawal_reason, read_register}

#: How often to check that the path still leads to the file that was opened.
VERIFY_MS = 1000


class Database:
    """A connection to a lock file.  Its caller sees to it that one thread at a time uses it."""

    def __init__(self, path: str, known: Inode | None) -> None:
        boot, self._instant = clock.boot_id(), clock.instants()
        self._path = path
        self._connection, self._identity = connect(path, boot, known)
        self._verified = self._instant()
        self._cursor = self._connection.cursor()
        self._execute = self._cursor.execute
        self.records = SqliteRecords(self._cursor, boot, self._instant, path)

    @property
    def inode(self) -> Inode:
        """Device and number of the open file."""
        return self._identity.main

    def apply(self, calls: Sequence[Call]) -> tuple[list[Reply], list[Topic]]:
        """Run calls in one transaction, wholly or not at all.

        Answers the replies, and the waiters to which something was handed.  Raises Occupied
        while another process is in a transaction.
        """
        try:
            self._begin(calls)
            replies = [self._operate(call) for call in calls]
        except sqlite3.Error as error:
            self._roll_back()
            raise from_sqlite(error, self._path) from error
        try:
            self._execute("COMMIT")
        except sqlite3.Error as error:
            raise uncommitted(error, self._path) from error
        return replies, self.records.handed

    def _begin(self, calls: Sequence[Call]) -> None:
        reads = len(calls) == 1 and calls[0].operation in READ_ONLY
        self._execute("BEGIN" if reads else "BEGIN IMMEDIATE")
        records = self.records
        records.begin()
        if records.at - self._verified >= VERIFY_MS:
            self._verify()

    def _operate(self, call: Call) -> Reply:
        self.records.turn_to(call.keys)
        return call.operation(self.records, *call.keys, *call.args)

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            with suppress(sqlite3.Error):
                self._execute("ROLLBACK")

    def _verify(self) -> None:
        """Raise if the path does not lead to the open file any more."""
        self._verified = self.records.at
        if identity(self._path) != self._identity:
            raise replaced(self._path)

    def version(self) -> int:
        """A number that changes whenever another process has committed something."""
        try:
            (version,) = self._execute("PRAGMA data_version").fetchone()
        except sqlite3.Error as error:
            raise from_sqlite(error, self._path) from error
        return int(version)

    def poll(self, topics: Iterable[Topic]) -> list[WaiterState]:
        """How each of these waiters stands, outside of any transaction."""
        at = self._instant()
        try:
            return [self._sight(topic, at) for topic in topics]
        except sqlite3.Error as error:
            raise from_sqlite(error, self._path) from error

    def _sight(self, topic: Topic, at: int) -> WaiterState:
        """It is due when it holds, or when nothing keeps it out: no owner holds the name, and it
        is no semaphore, whose permits are handed over, and no latch that still counts."""
        name, owner = topic
        if kind_of_owner(owner) == BARRIER:
            return self._party(name, owner, at)
        row = self._execute(GLANCE, (owner, name, name, name, owner, name, at)).fetchone()
        holders, mine, token, number, ahead = row
        free = holders == 0 and number is None
        return WaiterState(free or mine == 1, (holders, token, number), ahead)

    def _party(self, name: str, owner: str, at: int) -> WaiterState:
        """A party is due when it is inside, and when none is inside that it waits for."""
        row = self._execute(PARTY, (owner, name, owner, name, at)).fetchone()
        stage, inside, there, queued = row
        gone = stage is None and not queued
        due = gone or stage == INSIDE or (stage != GATHERS and inside == 0)
        return WaiterState(due, (stage, inside, there), 0)

    def close(self) -> None:
        """Close; a transaction that was interrupted is undone."""
        with suppress(sqlite3.Error):
            # As long as the cursor lives, in a traceback perhaps, so would the connection.
            self._cursor.close()
            self._connection.close()
