"""Wakes and the waiting for them, for links of both worlds.

A `wake` may come from any thread.  Each place counts at most one wake: a second one before
the first was seen says nothing new.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from types import TracebackType

from .drive import now


def _nothing() -> None:
    pass


class ThreadWakes:
    """A place where one thread is woken."""

    __slots__ = ("_leave", "_signal")

    def __init__(self, leave: Callable[[], None] = _nothing) -> None:
        self._leave, self._signal = leave, threading.Event()

    def __enter__(self) -> ThreadWakes:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave()

    def wake(self) -> None:
        self._signal.set()

    def woken(self) -> bool:
        """Whether a wake has come since the last look; looking uses it up."""
        if self._signal.is_set():
            self._signal.clear()
            return True
        return False

    def wait(self, until: float) -> bool:
        """Block this thread until a wake or the instant."""
        pause = until - now()
        # Event.wait refuses very long times; asking again later costs nothing.
        self._signal.wait(min(max(pause, 0.0), 3600.0))
        return self.woken()


class TaskWakes:
    """A place where one task is woken."""

    __slots__ = ("_leave", "_loop", "_waiter", "_woken")

    def __init__(self, leave: Callable[[], None] = _nothing) -> None:
        self._leave = leave
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._woken = False

    def __enter__(self) -> TaskWakes:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave()

    def wake(self) -> None:
        """Wake the task from its own loop."""
        self._woken = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def wake_from_afar(self) -> None:
        """Wake the task from any thread."""
        self._woken = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.wake)

    async def wait(self, until: float) -> bool:
        """Suspend this task until a wake or the instant."""
        if not self._woken:
            await self._sleep(until)
        woken, self._woken = self._woken, False
        return woken

    async def _sleep(self, until: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiter = self._loop.create_future()
        pause = min(max(until - now(), 0.0), 3600.0)
        timer = self._loop.call_later(pause, _expire, self._waiter)
        try:
            if not self._woken:  # it may have come from afar just now
                await self._waiter
        finally:
            timer.cancel()
            self._waiter = None


def _expire(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def pause_thread(until: float) -> bool:
    """Let this thread sleep until the instant."""
    time.sleep(max(until - now(), 0.0))
    return False


async def pause_task(until: float) -> bool:
    """Let this task sleep until the instant."""
    await asyncio.sleep(max(until - now(), 0.0))
    return False
