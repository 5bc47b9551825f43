"""What is guarded, outside of the store: files that everybody in any language uses alike.

They are those of Curator's `Section`.  Whoever is inside of place i has a marker in the folder
`inside-i`, and sees at most `most` of them.  Where one at a time is admitted it also counts in
`count-i` (read, thought about and written, so that two at a time lose one) and appends its
token to `tokens-i`.
"""

from __future__ import annotations

import time
from pathlib import Path


class Section:
    """One place, as one side sees it."""

    def __init__(self, folder: Path, place: int, most: int, side: str) -> None:
        self._inside, self._side, self._most = folder / f"inside-{place}", side, most
        self._inside.mkdir(parents=True, exist_ok=True)
        self._counter, self._tokens = folder / f"count-{place}", folder / f"tokens-{place}"

    def visit(self, token: int) -> bool:
        """Whether there was room for the one with this token."""
        marker = self._inside / f"{self._side}-{token}"
        marker.touch(exist_ok=False)
        try:
            room = self._crowd() <= self._most
            if self._most == 1:
                self._count(token)
            return self._crowd() <= self._most and room
        finally:
            marker.unlink()

    def _crowd(self) -> int:
        return sum(1 for _ in self._inside.iterdir())

    def _count(self, token: int) -> None:
        value = int(self._counter.read_text()) if self._counter.exists() else 0
        time.sleep(0)
        self._counter.write_text(str(value + 1))
        with self._tokens.open("a") as tokens:
            tokens.write(f"{token}\n")
