"""Wakes and the waiting for them, for threads; tasks have theirs in `tasks.py`.

A `wake` may come from any thread.  Each place counts at most one wake: a second one before
the first was seen says nothing new.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType

from .drive import now


def _nothing() -> None:
    pass


class ThreadWakes:
    """A place where one thread is woken."""

    __slots__ = ("_leave", "_signal")

    def __init__(self, leave: Callable[[], None] = _nothing) -> None:
        self._leave, self._signal = leave, threading.Event()

    def __enter__(self) -> ThreadWakes:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave()

    def wake(self) -> None:
        self._signal.set()

    def woken(self) -> bool:
        """Whether a wake has come since the last look; looking uses it up."""
        if self._signal.is_set():
            self._signal.clear()
            return True
        return False

    def wait(self, until: float) -> bool:
        """Block this thread until a wake or the instant."""
        pause = until - now()
        # Event.wait refuses very long times; asking again later costs nothing.
        self._signal.wait(min(max(pause, 0.0), 3600.0))
        return self.woken()


def pause_thread(until: float) -> bool:
    """Let this thread sleep until the instant."""
    time.sleep(max(until - now(), 0.0))
    return False
