"""The thread that makes the calls of an event loop, so that the loop never blocks.

Whatever has come together while one transaction was under way goes into the next, so a
thousand tasks cost little more than one.  Each call is settled by the thread, in bounded
time, whatever happens to the task that awaits it.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from ...drive import now
from ...steps import Call, Reply
from ...tasks import Sent
from .failures import still_busy
from .insist import insist, pauses
from .world import World

#: Calls in one transaction.
BATCH = 64

#: Seconds without a call after which the thread ends; the next call starts another.
IDLE = 5.0


class Errand(NamedTuple):
    """A call under way, and until when it is worth trying."""

    sent: Sent
    request: Call
    began: float
    limit: float


class Runner:
    """The thread that makes the calls of one event loop, and ends when there are none."""

    def __init__(self, world: World, loop: asyncio.AbstractEventLoop) -> None:
        self._world, self._loop = world, loop
        self._due: deque[Errand] = deque()
        self._change = threading.Condition()
        self._running = self._resting = False
        self._ended: asyncio.Future[None] | None = None

    def send(self, errand: Errand) -> None:
        """Make a call soon."""
        with self._change:
            self._due.append(errand)
            if self._running:
                self._change.notify()
                return
            self._running = True
        try:
            threading.Thread(target=self._main, name="interlock-sqlite", daemon=True).start()
        except BaseException:
            with self._change:
                self._running = False  # whoever comes next tries again
                self._due.remove(errand)
            raise

    def rest(self) -> None:
        """Let the thread end as soon as there is nothing to do; another call starts it again."""
        with self._change:
            self._resting = True
            self._change.notify()

    def end(self) -> asyncio.Future[None]:
        """Finish what is under way; done when the thread has nothing left to do."""
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

    def _next(self) -> list[Errand]:
        """What to do now; nothing means that the thread is to end."""
        with self._change:
            if not self._due and not self._resting:
                self._change.wait(IDLE)
            batch = [self._due.popleft() for _ in range(min(len(self._due), BATCH))]
            if not batch:
                self._running = self._resting = False
                if self._ended is not None:
                    self._tell_loop(_finish, self._ended)
            return batch

    def _perform(self, batch: list[Errand]) -> list[Reply] | None:
        """A reply or an error for each call; None while another process is in the way."""
        try:
            return self._world.once([errand.request for errand in batch])
        except Exception as failure:
            if len(batch) == 1:
                return [failure]
            # Nothing was executed; one call that cannot succeed must not stop the others.
            return [self._perform_alone(errand) for errand in batch]

    def _perform_alone(self, errand: Errand) -> Reply:
        try:
            return insist(self._world, errand.request, errand.limit)
        except Exception as failure:
            return failure

    def _postpone(self, batch: list[Errand]) -> None:
        """Put calls back, but for those whose time is up."""
        at = now()
        late = [errand for errand in batch if errand.limit <= at]
        self._report(late, [still_busy(self._world.path, at - each.began) for each in late])
        with self._change:
            self._due.extendleft(errand for errand in reversed(batch) if errand.limit > at)

    def _report(self, batch: list[Errand], replies: list[Reply]) -> None:
        self._tell_loop(_deliver, batch, replies)

    def _tell_loop(self, function: Callable[..., None], *facts: Any) -> None:
        with suppress(RuntimeError):  # the loop is closed, so nobody waits any more
            self._loop.call_soon_threadsafe(function, *facts)


def _deliver(batch: list[Errand], replies: list[Reply]) -> None:
    for errand, reply in zip(batch, replies, strict=True):
        if errand.sent.done():
            continue
        if isinstance(reply, Exception):
            errand.sent.set_exception(reply)
        else:
            errand.sent.set_result(reply)


def _finish(ended: asyncio.Future[None]) -> None:
    if not ended.done():
        ended.set_result(None)
