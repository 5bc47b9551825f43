"""The records of a process, kept in dictionaries and changed under one mutex.

Every `memory://name` of a process is the same world; threads and event loops share it.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any, ClassVar

from ...ledger import Held, LedgerDirectory, LedgerLocks
from ...model import TOMBSTONE, Holder
from ...steps import Call, Reply
from ...stores import AsyncLink, Link
from .links import MemoryAsyncLink, MemoryLink


class Records:
    """A shelf of dictionaries: see `ledger.Shelf`."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.locks: dict[str, tuple[str, str, float]] = {}
        self.queues: dict[str, dict[str, None]] = {}
        self.tombs: dict[str, float] = {}
        self.people: dict[str, Holder] = {}
        self.listeners: dict[tuple[str, str], Callable[[], None]] = {}
        self.token = 0

    def buried(self, owner: str) -> bool:
        return self.tombs.get(owner, 0.0) > self.clock()

    def held(self, name: str) -> Held | None:
        record = self.locks.get(name)
        if record is None:
            return None
        kind, owner, until = record
        left = until - self.clock()
        if left <= 0:
            del self.locks[name]
            return None
        return Held(kind, owner, left)

    def put(self, name: str, kind: str, owner: str, lease: float) -> None:
        self.locks[name] = kind, owner, self.clock() + lease

    def drop(self, name: str) -> None:
        self.locks.pop(name, None)

    def next_token(self) -> int:
        self.token = max(self.token + 1, int(self.clock() * 1e6))
        return self.token

    def head(self, name: str) -> str | None:
        return next(iter(self.queues.get(name, ())), None)

    def enqueue(self, name: str, owner: str) -> None:
        self.queues.setdefault(name, {}).setdefault(owner)

    def dequeue(self, name: str, owner: str) -> None:
        queue = self.queues.get(name)
        if queue is not None:
            queue.pop(owner, None)
            if not queue:
                del self.queues[name]

    def waiting(self, name: str) -> int:
        return len(self.queues.get(name, ()))

    def wake(self, name: str, owner: str) -> bool:
        listener = self.listeners.get((name, owner))
        if listener is not None:
            listener()
        return listener is not None

    def bury(self, owner: str) -> None:
        now = self.clock()
        self.tombs.pop(owner, None)
        self.tombs[owner] = now + TOMBSTONE
        # They stand in the order of their ends, so the first that lasts ends the sweep.
        for each, until in list(itertools.islice(self.tombs.items(), 2)):
            if until <= now:
                del self.tombs[each]

    def describe(self, owner: str) -> Holder:
        person = self.people.get(owner.rpartition(":")[0])
        if person is None:
            return Holder(owner)
        return Holder(owner, person.host, person.pid, person.program)

    def introduce(self, holder: Holder) -> None:
        self.people[holder.owner] = holder


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


class MemoryBackend:
    """See `stores.Backend`."""

    worlds: ClassVar[dict[str, World]] = {}

    def __init__(self, name: str, clock: Callable[[], float]) -> None:
        self.label = f"memory://{name}"
        self.world = self.worlds.setdefault(name, World(clock))
        self.locks = LedgerLocks("lock", True, self.label)
        self.mutexes = LedgerLocks("mutex", False, self.label)
        self.directory = LedgerDirectory()

    def link(self) -> Link:
        return MemoryLink(self.world)

    def alink(self) -> AsyncLink:
        return MemoryAsyncLink(self.world)
