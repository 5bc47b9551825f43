"""The asyncio link: a thread makes the calls, and their replies come back to the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from copy import copy
from typing import Any

from ...drive import now
from ...errors import StoreError, StoreUnavailable, closed, forked
from ...spi import Quiet
from ...steps import Call, Reply, Wakes
from ...tasks import Sent, TaskParking, TaskWakes
from .errors import label_of
from .transport.records import withdraw_waiters
from .transport.retry import CLOSE_SECONDS, LIMIT
from .transport.runner import PendingCall, Runner
from .transport.shared_file import open_files
from .transport.watch import Topic


class SqliteAsyncLink(TaskParking, Quiet):
    """See `spi.AsyncLink`."""

    ordered = True

    def __init__(self, path: str) -> None:
        self._path, self._file = path, open_files().enter(path)
        self._closed = self._forked = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._runner: Runner | None = None
        self._topics: set[Topic] = set()

    def _bind(self) -> Runner:
        """The runner of the running loop; a loop that comes after another gets its own."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop or self._runner is None:
            self._loop, self._runner = loop, Runner(self._file, loop)
        return self._runner

    def call(self, request: Call) -> Awaitable[Reply]:
        if self._closed:
            raise (forked if self._forked else closed)(label_of(self._path))
        return self._send(request)

    def _send(self, request: Call) -> Sent:
        runner, at = self._bind(), now()
        sent = Sent(loop=self._loop)
        runner.send(PendingCall(sent, request, at, min(request.until, at + LIMIT)))
        return sent

    async def together(self, requests: tuple[Call, ...]) -> list[Reply]:
        # One transaction for each, so that other processes get their turn in between.
        replies: list[Reply] = []
        for request in requests:
            last = replies[-1] if replies else None
            if isinstance(last, StoreUnavailable) and now() >= request.until:
                replies.append(copy(last))  # it would fail as well, only later
            else:
                replies.append(await self._outcome(request))
        return replies

    async def _outcome(self, request: Call) -> Reply:
        try:
            return await self.call(request)
        except StoreError as failure:
            return failure

    async def listen(self, topics: tuple[Any, ...], until: float) -> Wakes:
        self._bind()
        (topic,) = topics
        wakes = TaskWakes(lambda: self._leave(topic))
        self._topics.add(topic)
        self._file.watch.enter_task(topic, lambda: _wake(wakes))
        return wakes

    def _leave(self, topic: Topic) -> None:
        self._topics.discard(topic)
        self._file.watch.leave(topic)

    def after_fork(self) -> None:
        self._closed = self._forked = True

    def hang_up(self) -> None:
        if self._runner is not None:
            self._runner.rest()

    async def close(self) -> None:
        """Close: withdraw and wake the waiters of this link, so that those behind them move up."""
        if self._closed:
            return
        self._closed = True
        try:
            await self._withdraw_waiters()
        except StoreError:
            pass  # the file forgets waiters that have not asked for a while
        finally:
            open_files().leave(self._file)

    async def _withdraw_waiters(self) -> None:
        if self._runner is None or self._loop is not asyncio.get_running_loop():
            self.hang_up()  # the waiters have gone with the loop
            return
        topics = tuple(self._topics)
        if topics:
            await self._send(Call(withdraw_waiters, (), topics, now() + CLOSE_SECONDS))
            self._file.watch.wake(topics)
        await self._runner.end()


def _wake(wakes: TaskWakes) -> None:
    with suppress(RuntimeError):  # its loop has been closed meanwhile
        wakes.wake_from_afar()
