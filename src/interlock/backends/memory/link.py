"""The blocking link: a call is a function call under the mutex of the store."""

from __future__ import annotations

from typing import Any

from ...errors import closed, forked
from ...parking import ThreadParking, ThreadWakes
from ...spi import Quiet
from ...steps import Call, Reply, Wakes
from .transport.memory_store import MemoryStore


class MemoryLink(ThreadParking, Quiet):
    """See `spi.Link`."""

    ordered = False

    def __init__(self, store: MemoryStore) -> None:
        self._store, self._closed, self._forked = store, False, False
        self._waiting: set[ThreadWakes] = set()

    def call(self, request: Call) -> Reply:
        if self._closed:
            raise (forked if self._forked else closed)("memory://")
        return self._store.apply(request)

    def together(self, requests: tuple[Call, ...]) -> list[Reply]:
        return [self.call(request) for request in requests]

    def listen(self, topics: tuple[Any, ...], until: float) -> Wakes:
        (topic,) = topics
        wakes = ThreadWakes(lambda: self._leave(topic, wakes))
        self._waiting.add(wakes)
        self._store.listen(topic, wakes.wake)
        return wakes

    def _leave(self, topic: Any, wakes: ThreadWakes) -> None:
        self._waiting.discard(wakes)
        self._store.leave(topic)

    def engaged(self) -> bool:
        return self._store.engaged()

    def after_fork(self) -> None:
        self._closed = self._forked = True
        self._store.after_fork()

    def close(self) -> None:
        self._closed = True
        for wakes in list(self._waiting):
            wakes.wake()
