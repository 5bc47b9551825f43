"""The asyncio link: calls go to a thread of their own, and their replies come back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any

from ...drive import now
from ...errors import StoreError, UsageError, closed
from ...steps import Call, Reply, Wakes
from ...stores import Quiet
from ...tasks import Sent, TaskWakes, pause_task
from .failures import label_of
from .insist import FAREWELL, LIMIT
from .records import vacate
from .runner import Errand, Runner
from .watch import Topic
from .world import worlds


class SqliteAsyncLink(Quiet):
    """See `stores.AsyncLink`."""

    ordered = True

    def __init__(self, path: str) -> None:
        self._path, self._closed = path, False
        self._world = worlds().enter(path)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._runner: Runner | None = None
        self._topics: set[Topic] = set()

    def _bind(self) -> Runner:
        """The thread for the running loop; a loop that has ended may be followed by another."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop or self._runner is None:
            if self._loop is not None and not self._loop.is_closed():
                raise UsageError("this client belongs to another event loop: make one for each")
            self._loop, self._runner = loop, Runner(self._world, loop)
        return self._runner

    def call(self, request: Call) -> Awaitable[Reply]:
        if self._closed:
            raise closed(label_of(self._path))
        return self._send(request)

    def _send(self, request: Call) -> Sent:
        runner, at = self._bind(), now()
        sent = Sent(loop=self._loop)
        runner.send(Errand(sent, request, at, min(request.until, at + LIMIT)))
        return sent

    async def together(self, requests: tuple[Call, ...]) -> list[Reply]:
        # One transaction for each, so that others get their turn in between.
        return [await self._outcome(request) for request in requests]

    async def _outcome(self, request: Call) -> Reply:
        try:
            return await self.call(request)
        except StoreError as failure:
            return failure

    async def listen(self, topics: tuple[Any, ...]) -> Wakes:
        self._bind()
        (topic,) = topics
        wakes = TaskWakes(lambda: self._leave(topic))
        self._topics.add(topic)
        self._world.watch.enter_task(topic, lambda: _wake(wakes))
        return wakes

    def _leave(self, topic: Topic) -> None:
        self._topics.discard(topic)
        self._world.watch.leave(topic)

    async def park(self, wakes: Wakes | None, until: float) -> bool:
        if isinstance(wakes, TaskWakes):
            return await wakes.wait(until)
        return await pause_task(until)

    def local(self) -> Wakes:
        return TaskWakes()

    def after_fork(self) -> None:
        self._loop = self._runner = None
        self._topics.clear()
        if not self._closed:
            self._world = worlds().enter(self._path)

    def hang_up(self) -> None:
        if self._runner is not None:
            self._runner.rest()

    async def close(self) -> None:
        """Close, and let nobody wait any longer, here or behind those who wait here."""
        if self._closed:
            return
        self._closed = True
        try:
            await self._say_good_bye()
        except StoreError:
            pass  # they are forgotten when they have not asked for a while
        finally:
            worlds().leave(self._world)

    async def _say_good_bye(self) -> None:
        if self._runner is None or self._loop is not asyncio.get_running_loop():
            self.hang_up()  # whoever waited has gone with the loop
            return
        topics = tuple(self._topics)
        if topics:
            await self._send(Call(vacate, (), topics, now() + FAREWELL))
            self._world.watch.wake(topics)
        await self._runner.end()


def _wake(wakes: TaskWakes) -> None:
    with suppress(RuntimeError):  # its loop has been closed meanwhile
        wakes.wake_from_afar()
