"""What a client says of itself: to the log, and to whoever observes it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from ..events import Event, Observer, Parked, StillWaiting, Troubled, Withdrawn

log = logging.getLogger("interlock.lock")


class Teller:
    """Tells what happens."""

    observer: Observer | None

    def tell(self, event: Event) -> None:
        """Log what people want to read, and hand an event to the observer."""
        if isinstance(event, StillWaiting):
            words = "still waiting for lock %r after %.0f s, held by %s"
            log.info(words, event.name, event.waited, event.holder or "somebody else")
        elif isinstance(event, (Parked, Troubled, Withdrawn)):
            log.debug("%s", event)
        if self.observer is not None:
            self.guarded(self.observer, event)

    def guarded(self, function: Callable[[Any], object], argument: Any) -> None:
        """Call what the user gave us; its exceptions are logged and go no further."""
        try:
            function(argument)
        except Exception:
            log.exception("%r raised", function)
        except SystemExit:
            log.exception("%r wants to exit, which it cannot do here", function)
