"""The processes of multiprocessing, started by fork or by spawn."""

from __future__ import annotations

import multiprocessing
import sys
from pathlib import Path
from typing import Any

import interlock

WORKERS, ROUNDS = 3, 15


def count(url: str, path: str) -> None:
    file = Path(path)
    with interlock.connect(url) as client:
        for _ in range(ROUNDS):
            with client.lock("counter", timeout=20):
                file.write_text(str(int(file.read_text()) + 1))


def main(url: str, path: str, method: str) -> None:
    Path(path).write_text("0")
    context: Any = multiprocessing.get_context(method)
    with interlock.connect(url) as client:
        with client.lock("held by the parent"):
            workers = [context.Process(target=count, args=(url, path)) for _ in range(WORKERS)]
            for each in workers:
                each.start()
            for each in workers:
                each.join()
            held = client.lock("held by the parent").locked()
        codes = [each.exitcode for each in workers]
    sys.stdout.write(f"{codes.count(0)} {Path(path).read_text()} {held}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
