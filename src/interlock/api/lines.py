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

    __slots__ = ("owner", "served", "wakes")

    def __init__(self, owner: str, wakes: Wakes) -> None:
        self.owner, self.wakes, self.served = owner, wakes, False


class Lines:
    """Every line of one client.  The mutex is held for a few instructions only.

    Whoever enters, leaves or quits says who it is, so that doing it once too often is
    harmless: an interrupted acquisition cannot know how far it got.
    """

    def __init__(self) -> None:
        self._mutex = threading.RLock()
        self._heads: dict[Key, str] = {}
        self._lines: dict[Key, deque[Ticket]] = {}
        #: Owners whose release is under way: those of a shared kind stand in no line.
        self.leaving: set[str] = set()

    def enter(self, key: Key, owner: str) -> bool:
        """Become the head if there is none."""
        with self._mutex:
            if key in self._heads:
                return False
            self._heads[key] = owner
            return True

    def join(self, key: Key, ticket: Ticket) -> None:
        """Stand at the end of the line, or at its head if it has gone."""
        with self._mutex:
            if key in self._heads:
                self._lines.setdefault(key, deque()).append(ticket)
            else:
                self._heads[key] = ticket.owner
                ticket.served = True

    def leave(self, key: Key, owner: str) -> None:
        """If this owner is the head, it goes; the next one is the head from now on."""
        with self._mutex:
            if self._heads.get(key) != owner:
                return
            line = self._lines.get(key)
            if line is None:
                del self._heads[key]
                return
            ticket = line.popleft()
            self._heads[key] = ticket.owner
            ticket.served = True
            if not line:
                del self._lines[key]
        ticket.wakes.wake()

    def quit(self, key: Key, ticket: Ticket) -> None:
        """Give up a place, wherever in the line it is by now."""
        with self._mutex:
            line = self._lines.get(key)
            if line is not None and ticket in line:
                line.remove(ticket)
                if not line:
                    del self._lines[key]
        self.leave(key, ticket.owner)

    def busy(self) -> list[Key]:
        """The names that somebody of this client holds or seeks."""
        with self._mutex:
            return list(self._heads)

    def idle(self) -> bool:
        """Whether nobody's question is on its way, neither to take nor to give back."""
        return not self.leaving and not self.busy()


def stand(
    lines: Lines, key: Key, owner: str, local: Callable[[], Wakes], deadline: float, clock: Clock
) -> Steps[bool]:
    """Wait to become the head; False when the deadline came first.  No round trip."""
    with local() as mine:
        ticket = Ticket(owner, mine)
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
