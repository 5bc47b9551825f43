"""Connections that are found from before they are open, and closed for good when they are closed.

A fork must find every connection of the process, also one that is being opened by the very code
that a signal handler has interrupted in order to fork.  And SQLite keeps a connection that was
closed open behind the scenes as long as one of its statements lives, as that of an interrupted
call does.
"""

from __future__ import annotations

import sqlite3
import weakref
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


class Connection(sqlite3.Connection):
    """A connection that knows its cursors, so that no statement outlives it."""

    def __init__(self, path: str, uri: str) -> None:
        self.path = path
        # Not a WeakSet: what is called when a cursor goes, while its statement still lives, must
        # not be code that a signal handler can interrupt.
        self._cursors: set[weakref.ref[sqlite3.Cursor]] = set()
        _connections.add(weakref.ref(self, _connections.discard))
        super().__init__(uri, uri=True, timeout=0, isolation_level=None, check_same_thread=False)

    def cursor(self, factory: Any = sqlite3.Cursor) -> Any:
        cursor = super().cursor(factory)
        self._cursors.add(weakref.ref(cursor, self._cursors.discard))
        return cursor

    def execute(self, *args: Any) -> sqlite3.Cursor:
        cursor: sqlite3.Cursor = self.cursor().execute(*args)
        return cursor

    def close(self) -> None:
        """Close, if it is open; what was begun is undone.  Raises sqlite3.Error in the middle of
        a statement."""
        if self.open:
            for cursor in _living(self._cursors):
                cursor.close()
            super().close()

    @property
    def open(self) -> bool:
        """Whether it was opened, and not closed since then.

        Python runs code of its own, which a handler can interrupt, also while it opens one; but
        before the first statement SQLite has locked nothing, so there is nothing to remember.
        """
        try:
            return self.total_changes >= 0
        except sqlite3.ProgrammingError:
            return False


_connections: set[weakref.ref[Connection]] = set()


def _living(some: set[weakref.ref[T]]) -> list[T]:
    """The living ones; copying the set is one step, which no other thread can interrupt."""
    return [found for each in tuple(some) if (found := each()) is not None]


def close_all(path: str) -> bool:
    """Close every connection to a file; False where one is in the middle of a statement.

    The caller sees to it that no other thread uses one.
    """
    ours = [each for each in _living(_connections) if each.path == path]
    for connection in ours:
        with suppress(sqlite3.Error):
            connection.close()
    return not any(connection.open for connection in ours)
