"""The two sides of a comparison: the ledger in memory, and the scripts on a real server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import redis

import interlock
from interlock.backends.memory.link import MemoryLink
from interlock.backends.memory.transport.memory_store import MemoryStore
from interlock.backends.memory.transport.records import MemoryRecords
from interlock.backends.redis import keys
from interlock.drive import now, run
from interlock.errors import StoreError
from interlock.ledger import LedgerLocks
from interlock.spi import LockStore
from interlock.steps import Steps


class HeardRecords(MemoryRecords):
    """Records whose wakes are written down, and heard by whole clients as in Redis."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(clock)
        self.subscribers: set[str] = set()
        self.wakes: list[str] = []

    def wake(self, name: str, owner: str) -> bool:
        heard = keys.identity_of(owner) in self.subscribers
        if heard:
            self.wakes.append(owner)
        return heard

    def hears(self, name: str, owner: str) -> bool:
        return keys.identity_of(owner) in self.subscribers


class Ledger:
    """The ledger, as one of the two sides."""

    def __init__(self, kind: str, records: type[HeardRecords] = HeardRecords) -> None:
        store = MemoryStore(now)
        self.records = store.records = records(now)
        self.link = MemoryLink(store)
        self.store: LockStore = LedgerLocks(kind, True, "ledger")

    def run(self, steps: Steps[Any]) -> Any:
        return run(steps, self.link)

    def listen(self, client: str) -> None:
        self.records.subscribers.add(client)

    def leave(self, client: str) -> None:
        self.records.subscribers.discard(client)

    def lapse(self, name: str) -> None:
        self.records.holds.pop(name, None)

    def exhume(self, name: str, owner: str) -> None:
        self.records.tombs.pop(owner, None)

    def queue(self, name: str) -> list[str]:
        return list(self.records.queues.get(name, ()))

    def wakes(self) -> list[str]:
        return sorted(self.records.wakes)


class Server:
    """The scripts on a real server, as the other side."""

    def __init__(self, kind: str, client: interlock.Client, peek: redis.Redis) -> None:
        self.client, self.peek = client, peek
        self.store: LockStore = getattr(
            client._session.backend, {"lock": "locks"}.get(kind, "mutexes")
        )
        self.subscriber: Any = peek.pubsub()  # type: ignore[no-untyped-call]
        self.heard: list[str] = []
        # Always one channel, so that there is always something to read from.
        self.listen("nobody")
        peek.flushall()

    def run(self, steps: Steps[Any]) -> Any:
        return self.client._session.run(steps)

    def listen(self, client: str) -> None:
        self.subscriber.subscribe(keys.WAKE + client)
        self._read_until("subscribe")

    def leave(self, client: str) -> None:
        if (keys.WAKE + client).encode() not in self.subscriber.channels:
            return
        self.subscriber.unsubscribe(keys.WAKE + client)
        self._read_until("unsubscribe")

    def _read_until(self, kind: str, text: bytes | None = None) -> None:
        """Take in what was heard, up to a message that was certain to come."""
        while True:
            message = self.subscriber.get_message(timeout=5.0)
            assert message is not None, "the server did not send what it had to"
            if message["type"] == kind and text in (None, message["data"]):
                return
            if message["type"] == "message":
                self.heard.append(message["data"].decode())

    def lapse(self, name: str) -> None:
        self.peek.delete(name)

    def exhume(self, name: str, owner: str) -> None:
        self.peek.delete(keys.tomb_key(name, owner))

    def queue(self, name: str) -> list[str]:
        members: list[bytes] = self.peek.zrange(keys.queue_key(name), 0, -1)  # type: ignore[assignment]
        return [member.decode() for member in members]

    def wakes(self) -> list[str]:
        self.subscriber.subscribe("the end")
        self._read_until("subscribe")
        self.peek.publish("the end", "over")
        self._read_until("message", b"over")
        return sorted(self.heard)


Side = Ledger | Server


def said(side: Side, steps: Steps[Any]) -> Any:
    """An answer, or the kind of error in its place; a token only says yes."""
    try:
        answer = side.run(steps)
    except StoreError as error:
        return type(error)
    if isinstance(answer, bool) or not isinstance(answer, int):
        return answer
    return "granted"
