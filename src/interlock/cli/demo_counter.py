"""Two counters in files: one checks the token of every write, the other takes every write.

A worker counts both up in the worst possible way, read, pause and write, so the number comes
out right only if no other worker writes in between.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ..errors import StaleToken


class FencedCounter:
    """A counter that remembers the newest token and refuses every older one.

    This is the resource's half of fencing.  Its own file lock makes the check and the write
    one step, as a database would; it does not make reading and writing one step.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def create(self) -> None:
        self._path.write_text(json.dumps({"value": 0, "token": 0}))

    def read(self) -> int:
        with self._opened() as file:
            return int(json.load(file)["value"])

    def write(self, value: int, token: int) -> None:
        """Set the value, unless a newer token has been here before."""
        with self._opened() as file:
            newest = int(json.load(file)["token"])
            if token < newest:
                raise StaleToken(self._path.name, token, newest)
            file.seek(0)
            file.truncate()
            json.dump({"value": value, "token": token}, file)

    @contextmanager
    def _opened(self) -> Iterator[IO[str]]:
        import fcntl  # Windows has none, and can at least say so: see `demo.main`

        with self._path.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # closing the file gives it back
            yield file


class LooseCounter:
    """A counter that every worker may write at any time."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def create(self) -> None:
        self._path.write_text("0")

    def read(self) -> int:
        return int(self._path.read_text())

    def write(self, value: int, writer: int) -> None:
        # Put in place whole: it may be wrong, but it is always a number.
        draft = self._path.with_suffix(f".{writer}")
        draft.write_text(str(value))
        draft.replace(self._path)
