"""Signal handlers at every place where the interpreter looks for signals.

As `recipes.strikes`, but what strikes is a function that returns, as handlers do, and only in some
parts of the package.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType

from ..recipes.strikes import PACKAGE, Striker


class Handler(Striker):
    """Calls `handle` at the place with number `at`, if the code gets there.

    Only those places count whose file, below the package, begins with `part`, or with one of
    several parts.
    """

    def __init__(self, at: int, part: str | Iterable[str], handle: Callable[[], object]) -> None:
        super().__init__(at)
        parts = [part] if isinstance(part, str) else part
        self._parts, self._handle = tuple(f"{PACKAGE}/{each}" for each in parts), handle

    def _strike(self, frame: FrameType) -> None:
        code = frame.f_code
        if not code.co_filename.startswith(self._parts):
            return
        self.count += 1
        if self.count == self.at:
            file = Path(code.co_filename).relative_to(PACKAGE)
            self.where = f"{file}:{frame.f_lineno} in {code.co_name}"
            self._handle()
            sys.settrace(None)  # nothing is counted any more
