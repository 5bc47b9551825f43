"""The link to ZooKeeper for tasks: no thread but kazoo's three."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from ...drive import now
from ...errors import StoreError, forked
from ...steps import Call, Reply, Wakes
from ...tasks import Sent, TaskParking, TaskWakes
from .link import CONNECTION, RECHECK, answered_by
from .transport.answers import Batch
from .transport.client_thread import MOMENT, ClientThread
from .transport.requests import awaited
from .transport.transport import Transport
from .url import ZkSettings

#: Seconds for the server's farewell: for a silent server the keeper has waited before.
FAREWELL = 0.25


class _TaskWaiter:
    """A task that waits, as kazoo's threads see it."""

    __slots__ = ("wake",)

    def __init__(self, wakes: TaskWakes) -> None:
        self.wake = wakes.wake_from_afar


class ZkAsyncLink(TaskParking):
    """See `spi.AsyncLink`."""

    #: A session's requests are executed in the order in which they were made.
    ordered = True

    def __init__(self, settings: ZkSettings, transport: Transport) -> None:
        self._settings, self._transport, self._forked = settings, transport, False
        self._loop: asyncio.AbstractEventLoop | None = None

    async def call(self, request: Call) -> Reply:
        (reply,) = await self.together((request,))
        if isinstance(reply, StoreError):
            raise reply
        return reply

    def together(self, requests: tuple[Call, ...]) -> Awaitable[list[Reply]]:
        if self._forked:
            raise forked(self._transport.label)
        if self._transport.connected or not any(awaited(each.operation) for each in requests):
            return self._ask(requests)
        return self._connect_and_ask(requests)

    def _ask(self, requests: tuple[Call, ...]) -> Sent:
        """Send now; the answer can only be settled, and is bounded in time."""
        loop = self._loop = asyncio.get_running_loop()
        sent = Sent(loop=loop)
        batch = Batch(
            [request.operation for request in requests],
            lambda: _call_in_loop(loop, _settle, sent, batch.replies),
        )
        self._transport.ask(batch)
        if batch.done:  # no answer is awaited
            _settle(sent, batch.replies)
            return sent
        seconds = answered_by(max(request.until for request in requests))
        timer = loop.call_later(seconds, self._give_up, sent, batch)
        sent.add_done_callback(lambda _: timer.cancel())
        return sent

    def _give_up(self, sent: Sent, batch: Batch) -> None:
        _settle(sent, batch.given_up(self._transport.label))

    async def _connect_and_ask(self, requests: tuple[Call, ...]) -> list[Reply]:
        await self._connect(max(request.until for request in requests))
        replies: list[Reply] = await self._ask(requests)
        return replies

    async def _connect(self, until: float) -> None:
        """Wait for a connection, but not for ever."""
        transport, longest = self._transport, self._transport.patience(until)
        if transport.closed:
            raise transport.unreachable()
        with await self.listen((CONNECTION,), until) as wakes:
            transport.start()
            while not transport.connected:
                if now() >= longest or transport.hopeless(until):
                    raise transport.unreachable()
                await self.park(wakes, min(longest, now() + RECHECK))

    async def listen(self, topics: tuple[Any, ...], until: float) -> Wakes:
        (topic,) = topics
        wakes = TaskWakes(lambda: self._transport.watches.leave(topic, waiter))
        waiter = _TaskWaiter(wakes)
        self._transport.watches.listen(topic, waiter)
        return wakes

    def observe(self, observer: Callable[[bool], None]) -> None:
        def tell(suspended: bool) -> None:
            if self._loop is not None:
                _call_in_loop(self._loop, observer, suspended)

        self._transport.observe(tell)

    def after_fork(self) -> None:
        self._forked = True
        self._transport.after_fork()

    def hang_up(self) -> None:
        """End the session without a loop, which is about to close or has been, in any thread."""
        if (thread := self._transport.end_session()) is not None:
            thread.wait(FAREWELL)

    async def close(self) -> None:
        self._transport.closed = True
        thread = self._transport.end_session()
        if thread is not None and not await _is_gone(thread, FAREWELL):
            thread.interrupt()
            await _is_gone(thread, MOMENT)


async def _is_gone(thread: ClientThread, seconds: float) -> bool:
    """Whether a thread of kazoo's has ended in time."""
    until = now() + seconds
    while not thread.gone.is_set() and now() < until:  # noqa: ASYNC110 - of a thread
        await asyncio.sleep(0.001)
    return thread.gone.is_set()


def _call_in_loop(loop: asyncio.AbstractEventLoop, act: Callable[..., None], *args: Any) -> None:
    """Let a loop do something, if it still runs; called in kazoo's threads."""
    if not loop.is_closed():
        with suppress(RuntimeError):  # it has been closed meanwhile
            loop.call_soon_threadsafe(act, *args)


def _settle(sent: Sent, replies: list[Any]) -> None:
    if not sent.done():
        sent.set_result(replies)
