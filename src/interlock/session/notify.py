"""What a client says of itself: to the log, and to its observer."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from ..errors import LockLost
from ..events import Event, Forgotten, Lost, Observer, Parked, StillWaiting, Troubled, Withdrawn
from ..model import kind_of_owner
from ..recipes.local_queue import LocalQueue
from ..recipes.renewal import PendingWithdrawal
from ..words import duration

log = logging.getLogger("interlock.lock")


class Notifier:
    """Tells the log and the observer what happens."""

    observer: Observer | None
    observed: bool

    def notify(self, event: Event) -> None:
        """Log what people want to read, and hand an event to the observer."""
        if isinstance(event, StillWaiting):
            words = "still waiting for lock %r after %s, held by %s"
            if kind_of_owner(event.owner) == "barrier":
                words = "still waiting at barrier %r after %s, beside %s"
            holder = event.holder or "an unknown holder"
            log.info(words, event.name, duration(event.waited), holder)
        elif isinstance(event, Troubled) and event.first and event.patience > 0:
            words = "lock %r cannot be asked for%s (%s); the waiter goes on trying for %s"
            store = f" on {event.store}" if event.store else ""
            log.warning(words, event.name, store, event.error, duration(event.patience))
        elif isinstance(event, (Parked, Troubled, Withdrawn)):
            log.debug("%s", event)
        if self.observer is not None:
            call_safely(self.observer, event)

    def report_loss(self, error: LockLost, event: Lost) -> None:
        """Log a loss, and hand it to the observer."""
        logging.getLogger("interlock.hold").error("%s", error)
        self.notify(event)

    def call_safely(self, function: Callable[[Any], object], argument: Any) -> None:
        """Call what the user gave us; its exceptions are logged and go no further."""
        call_safely(function, argument)


class Forgetting:
    """What happens when a lease goes out of reach: those behind it go on, and it is told.

    It does not know the client, which may be gone as well.
    """

    def __init__(self, queue: LocalQueue, observer: Observer | None) -> None:
        self._queue, self._observer = queue, observer

    def __call__(self, pending: PendingWithdrawal, words: str) -> None:
        self._queue.leave((pending.store.kind, pending.name), pending.owner)
        if words:
            log.warning("%s", words)
        if self._observer is not None:
            call_safely(self._observer, Forgotten(pending.name, pending.owner))


def call_safely(function: Callable[[Any], object], argument: Any) -> None:
    """Call what the user gave us; its exceptions are logged and go no further."""
    try:
        function(argument)
    except Exception:
        log.exception("the callback or observer %r raised, which changes nothing here", function)
    except SystemExit:
        log.exception("the callback or observer %r called sys.exit(): ignored here", function)
