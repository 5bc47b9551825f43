"""A server as gunicorn runs it: one client, made and used before the workers are forked."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import interlock

WORKERS, ROUNDS = 4, 25


def count(client: interlock.Client, file: Path) -> None:
    """Add to a number in a file, which goes wrong without a lock."""
    for _ in range(ROUNDS):
        with client.lock("counter", timeout=20):
            file.write_text(str(int(file.read_text()) + 1))


def main(url: str, path: str) -> None:
    client, file = interlock.connect(url), Path(path)
    with client.lock("counter"):
        file.write_text("0")
    workers = []
    for _ in range(WORKERS):
        pid = os.fork()
        if pid == 0:
            count(client, file)
            sys.exit(0)
        workers.append(pid)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in workers]
    count(client, file)
    sys.stdout.write(f"{codes.count(0)} {file.read_text()}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
