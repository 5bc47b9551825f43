"""The local queue: inside one client, only the head of a queue asks the store.

A thread or task that wants a name which a sibling already holds or seeks waits here, in order
of arrival, and costs the store nothing.  The head stays the head while it holds, so a thousand
tasks on one lock ask the store as often as one would.  Two do not wait here: a try, which asks
the store unless a sibling is known to hold; and a waiter of a kind in which each waiter has a
place of its own in the store's queue.  (Where the questions of siblings are in each other's
way, tries take turns here, until one of them would have to wait.)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

from ..steps import Steps, Wakes, park
from .lock import Acquisition, Clock

#: A kind and a name: what can be held.
Key: TypeAlias = tuple[str, str]


class Ticket:
    """A place in a queue; `served` once it is the head.  A try does not wait for a head that
    waits itself."""

    __slots__ = ("owner", "served", "tries", "wakes")

    def __init__(self, owner: str, wakes: Wakes, tries: bool = False) -> None:
        self.owner, self.wakes, self.tries, self.served = owner, wakes, tries, False


class LocalQueue:
    """The queue of each name that a client wants.  The mutex, which comes from outside, is held
    for a few instructions only.

    An owner that enters, leaves or quits says who it is, so that doing it once too often is
    harmless: an interrupted acquisition cannot know how far it got.
    """

    def __init__(self, mutex: AbstractContextManager[Any]) -> None:
        self._mutex, self.abandoned = mutex, False
        self._heads: dict[Key, str] = {}
        self._queues: dict[Key, deque[Ticket]] = {}
        self._tries: dict[Key, set[Ticket]] = {}
        #: Acquisitions under way, by owner, whether they wait in a queue or ask the store.
        self.acquiring: dict[str, Acquisition] = {}
        #: Leases whose release is under way, by owner: those of a shared kind are in no queue.
        self.releasing: dict[str, Any] = {}

    def enter(self, key: Key, owner: str) -> bool:
        """Become the head if there is none."""
        with self._mutex:
            if key in self._heads:
                return False
            self._heads[key] = owner
            return True

    def join(self, key: Key, ticket: Ticket) -> None:
        """Wait at the end of the queue, or be its head if there is none any more."""
        with self._mutex:
            if key in self._heads:
                self._queues.setdefault(key, deque()).append(ticket)
                if ticket.tries:
                    self._tries.setdefault(key, set()).add(ticket)
            else:
                self._heads[key] = ticket.owner
                ticket.served = True

    def abandon(self, mutex: AbstractContextManager[Any]) -> None:
        """In a forked child: what waits before us here is in the parent, and never leaves.

        A child that returns from a signal handler into this queue asks the store, over a link that
        refuses.  The mutex is a new one: a thread of the parent may have had the other.
        """
        self._mutex, self.abandoned = mutex, True
        for queue in list(self._queues.values()):
            for ticket in list(queue):
                ticket.wakes.wake()

    def head_waits(self, key: Key) -> bool:
        """Whether the head holds, or was told to wait: then those behind it have to wait too."""
        head = self.acquiring.get(self._heads.get(key, ""))
        return head is None or head.parked

    def told_to_wait(self, owner: str) -> None:
        """A head must wait: tries behind it need not stay in the queue."""
        if not self._tries or (head := self.acquiring.get(owner)) is None:
            return
        for ticket in list(self._tries.get((head.store.kind, head.name), ())):
            ticket.wakes.wake()

    def leave(self, key: Key, owner: str) -> None:
        """If this owner is the head, it goes; the next one is the head from now on."""
        with self._mutex:
            if self._heads.get(key) != owner:
                return
            queue = self._queues.get(key)
            if queue is None:
                del self._heads[key]
                return
            ticket = queue.popleft()
            self._heads[key] = ticket.owner
            ticket.served = True
            if not queue:
                del self._queues[key]
            self._tried(key, ticket)
        ticket.wakes.wake()

    def quit(self, key: Key, ticket: Ticket) -> None:
        """Give up a place, wherever in the queue it is by now."""
        with self._mutex:
            queue = self._queues.get(key)
            if queue is not None and ticket in queue:
                queue.remove(ticket)
                if not queue:
                    del self._queues[key]
            self._tried(key, ticket)
        self.leave(key, ticket.owner)

    def _tried(self, key: Key, ticket: Ticket) -> None:
        """A try is in the queue no more; under the mutex."""
        if ticket.tries and (tries := self._tries.get(key)) is not None:
            tries.discard(ticket)
            if not tries:
                del self._tries[key]

    def held(self, key: Key) -> bool:
        """Whether a sibling is known to hold a name; otherwise the store has to be asked."""
        head = self._heads.get(key)
        return head is not None and head not in self.acquiring

    def waiting(self, key: Key) -> int:
        """How many wait here, unknown to the store."""
        return len(self._queues.get(key, ()))

    def busy(self) -> list[Key]:
        """The names that a thread or task of this client holds or asks for."""
        with self._mutex:
            return list(self._heads)

    def idle(self) -> bool:
        """Whether no question is on its way, neither to take nor to give back."""
        return not self.releasing and not self.acquiring and not self.busy()


def wait_turn(
    queue: LocalQueue,
    key: Key,
    owner: str,
    local: Callable[[], Wakes],
    deadline: float,
    clock: Clock,
    tries: bool = False,
) -> Steps[bool]:
    """Wait to become the head; False when the deadline came first, or, for a try, when the head
    has to wait itself.  No round trip."""
    with local() as mine:
        ticket = Ticket(owner, mine, tries)
        try:
            queue.join(key, ticket)
            while not (ticket.served or queue.abandoned):
                if clock() >= deadline or (tries and queue.head_waits(key)):
                    queue.quit(key, ticket)
                    return False
                yield from park(mine, deadline)
        except BaseException:
            queue.quit(key, ticket)
            raise
    return True
