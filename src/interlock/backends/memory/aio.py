"""The asyncio link: a call is a function call under the mutex of the store, and never waits."""

from __future__ import annotations

from typing import Any

from ...errors import closed, forked
from ...spi import Quiet
from ...steps import Call, Reply, Wakes
from ...tasks import TaskParking, TaskWakes
from .transport.memory_store import MemoryStore


class MemoryAsyncLink(TaskParking, Quiet):
    """See `spi.AsyncLink`."""

    ordered = True

    def __init__(self, store: MemoryStore) -> None:
        self._store, self._closed, self._forked = store, False, False
        self._waiting: set[TaskWakes] = set()

    async def call(self, request: Call) -> Reply:
        if self._closed:
            raise (forked if self._forked else closed)("memory://")
        return self._store.apply(request)

    async def together(self, requests: tuple[Call, ...]) -> list[Reply]:
        return [await self.call(request) for request in requests]

    async def listen(self, topics: tuple[Any, ...], until: float) -> Wakes:
        (topic,) = topics
        wakes = TaskWakes(lambda: self._leave(topic, wakes))
        self._waiting.add(wakes)
        self._store.listen(topic, wakes.wake_from_afar)
        return wakes

    def _leave(self, topic: Any, wakes: TaskWakes) -> None:
        self._waiting.discard(wakes)
        self._store.leave(topic)

    def after_fork(self) -> None:
        self._closed = self._forked = True
        self._store.after_fork()

    def hang_up(self) -> None:
        """Nothing is open."""

    async def close(self) -> None:
        self._closed = True
        for wakes in list(self._waiting):
            wakes.wake()
