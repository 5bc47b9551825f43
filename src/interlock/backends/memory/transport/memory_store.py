"""A store in the memory of one process: records, and the mutex under which they change."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ....errors import interrupted
from ....parking import is_mine
from ....steps import Call, Reply
from .records import MemoryRecords


class MemoryStore:
    """What every client of one `memory://name` shares: threads and event loops alike."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.records, self.mutex = MemoryRecords(clock), threading.RLock()
        self._within = False

    def apply(self, request: Call) -> Reply:
        with self.mutex:
            # A signal handler or a finalizer may interrupt an operation and make a call of its
            # own: the store refuses it, or both might be granted.
            if self._within:
                raise interrupted("memory://", "memory://")
            self._within = True
            try:
                return request.operation(self.records, *request.keys, *request.args)
            finally:
                self._within = False

    def engaged(self) -> bool:
        """Whether this thread is in the middle of a call, and keeps all others out."""
        return is_mine(self.mutex)

    def after_fork(self) -> None:
        """Begin anew in a forked child, in which no client holds or waits yet."""
        self.records, self.mutex = MemoryRecords(self.records.clock), threading.RLock()
        self._within = False

    def listen(self, topic: Any, listener: Callable[[], None]) -> None:
        with self.mutex:
            self.records.listeners[topic] = listener

    def leave(self, topic: Any) -> None:
        with self.mutex:
            self.records.listeners.pop(topic, None)
