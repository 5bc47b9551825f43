"""What links for tasks need: calls that can only be settled, wakes, and pauses.

Apart from `parking.py`, so that a program without tasks need not import asyncio.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import TracebackType
from typing import Any

from .drive import now
from .errors import OutcomeUnknown
from .steps import Call, Flight, Reply, Wakes


class Sent(asyncio.Future[Any]):
    """The reply of a call that has been sent.  It cannot be cancelled, only settled.

    The store may be granting the lock at this very moment, so a cancelled task has to see
    the call finish before its algorithm may withdraw: an earlier withdrawal could overtake
    it.  Refusing to be cancelled is enough: asyncio then remembers the cancellation and
    delivers it to the task in place of the reply.  Links bound every call in time.
    """

    __slots__ = ()

    def cancel(self, msg: Any = None) -> bool:
        return False


def _nothing() -> None:
    pass


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
        """Wake the task from its own loop, or from one that followed it."""
        self._woken = True
        waiter = self._waiter
        if waiter is not None and not waiter.done() and not waiter.get_loop().is_closed():
            waiter.set_result(None)

    def wake_from_afar(self) -> None:
        """Wake the task from any thread."""
        self._woken = True
        if self._loop is not None and not self._loop.is_closed():
            with suppress(RuntimeError):  # the loop has been closed meanwhile
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


async def pause_task(until: float) -> bool:
    """Let this task sleep until the instant."""
    await asyncio.sleep(max(until - now(), 0.0))
    return False


class TaskFlight:
    """Calls that were sent: see `steps.Flight`."""

    def __init__(self, answers: Awaitable[list[Reply]]) -> None:
        self.future: asyncio.Future[list[Reply]] = asyncio.ensure_future(answers)

    @property
    def replies(self) -> list[Reply] | Exception | None:
        if not self.future.done():
            return None
        failure = self.future.exception()
        if failure is None:
            return self.future.result()
        if not isinstance(failure, Exception):
            raise failure
        return failure

    def leave(self) -> Exception:
        self.future.add_done_callback(_ignore)
        return OutcomeUnknown("the answer was not awaited")


def _ignore(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()


class TaskParking:
    """The part of a `spi.AsyncLink` that lets its task wait, away from the store."""

    def begin(self: Any, requests: tuple[Call, ...]) -> Flight | None:
        return TaskFlight(self.together(requests))

    async def arrive(self, flights: tuple[TaskFlight, ...], until: float) -> None:
        """It is not cancelled, as no call is: see `Sent`."""
        first, loop = Sent(), asyncio.get_running_loop()

        def arrived(_: object = None) -> None:
            if not first.done():
                first.set_result(None)

        timer = None if until == math.inf else loop.call_later(until - now(), arrived)
        for flight in flights:
            flight.future.add_done_callback(arrived)
        try:
            await first
        finally:
            if timer is not None:
                timer.cancel()
            for flight in flights:
                flight.future.remove_done_callback(arrived)

    async def settle(self, flights: tuple[TaskFlight, ...]) -> None:
        for flight in flights:
            while not flight.future.done():
                await self.arrive((flight,), math.inf)
            flight.leave()

    async def park(self, wakes: Wakes | None, until: float) -> bool:
        if isinstance(wakes, TaskWakes):
            return await wakes.wait(until)
        return await pause_task(until)

    def local(self) -> Wakes:
        return TaskWakes()
