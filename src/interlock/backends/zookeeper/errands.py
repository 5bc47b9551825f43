"""Things to be done that nobody waits for.

A session's questions are executed in their order, so whoever sends something behind its own
question need not await the answer.  But a cut may swallow it, and what was to be removed would
stay as long as the session.  So it is asked for again after each cut until there is an answer;
everything that is sent in this way may be repeated.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeAlias

from ...errors import OutcomeUnknown, StoreError
from .wire import Ask, judged

log = logging.getLogger("interlock.zookeeper")

#: Sends a question; the object hears the answer, or the error, as kazoo's own results do.
Send: TypeAlias = Callable[[Ask, Any], None]


class Errands:
    """What was not sent yet, or not answered."""

    def __init__(self, store: str) -> None:
        self._store = store
        self._left: deque[Ask] = deque()

    def add(self, ask: Ask) -> None:
        self._left.append(ask)

    def send(self, send: Send) -> None:
        """Send all that is left; whoever finds a connection calls it, in whatever thread."""
        for _ in range(len(self._left)):
            with suppress(IndexError):  # another thread has sent it
                ask = self._left.popleft()
                send(ask, _Errand(self, ask))

    def failed(self, ask: Ask, error: BaseException) -> None:
        reply = judged(ask, error, self._store)
        if isinstance(reply, OutcomeUnknown):
            self.add(ask)
        elif isinstance(reply, StoreError):
            log.warning("%s", reply)


class _Errand:
    """Where kazoo puts the answer."""

    __slots__ = ("_ask", "_errands")

    def __init__(self, errands: Errands, ask: Ask) -> None:
        self._errands, self._ask = errands, ask

    def set(self, value: Any) -> None:
        """It is done."""

    def set_exception(self, error: BaseException) -> None:
        self._errands.failed(self._ask, error)
