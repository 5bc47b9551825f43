"""The local line: inside one client, only the head of a line asks the store.

Whoever wants a name that a sibling already holds or seeks waits here, in order of arrival,
and costs the store nothing.  The head stays the head while it holds, so a thousand tasks on
one lock ask the store as often as one would.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

from ..recipes.lock import Clock
from ..steps import Steps, Wakes, park

#: A kind and a name: what can be held.
Key: TypeAlias = tuple[str, str]


class Ticket:
    """A place in a line; `served` once it is the head."""

    __slots__ = ("served", "wakes")

    def __init__(self, wakes: Wakes) -> None:
        self.wakes, self.served = wakes, False


class Lines:
    """Every line of one client.  The mutex is held for a few instructions only."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        # None: there is a head, and nobody behind it.
        self._lines: dict[Key, deque[Ticket] | None] = {}

    def enter(self, key: Key) -> bool:
        """Become the head if there is none."""
        with self._mutex:
            if key in self._lines:
                return False
            self._lines[key] = None
            return True

    def join(self, key: Key, ticket: Ticket) -> None:
        """Stand at the end of the line, or at its head if it has gone."""
        with self._mutex:
            if key not in self._lines:
                self._lines[key] = None
                ticket.served = True
            else:
                line = self._lines[key]
                if line is None:
                    line = self._lines[key] = deque()
                line.append(ticket)

    def leave(self, key: Key) -> None:
        """The head goes; the next one, if any, is the head from now on."""
        with self._mutex:
            line = self._lines[key]
            if not line:
                del self._lines[key]
                return
            ticket = line.popleft()
            ticket.served = True
        ticket.wakes.wake()

    def quit(self, key: Key, ticket: Ticket) -> None:
        """Give up a place, wherever in the line it is by now."""
        with self._mutex:
            line = self._lines.get(key)
            if not ticket.served:
                if line is not None:
                    line.remove(ticket)
                return
        self.leave(key)


def stand(
    lines: Lines, key: Key, wakes: Callable[[], Wakes], deadline: float, clock: Clock
) -> Steps[bool]:
    """Wait to become the head; False when the deadline came first.  No round trip."""
    with wakes() as mine:
        ticket = Ticket(mine)
        try:
            lines.join(key, ticket)
            while not ticket.served:
                if clock() >= deadline:
                    lines.quit(key, ticket)
                    return False
                yield from park(mine, deadline)
        except BaseException:
            lines.quit(key, ticket)
            raise
    return True
