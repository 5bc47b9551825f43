"""How a lock file is recognised and opened.

The main danger is that two processes work on different files under one name: each would
grant the same lock.  Therefore a file is made by one process alone (`making`), and a process
that has it open checks now and then that the names still lead to what it opened (`Identity`).

While SQLite has the file open, this process must not open and close it by other means: closing
any descriptor of a file drops all locks that the process has on it.
"""

from __future__ import annotations

import os
import sqlite3
from importlib.resources import files
from typing import NamedTuple, TypeAlias
from urllib.parse import quote_from_bytes

from ....errors import StoreError
from ..errors import (
    Occupied,
    estranged,
    from_sqlite,
    linked,
    misconfigured,
    replaced,
    unreachable,
)
from ..url import resolved
from .connections import Connection
from .making import Inode as Inode
from .making import prepare_file

#: "ilck" in the header of the file, and the version of its format.
APPLICATION, VERSION = 0x696C636B, 3

#: Each commit copies whole pages, so small ones are faster: a record has some 100 bytes.
PAGE_BYTES = 1024

#: Some four megabytes between two moments of real disk work.
CHECKPOINT_PAGES = 4000


class Identity(NamedTuple):
    """Which files the names lead to."""

    main: Inode
    log: Inode | None


Opened: TypeAlias = tuple[sqlite3.Connection, Identity]


def connect(path: str, boot: str, known: Inode | None) -> Opened:
    """Open a lock file, made if it is missing and checked to be one of ours.

    `known` is the file that this process has opened before, if it has.  Raises Occupied while
    another process has it locked.
    """
    try:
        inode = prepare_file(path)
        return _connect(path, inode, boot, newcomer=inode != known)
    except StoreError:
        raise  # one of them is an OSError as well
    except BlockingIOError as error:
        raise Occupied from error
    except OSError as error:
        raise unreachable(path, error) from error
    except sqlite3.Error as error:
        raise from_sqlite(error, path) from error


def _connect(path: str, inode: Inode, boot: str, newcomer: bool) -> Opened:
    connection = _open(path)
    try:
        _look_behind(connection, path)
        _recognise(connection, path)
        _settle_in(connection, path)
        _enter_boot(connection, boot, path, newcomer)
        opened = identity(path)
        if opened.main != inode:
            raise replaced(path)
    except BaseException:
        connection.close()
        raise
    return connection, opened


def _open(path: str) -> sqlite3.Connection:
    # mode=rw: were the file gone again, SQLite must not make one with other permissions.
    uri = f"file:{quote_from_bytes(os.fsencode(path))}?mode=rw"
    return Connection(path, uri)


def _look_behind(connection: sqlite3.Connection, path: str) -> None:
    """Check that SQLite opened the file itself: it would have followed a symbolic link that has
    taken the place of the file meanwhile."""
    connection.text_factory = os.fsdecode  # a path need not be text
    (_, _, opened) = connection.execute("PRAGMA database_list").fetchone()
    connection.text_factory = str
    if opened != resolved(path):
        raise linked(path)


# --- the file ---------------------------------------------------------------------------------


def identity(path: str) -> Identity:
    """Which files a path leads to now."""
    try:
        main = os.lstat(path)
    except FileNotFoundError:
        raise replaced(path) from None
    try:
        log = os.lstat(f"{path}-wal")
    except FileNotFoundError:
        return Identity((main.st_dev, main.st_ino), None)
    return Identity((main.st_dev, main.st_ino), (log.st_dev, log.st_ino))


# --- the format -------------------------------------------------------------------------------


def _recognise(connection: sqlite3.Connection, path: str) -> None:
    """Check that the file is a lock file or new; nothing is written to any other."""
    application, version, tables = _header(connection)
    if application == APPLICATION:
        if version != VERSION:
            raise misconfigured(
                path,
                f"its format has version {version}, but this program reads version {VERSION}; "
                "use the same version of Interlock everywhere",
            )
    elif application or version or tables:
        raise misconfigured(path, "it is the database of another program; choose another path")


def _header(connection: sqlite3.Connection) -> tuple[int, int, int]:
    with _Transaction(connection, "BEGIN"):  # another process may be laying it out just now
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        return application, version, _tables(connection)


def _tables(connection: sqlite3.Connection) -> int:
    (count,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return int(count)


def _settle_in(connection: sqlite3.Connection, path: str) -> None:
    """Set the connection up, and lay the tables out in a new file."""
    # Several users may write to it, and a schema can run code of the user who wrote it.
    connection.execute("PRAGMA trusted_schema = OFF")
    # Only a file without any page takes a new size of pages.
    connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise misconfigured(path, "its file system cannot share memory; use a local disk")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
    if not _tables(connection):
        with _Transaction(connection):
            if not _tables(connection):
                _lay_out(connection)


def _lay_out(connection: sqlite3.Connection) -> None:
    text = files(__name__.rpartition(".")[0]).joinpath("schema.sql").read_text()
    for statement in filter(str.strip, text.split(";\n")):
        connection.execute(statement)
    connection.execute("INSERT INTO records VALUES ('', '', 'world', 0, 0, 0, 0)")
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _enter_boot(connection: sqlite3.Connection, boot: str, path: str, newcomer: bool) -> None:
    """Void the leases, waiters and tombstones of another boot: no process of it lives.

    Declarations do not depend on live processes, and stay.
    """
    found = _boot_of(connection)
    if found == boot:
        return
    if found and not newcomer:
        raise estranged(path)  # this process lives, so another machine has booted
    with _Transaction(connection):
        if _boot_of(connection) == found:
            connection.execute("DELETE FROM records WHERE name != ''")
            for table in ("queue", "tombs", "clients"):
                connection.execute(f"DELETE FROM {table}")
            connection.execute("UPDATE records SET owner = ? WHERE name = ''", (boot,))


def _boot_of(connection: sqlite3.Connection) -> str | None:
    row = connection.execute("SELECT owner FROM records WHERE name = ''").fetchone()
    return None if row is None else str(row[0])


class _Transaction:
    """A transaction: all of a block, or nothing of it."""

    def __init__(self, connection: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> None:
        self._connection, self._begin = connection, begin

    def __enter__(self) -> None:
        self._connection.execute(self._begin)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._connection.execute("COMMIT")
        elif self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
