"""Signal handlers at every place where the interpreter looks for signals.

As `recipes.strikes`, but what strikes is a function that returns, as handlers do, and only in the
code of one folder of the package.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from ..recipes.strikes import PACKAGE, Striker


class Handler(Striker):
    """Calls `handle` at the place with number `at` of a folder, if the code gets there."""

    def __init__(self, at: int, folder: str, handle: Callable[[], object]) -> None:
        super().__init__(at)
        self._folder, self._handle = f"{PACKAGE}/{folder}", handle

    def _strike(self, frame: FrameType) -> None:
        code = frame.f_code
        if not code.co_filename.startswith(self._folder):
            return
        self.count += 1
        if self.count == self.at:
            file = Path(code.co_filename).relative_to(PACKAGE)
            self.where = f"{file}:{frame.f_lineno} in {code.co_name}"
            self._handle()
            sys.settrace(None)  # nothing is counted any more
