"""The ways to a world in memory: a call is a function call under the world's mutex."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import closed
from ...parking import ThreadWakes, pause_thread
from ...steps import Call, Reply, Wakes
from ...stores import Quiet
from ...tasks import TaskWakes, pause_task

if TYPE_CHECKING:
    from .store import World


class MemoryLink(Quiet):
    """See `stores.Link`."""

    ordered = False

    def __init__(self, world: World) -> None:
        self._world, self._closed = world, False
        self._places: set[ThreadWakes] = set()

    def call(self, request: Call) -> Reply:
        if self._closed:
            raise closed("memory://")
        return self._world.apply(request)

    def together(self, requests: tuple[Call, ...]) -> list[Reply]:
        return [self.call(request) for request in requests]

    def listen(self, topics: tuple[Any, ...]) -> Wakes:
        (topic,) = topics
        wakes = ThreadWakes(lambda: self._leave(topic, wakes))
        self._places.add(wakes)
        self._world.listen(topic, wakes.wake)
        return wakes

    def _leave(self, topic: Any, wakes: ThreadWakes) -> None:
        self._places.discard(wakes)
        self._world.leave(topic)

    def park(self, wakes: Wakes | None, until: float) -> bool:
        if isinstance(wakes, ThreadWakes):
            return wakes.wait(until)
        return pause_thread(until)

    def local(self) -> Wakes:
        return ThreadWakes()

    def after_fork(self) -> None:
        self._world.after_fork()

    def close(self) -> None:
        self._closed = True
        for wakes in list(self._places):
            wakes.wake()


class MemoryAsyncLink(Quiet):
    """See `stores.AsyncLink`."""

    ordered = True

    def __init__(self, world: World) -> None:
        self._world, self._closed = world, False
        self._places: set[TaskWakes] = set()

    async def call(self, request: Call) -> Reply:
        if self._closed:
            raise closed("memory://")
        return self._world.apply(request)

    async def together(self, requests: tuple[Call, ...]) -> list[Reply]:
        return [await self.call(request) for request in requests]

    async def listen(self, topics: tuple[Any, ...]) -> Wakes:
        (topic,) = topics
        wakes = TaskWakes(lambda: self._leave(topic, wakes))
        self._places.add(wakes)
        self._world.listen(topic, wakes.wake_from_afar)
        return wakes

    def _leave(self, topic: Any, wakes: TaskWakes) -> None:
        self._places.discard(wakes)
        self._world.leave(topic)

    async def park(self, wakes: Wakes | None, until: float) -> bool:
        if isinstance(wakes, TaskWakes):
            return await wakes.wait(until)
        return await pause_task(until)

    def local(self) -> Wakes:
        return TaskWakes()

    def after_fork(self) -> None:
        self._world.after_fork()

    def hang_up(self) -> None:
        """Nothing is open."""

    async def close(self) -> None:
        self._closed = True
        for wakes in list(self._places):
            wakes.wake()
