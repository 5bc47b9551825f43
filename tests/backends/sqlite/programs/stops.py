"""Begins to write to a lock file, and stays in the middle of it."""

from __future__ import annotations

import sqlite3
import sys


def main(path: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO records VALUES ('spoilt', 'nobody:1', 'lock', 1, 1, 1, 1)")
    sys.stdout.write("in the middle\n")
    sys.stdout.flush()
    sys.stdin.readline()
    connection.execute("ROLLBACK")


if __name__ == "__main__":
    main(sys.argv[1])
