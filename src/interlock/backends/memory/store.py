"""The records of a process, kept in dictionaries and changed under one mutex.

Every `memory://name` of a process is the same world; threads and event loops share it.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any, ClassVar

from ...ledger import Fact, Held, LedgerStores, Waiter
from ...model import TOMBSTONE, Holder
from ...steps import Call, Reply
from ...stores import AsyncLink, Link
from .links import MemoryAsyncLink, MemoryLink


class Records:
    """A shelf of dictionaries: see `ledger.Shelf`."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.holds: dict[str, dict[str, tuple[str, int, float]]] = {}
        self.tokens: dict[str, int] = {}
        self.facts: dict[str, Fact] = {}
        self.queues: dict[str, dict[str, int]] = {}
        self.tombs: dict[str, tuple[float, str]] = {}
        self.people: dict[str, Holder] = {}
        self.listeners: dict[tuple[str, str], Callable[[], None]] = {}
        self.token = 0

    # --- who holds ---------------------------------------------------------------------------

    def held(self, name: str) -> list[Held]:
        shares, at = self.holds.get(name), self.clock()
        if shares is None:
            return []
        live: list[Held] = []
        for owner, (kind, weight, until) in list(shares.items()):
            if until > at:
                live.append(Held(kind, owner, weight, until - at, self.tokens.get(owner, 0)))
            else:
                self.drop(name, owner)
        return live

    def put(self, name: str, kind: str, owner: str, weight: int, lease: float) -> None:
        # No call stands between the two changes, so no Ctrl-C can either.
        shares, until = self.holds.get(name, {}), self.clock() + lease
        shares[owner] = kind, weight, until
        self.holds[name] = shares

    def drop(self, name: str, owner: str) -> None:
        # Without any call once something has changed, so that no Ctrl-C can leave a half.
        shares = self.holds.get(name, {})
        if owner in self.tokens:
            del self.tokens[owner]
        if owner in shares:
            del shares[owner]
            if not shares:
                del self.holds[name]

    def next_token(self, name: str, owner: str) -> int:
        self.token = max(self.token + 1, int(self.clock() * 1e6))
        if owner in self.holds.get(name, ()):
            self.tokens[owner] = self.token
        return self.token

    # --- what a name is for good ---------------------------------------------------------------

    def fact(self, name: str) -> Fact | None:
        return self.facts.get(name)

    def set_fact(self, name: str, kind: str, number: int) -> None:
        self.facts[name] = Fact(kind, number)

    def drop_fact(self, name: str) -> None:
        self.facts.pop(name, None)

    # --- who waits -----------------------------------------------------------------------------

    def head(self, name: str) -> Waiter | None:
        return next((Waiter(*each) for each in self.queues.get(name, {}).items()), None)

    def enqueue(self, name: str, owner: str, weight: int) -> None:
        self.queues.setdefault(name, {}).setdefault(owner, weight)

    def dequeue(self, name: str, owner: str) -> None:
        queue = self.queues.get(name)
        if queue is not None:
            queue.pop(owner, None)
            if not queue:
                del self.queues[name]

    def waiting(self, name: str) -> int:
        return len(self.queues.get(name, ()))

    def hears(self, name: str, owner: str) -> bool:
        return (name, owner) in self.listeners

    def wake(self, name: str, owner: str) -> bool:
        listener = self.listeners.get((name, owner))
        if listener is not None:
            listener()
        return listener is not None

    # --- who is gone, and who is who -----------------------------------------------------------

    def buried(self, owner: str) -> bool:
        return owner in self.tombs and self.tombs[owner][0] > self.clock()

    def bury(self, owner: str, reason: str) -> None:
        now = self.clock()
        reason = reason or self.epitaph(owner)
        self.tombs.pop(owner, None)
        self.tombs[owner] = now + TOMBSTONE, reason
        # They stand in the order of their ends, so the first that lasts ends the sweep.
        for each, (until, _) in list(itertools.islice(self.tombs.items(), 2)):
            if until <= now:
                del self.tombs[each]

    def epitaph(self, owner: str) -> str:
        return self.tombs[owner][1] if owner in self.tombs else ""

    def describe(self, owner: str) -> Holder:
        person = self.people.get(owner.rpartition(":")[0])
        if person is None:
            return Holder(owner)
        return Holder(owner, person.host, person.pid, person.program)

    def introduce(self, holder: Holder) -> None:
        self.people[holder.owner] = holder

    def names(self) -> list[str]:
        return list({**self.facts, **self.holds})


class World:
    """Records and the mutex under which they change."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.records, self.mutex = Records(clock), threading.RLock()

    def apply(self, request: Call) -> Reply:
        with self.mutex:
            return request.operation(self.records, *request.keys, *request.args)

    def after_fork(self) -> None:
        """A child has a world of its own: nobody of it holds or waits yet."""
        self.records, self.mutex = Records(self.records.clock), threading.RLock()

    def listen(self, topic: Any, listener: Callable[[], None]) -> None:
        with self.mutex:
            self.records.listeners[topic] = listener

    def leave(self, topic: Any) -> None:
        with self.mutex:
            self.records.listeners.pop(topic, None)


class MemoryBackend(LedgerStores):
    """See `stores.Backend`."""

    worlds: ClassVar[dict[str, World]] = {}

    def __init__(self, name: str, clock: Callable[[], float]) -> None:
        super().__init__(f"memory://{name}")
        self.world = self.worlds.setdefault(name, World(clock))

    def link(self) -> Link:
        return MemoryLink(self.world)

    def alink(self) -> AsyncLink:
        return MemoryAsyncLink(self.world)
