"""Connections are closed for good, whatever was under way, and a fork finds each of them."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interlock.backends.sqlite.transport.connections import Connection, close_all


@pytest.fixture
def connection(path: Path) -> Iterator[Connection]:
    connection = Connection(str(path), f"file:{path}?mode=rwc")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE t (n)")
    connection.executemany("INSERT INTO t VALUES (?)", [(1,), (2,)])
    yield connection
    connection.close()


def open_files(path: Path) -> list[str]:
    links = [each for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]
    return [
        each for each in (str(link.readlink()) for link in links) if each.startswith(str(path))
    ]


def test_statement_that_was_not_read_to_its_end_keeps_nothing_open(
    connection: Connection, path: Path
) -> None:
    rows = connection.execute("SELECT n FROM t")
    assert rows.fetchone() == (1,)

    assert close_all(str(path))

    assert open_files(path) == []
    with pytest.raises(sqlite3.ProgrammingError):
        rows.fetchone()


def test_transaction_that_was_begun_is_undone(connection: Connection, path: Path) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("DELETE FROM t")

    assert close_all(str(path))

    with Connection(str(path), f"file:{path}") as other:
        assert other.execute("SELECT count(*) FROM t").fetchone() == (2,)
    other.close()


def test_connection_in_the_middle_of_a_statement_is_not_closed(
    connection: Connection, path: Path
) -> None:
    """As where the garbage collector runs code in there, and a signal handler strikes that."""
    closed: list[bool] = []
    connection.create_function("strike", 0, lambda: closed.append(close_all(str(path))))

    assert connection.execute("SELECT strike()").fetchone() == (None,)

    assert closed == [False]
    assert connection.open


def test_only_connections_to_the_same_file_are_closed(
    connection: Connection, tmp_path: Path
) -> None:
    assert close_all(str(tmp_path / "another.db"))

    assert connection.open


def test_connection_may_be_closed_twice(connection: Connection) -> None:
    connection.close()
    connection.close()

    assert not connection.open


def test_no_code_runs_while_a_cursor_goes(connection: Connection) -> None:
    """A signal handler in there would find neither the cursor nor its statement closed."""
    rows = connection.execute("SELECT n FROM t")
    rows.fetchone()
    events: list[str] = []

    def note(frame: Any, event: str, arg: Any) -> None:
        events.append(event)

    sys.setprofile(note)
    del rows
    sys.setprofile(None)

    assert "call" not in events
