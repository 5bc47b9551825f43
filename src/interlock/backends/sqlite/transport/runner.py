"""The thread that makes the calls of an event loop, so that the loop never blocks.

The calls that arrive during one transaction go into the next one together, so a thousand tasks
cost little more than one.  The thread settles each call in bounded time, whatever happens to
the task that awaits it.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from ....drive import now
from ....steps import Call, Reply
from ....tasks import Sent
from ..errors import still_busy
from .retry import pauses, retry
from .shared_file import SharedFile

#: Calls in one transaction.
BATCH = 64

#: Seconds without a call after which the thread ends; the next call starts another.
IDLE = 5.0


class PendingCall(NamedTuple):
    """A call whose reply is awaited, and the instant until which it is tried."""

    sent: Sent
    request: Call
    began: float
    limit: float


class Runner:
    """The thread that makes the calls of one event loop, and ends when there are none."""

    def __init__(self, file: SharedFile, loop: asyncio.AbstractEventLoop) -> None:
        self._file, self._loop = file, loop
        self._due: deque[PendingCall] = deque()
        self._change = threading.Condition()
        self._running = self._resting = False
        self._ended: asyncio.Future[None] | None = None

    def send(self, pending: PendingCall) -> None:
        """Queue a call for the thread, and start the thread if there is none."""
        with self._change:
            self._due.append(pending)
            if self._running:
                self._change.notify()
                return
            self._running = True
        try:
            threading.Thread(target=self._main, name="interlock-sqlite", daemon=True).start()
        except BaseException:
            with self._change:
                self._running = False  # the next call tries again
                self._due.remove(pending)
            raise

    def rest(self) -> None:
        """Let the thread end as soon as it has no calls; the next call starts another one."""
        with self._change:
            self._resting = True
            self._change.notify()

    def end(self) -> asyncio.Future[None]:
        """Finish the queued calls; the future is done when the thread has ended."""
        ended = self._loop.create_future()
        with self._change:
            if self._running:
                self._ended = ended
            else:
                ended.set_result(None)
        self.rest()
        return ended

    def _main(self) -> None:
        tries = pauses()
        while batch := self._next():
            replies = self._perform(batch)
            if replies is None:
                self._postpone(batch)
                time.sleep(next(tries))
            else:
                self._report(batch, replies)
                tries = pauses()

    def _next(self) -> list[PendingCall]:
        """The calls of the next transaction; none means that the thread is to end."""
        with self._change:
            if not self._due and not self._resting:
                self._change.wait(IDLE)
            batch = [self._due.popleft() for _ in range(min(len(self._due), BATCH))]
            if not batch:
                self._running = self._resting = False
                if self._ended is not None:
                    self._tell_loop(_finish, self._ended)
            return batch

    def _perform(self, batch: list[PendingCall]) -> list[Reply] | None:
        """A reply or an error for each call; None while another process has the file locked."""
        try:
            return self._file.try_apply([pending.request for pending in batch])
        except Exception as failure:
            if len(batch) == 1:
                return [failure]
            # Nothing was executed: one call that cannot succeed must not fail the others.
            return [self._perform_alone(pending) for pending in batch]

    def _perform_alone(self, pending: PendingCall) -> Reply:
        try:
            return retry(self._file, pending.request, pending.limit)
        except Exception as failure:
            return failure

    def _postpone(self, batch: list[PendingCall]) -> None:
        """Put calls back into the queue, except those whose time is up."""
        at = now()
        late = [pending for pending in batch if pending.limit <= at]
        self._report(late, [still_busy(self._file.path, at - each.began) for each in late])
        with self._change:
            self._due.extendleft(pending for pending in reversed(batch) if pending.limit > at)

    def _report(self, batch: list[PendingCall], replies: list[Reply]) -> None:
        self._tell_loop(_deliver, batch, replies)

    def _tell_loop(self, function: Callable[..., None], *args: Any) -> None:
        with suppress(RuntimeError):  # the loop is closed, so no task waits any more
            self._loop.call_soon_threadsafe(function, *args)


def _deliver(batch: list[PendingCall], replies: list[Reply]) -> None:
    for pending, reply in zip(batch, replies, strict=True):
        if pending.sent.done():
            continue
        if isinstance(reply, Exception):
            pending.sent.set_exception(reply)
        else:
            pending.sent.set_result(reply)


def _finish(ended: asyncio.Future[None]) -> None:
    if not ended.done():
        ended.set_result(None)
