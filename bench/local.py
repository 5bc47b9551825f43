"""Who takes part on one machine without a server: SQLite, bare and ours, and file locks."""

from __future__ import annotations

import importlib
import os
import sqlite3
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import interlock

from .peers import Entrant, Guard

BARE, FILELOCK, DISKCACHE = "bare SQLite", "filelock", "diskcache Lock"
SQLITE_LOCK, SQLITE_MUTEX = "interlock lock(), sqlite", "interlock mutex(), sqlite"

TAKE = """
INSERT INTO locks (name, owner, until) VALUES (?, ?, ?)
ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
WHERE locks.until < ?
"""
FREE = "DELETE FROM locks WHERE name = ? AND owner = ?"


class BareSqlite:
    """One statement to take, one to free, each a transaction; WAL, synchronous NORMAL.

    A waiter asks again every half millisecond.
    """

    def __init__(self, folder: str, name: str) -> None:
        self._base = sqlite3.connect(Path(folder) / "bare.db", timeout=5, isolation_level=None)
        self._base.execute("PRAGMA journal_mode = WAL")
        self._base.execute("PRAGMA synchronous = NORMAL")
        self._base.execute(
            "CREATE TABLE IF NOT EXISTS locks"
            " (name TEXT PRIMARY KEY, owner TEXT, until REAL) WITHOUT ROWID"
        )
        self._name, self._owner = name, f"bare-{os.getpid()}"

    def __enter__(self) -> BareSqlite:
        while not self._attempt():
            time.sleep(0.0005)
        return self

    def _attempt(self) -> bool:
        now = time.time()
        row = (self._name, self._owner, now + 30.0, now)
        return self._base.execute(TAKE, row).rowcount == 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._base.execute(FREE, (self._name, self._owner))


def _lock(folder: str, name: str) -> Guard:
    return interlock.connect(f"sqlite:///{folder}/interlock.db").lock(name)


def _mutex(folder: str, name: str) -> Guard:
    return interlock.connect(f"sqlite:///{folder}/interlock.db").mutex(name)


def _filelock(folder: str, name: str) -> Guard:
    module: Any = importlib.import_module("filelock")
    lock: Guard = module.FileLock(Path(folder) / f"{name}.lock")
    return lock


def _diskcache(folder: str, name: str) -> Guard:
    module: Any = importlib.import_module("diskcache")
    lock: Guard = module.Lock(module.Cache(str(Path(folder) / "cache")), name, expire=30)
    return lock


LOCAL = (
    Entrant(BARE, BareSqlite, module="sqlite3"),
    Entrant(SQLITE_LOCK, _lock, module="interlock"),
    Entrant(SQLITE_MUTEX, _mutex, module="interlock"),
    Entrant(FILELOCK, _filelock, module="filelock"),
    Entrant(DISKCACHE, _diskcache, module="diskcache"),
)


def entrants() -> list[Entrant]:
    """Those that are installed here."""
    return [each for each in LOCAL if each.there]
