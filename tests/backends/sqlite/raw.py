"""A look at a lock file past the library, and ways to spoil it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def raw(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection of its own."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


def ask(path: Path, question: str, *facts: Any) -> list[Any]:
    """The rows that a statement gives."""
    with raw(path) as connection:
        return connection.execute(question, facts).fetchall()


def queue(path: Path) -> list[str]:
    """The waiters, in order."""
    return [owner for (owner,) in ask(path, "SELECT owner FROM queue ORDER BY name, place")]


def holders(path: Path) -> list[str]:
    """The holders of the name k, in order."""
    rows = ask(path, "SELECT owner FROM records WHERE name = 'k' ORDER BY place")
    return [owner for (owner,) in rows]


def weights(path: Path) -> list[int]:
    """How much of it each of them has, in the same order."""
    rows = ask(path, "SELECT weight FROM records WHERE name = 'k' ORDER BY place")
    return [weight for (weight,) in rows]


@contextmanager
def occupied(path: Path) -> Iterator[sqlite3.Connection]:
    """A transaction of another process that does not end."""
    with raw(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield connection


def until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    """Wait for what must come true by itself."""
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it did not come true"
        time.sleep(0.005)
