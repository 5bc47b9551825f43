"""The way to ZooKeeper for tasks: no thread but kazoo's three."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from ...drive import now
from ...errors import StoreError
from ...steps import Call, Reply, Wakes
from ...tasks import Sent, TaskWakes, pause_task
from .batches import Batch
from .blocking import CONNECTION, GLANCE, answered_by
from .doors import MOMENT, Parting
from .settings import Settings
from .transport import Transport
from .wire import awaited

#: Seconds for the server's farewell: a server that is silent was waited for before, by the keeper.
HASTE = 0.25


class _Afar:
    """A place for a task, as kazoo's threads see it."""

    __slots__ = ("wake",)

    def __init__(self, wakes: TaskWakes) -> None:
        self.wake = wakes.wake_from_afar


class ZkAsyncLink:
    """See `stores.AsyncLink`."""

    #: A session's questions are executed in the order in which they were asked.
    ordered = True

    def __init__(self, settings: Settings, transport: Transport) -> None:
        self._settings, self._transport = settings, transport
        self._loop: asyncio.AbstractEventLoop | None = None

    async def call(self, request: Call) -> Reply:
        (reply,) = await self.together((request,))
        if isinstance(reply, StoreError):
            raise reply
        return reply

    def together(self, requests: tuple[Call, ...]) -> Awaitable[list[Reply]]:
        if self._transport.connected or not any(awaited(each.operation) for each in requests):
            return self._ask(requests)
        return self._connect_and_ask(requests)

    def _ask(self, requests: tuple[Call, ...]) -> Sent:
        """Ask now; the answer can only be settled, and is bounded in time."""
        loop = self._loop = asyncio.get_running_loop()
        sent = Sent(loop=loop)
        batch = Batch(
            [request.operation for request in requests],
            lambda: _from_afar(loop, _settle, sent, batch.replies),
        )
        self._transport.ask(batch)
        if batch.done:  # nobody awaits anything
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
        longest = self._transport.patience(until)
        with await self.listen((CONNECTION,)) as wakes:
            self._transport.start()
            while not self._transport.connected:
                if now() >= longest or self._transport.hopeless(until):
                    raise self._transport.unreachable()
                await self.park(wakes, min(longest, now() + GLANCE))

    async def listen(self, topics: tuple[Any, ...]) -> Wakes:
        (topic,) = topics
        wakes = TaskWakes(lambda: self._transport.watches.leave(topic, place))
        place = _Afar(wakes)
        self._transport.watches.listen(topic, place)
        return wakes

    async def park(self, wakes: Wakes | None, until: float) -> bool:
        if isinstance(wakes, TaskWakes):
            return await wakes.wait(until)
        return await pause_task(until)

    def local(self) -> Wakes:
        return TaskWakes()

    def observe(self, observer: Callable[[bool], None]) -> None:
        def tell(doubtful: bool) -> None:
            if self._loop is not None:
                _from_afar(self._loop, observer, doubtful)

        self._transport.observe(tell)

    def after_fork(self) -> None:
        self._transport.after_fork()

    def hang_up(self) -> None:
        """The loop is about to close, so there is nobody left to await the farewell."""
        if (parting := self._transport.part()) is not None:
            parting.wait(HASTE)

    async def close(self) -> None:
        self._transport.closed = True
        if (parting := self._transport.part()) is not None:
            try:
                if not await _heard(parting, HASTE):
                    parting.break_off()
                    await _heard(parting, MOMENT)
            finally:
                parting.clear_away()


async def _heard(parting: Parting, seconds: float) -> bool:
    """Whether a farewell was heard in time; it is a thread that hears it."""
    until = now() + seconds
    while not parting.heard.is_set() and now() < until:  # noqa: ASYNC110 - of a thread
        await asyncio.sleep(0.001)
    return parting.heard.is_set()


def _from_afar(loop: asyncio.AbstractEventLoop, act: Callable[..., None], *args: Any) -> None:
    """Let a loop do something, if it still runs; called in kazoo's threads."""
    if not loop.is_closed():
        with suppress(RuntimeError):  # it has been closed meanwhile
            loop.call_soon_threadsafe(act, *args)


def _settle(sent: Sent, replies: list[Any]) -> None:
    if not sent.done():
        sent.set_result(replies)
