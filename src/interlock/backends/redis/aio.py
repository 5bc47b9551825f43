"""The asyncio link: one multiplexed connection, and a second one only under RESP2."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Sequence
from copy import copy
from typing import Any

from ...drive import now
from ...errors import (
    InterlockError,
    OutcomeUnknown,
    StoreError,
    StoreUnavailable,
    UsageError,
    closed,
)
from ...steps import Call, Reply, Wakes
from ...stores import Quiet
from ...tasks import Sent, TaskWakes, pause_task
from .connections import Door, connecting_failed, retire, transport_of
from .mux import Mux, Slot
from .names import Topic

log = logging.getLogger("interlock.redis")

#: Seconds that closing waits for answers that are on their way.
FAREWELL = 1.0

#: Seconds between signs of life asked for while somebody waits for a wake.
PULSE = 5.0


class Line:
    """A connection that is opened when it is needed, and again when it was lost."""

    def __init__(self, link: RedisAsyncLink, door: Door, ear: bool) -> None:
        self._link, self._door, self._ear = link, door, ear
        self.mux: Mux | None = None
        self._opening: asyncio.Task[None] | None = None
        self._unsent: deque[tuple[Slot, Call]] = deque()
        self._connection: Any = None

    def call(self, sent: Slot, request: Call) -> None:
        if self.mux is not None:
            self.mux.call(sent, request)
        else:
            self._unsent.append((sent, request))
            self._limit(sent, request.until - now())
            self.opening()

    def _limit(self, sent: Slot, patience: float) -> None:
        """Connecting is bounded; but a question may be worth less time than that."""
        if patience < self._door.connect_timeout:
            loop = asyncio.get_running_loop()
            timer = loop.call_later(max(patience, 0.0), self._too_late, sent)
            sent.add_done_callback(lambda _: timer.cancel())

    def _too_late(self, sent: Sent) -> None:
        """Connecting took longer than the question was worth: it will never be sent."""
        for waiting in list(self._unsent):
            if waiting[0] is sent:
                self._unsent.remove(waiting)
                failure = StoreUnavailable(f"cannot reach {self._door.label} in time")
                sent.set_exception(failure)

    def opening(self) -> asyncio.Task[None]:
        """The task that opens the connection; one for everybody."""
        if self._opening is None:
            self._opening = asyncio.create_task(self._open(), name="interlock-connect")
        return self._opening

    async def _open(self) -> None:
        try:
            connection = self._door.asyncio()
            await connection.connect()
        except Exception as cause:
            self._fail(connecting_failed(cause, self._door.label))
        except asyncio.CancelledError:
            # The loop is closing.  Calls cannot be cancelled, so they must be told.
            self._fail(StoreUnavailable("the event loop is closing", self._door.label))
            raise
        else:
            self._connection = connection
            link, door = self._link, self._door
            self.mux = Mux(
                transport_of(connection),
                door.label,
                door.timeout,
                self._ear,
                link.heard,
                self._lost,
            )
            self._send_unsent(self.mux)
        finally:
            self._opening = None

    def _send_unsent(self, mux: Mux) -> None:
        while self._unsent:
            mux.call(*self._unsent.popleft())

    def _fail(self, failure: InterlockError) -> None:
        while self._unsent:
            sent, _ = self._unsent.popleft()
            if not sent.done():
                sent.set_exception(copy(failure))  # each may get notes of its own

    def _lost(self) -> None:
        retire(self._connection)
        self.mux = self._connection = None
        self._link.lost(self)

    async def close(self) -> None:
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait((self._opening,))
        self._fail(closed(self._door.label))
        if self.mux is not None:
            await self.mux.drained(now() + FAREWELL)
        if self.mux is not None:
            self.mux.abort("this client is closed")


class RedisAsyncLink(Quiet):
    """See `stores.AsyncLink`."""

    ordered = True

    def __init__(self, door: Door) -> None:
        self._door = door
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._begin()

    def _begin(self) -> None:
        self._line = self._ear = Line(self, self._door, ear=False)
        if self._door.protocol == 2:
            self._ear = Line(self, self._door, ear=True)
        self._places: dict[Topic, set[TaskWakes]] = {}
        self._subscribed: dict[str, Sent] = {}
        self._tending: asyncio.Task[None] | None = None
        self._bell = TaskWakes()

    def _bind(self) -> asyncio.AbstractEventLoop:
        """The loop this client lives on; one that has ended may be followed by another."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            if self._loop is not None and not self._loop.is_closed():
                raise UsageError("this client belongs to another event loop: make one for each")
            self._loop = loop
            self._begin()
        return loop

    def call(self, request: Call) -> Sent:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._bind()
        sent = Slot(loop=loop)
        if self._closed:
            sent.set_exception(closed(self._door.label))
        else:
            self._line.call(sent, request)
        return sent

    def together(self, requests: tuple[Call, ...]) -> Awaitable[list[Reply]]:
        return all_of([self.call(request) for request in requests])

    # --- wakes -----------------------------------------------------------------------------

    async def listen(self, topics: tuple[Any, ...]) -> Wakes:
        self._bind()
        wakes = TaskWakes(lambda: self._leave(wakes, topics))
        for topic in topics:
            self._places.setdefault(topic, set()).add(wakes)
        try:
            for topic in topics:
                await self._subscribe(topic.channel)
        except BaseException:
            self._leave(wakes, topics)
            raise
        if self._tending is None:
            self._tending = asyncio.create_task(self._tend(), name="interlock-ear")
        return wakes

    async def _subscribe(self, channel: str) -> None:
        """Subscribe once; a server out of reach only means that wakes will not come yet."""
        sent = self._subscribed.get(channel)
        if sent is None:
            if self._ear.mux is None:
                await asyncio.shield(self._ear.opening())
            if self._ear.mux is None:
                return
            sent = self._subscribed.get(channel) or self._ear.mux.subscribe(channel)
            self._subscribed[channel] = sent
        try:
            await asyncio.shield(sent)
        except (StoreUnavailable, OutcomeUnknown):
            self._subscribed.pop(channel, None)
        except StoreError:
            self._subscribed.pop(channel, None)
            raise

    def _leave(self, wakes: TaskWakes, topics: tuple[Topic, ...]) -> None:
        for topic in topics:
            places = self._places.get(topic, set())
            places.discard(wakes)
            if not places:
                self._places.pop(topic, None)
                self._abandon(topic.channel)
        if not self._places:
            self._bell.wake()  # nobody waits: nothing is left to tend

    def _abandon(self, channel: str) -> None:
        """Drop a foreign channel that nobody needs; the client's own stays for the next."""
        needed = any(topic.channel == channel for topic in self._places)
        if needed or not channel.startswith("redisson"):
            return
        if self._subscribed.pop(channel, None) is not None and self._ear.mux is not None:
            self._ear.mux.unsubscribe(channel)

    def heard(self, channel: str, message: str) -> None:
        """A message came: wake whoever it is for."""
        for topic in (Topic(channel, message), Topic(channel, None)):
            for wakes in self._places.get(topic, ()):
                wakes.wake()

    def lost(self, line: Line) -> None:
        """A connection went: what was heard on it must be heard elsewhere."""
        if line is self._ear:
            self._subscribed.clear()
            self._bell.wake()
            self._wake_all()

    def _wake_all(self) -> None:
        for places in self._places.values():
            for wakes in places:
                wakes.wake()

    async def _tend(self) -> None:
        """While somebody waits, see to it that the ear hears; end when nobody does."""
        try:
            failures = 0
            while self._places:
                missing = {topic.channel for topic in self._places} - self._subscribed.keys()
                if missing:
                    failures = 0 if await self._mend(missing) else failures + 1
                    await asyncio.sleep(0.0 if failures == 0 else min(0.05 * 2**failures, 1.0))
                else:
                    await self._bell.wait(now() + PULSE)
                    await self._feel_pulse()
        finally:
            self._tending = None

    async def _mend(self, channels: set[str]) -> bool:
        try:
            for channel in channels:
                await self._subscribe(channel)
        except StoreError as failure:
            log.warning("cannot listen for wakes: %s", failure)
        mended = channels <= self._subscribed.keys()
        if mended:
            self._wake_all()  # messages may have been missed: whoever waits asks again
        return mended

    async def _feel_pulse(self) -> None:
        mux = self._ear.mux
        if mux is None or now() - mux.heard_at < PULSE:
            return
        try:
            await asyncio.shield(mux.ping())
        except StoreError:
            mux.abort("no sign of life")

    async def park(self, wakes: Wakes | None, until: float) -> bool:
        if isinstance(wakes, TaskWakes):
            return await wakes.wait(until)
        return await pause_task(until)

    def local(self) -> Wakes:
        return TaskWakes()

    # --- life --------------------------------------------------------------------------------

    def after_fork(self) -> None:
        # The sockets are the parent's as well; they are left to it, untouched.
        inherited.append((self._line, self._ear))
        self._loop = None
        self._begin()

    def hang_up(self) -> None:
        """Close connections on which nobody waits for anything; a later call opens others."""
        for line in (self._line, self._ear):
            if line.mux is not None and line.mux.idle:
                line.mux.abort("the event loop is closing")

    async def close(self) -> None:
        self._closed = True
        self._wake_all()
        if self._tending is not None:
            self._tending.cancel()
            await asyncio.wait((self._tending,))
        await self._line.close()
        await self._ear.close()


def all_of(calls: Sequence[Sent]) -> Sent:
    """Settled when each of the calls is; an error is the reply of its own call only."""
    whole: Sent = Sent()
    left = len(calls)

    def settled(_: object) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            whole.set_result([each.exception() or each.result() for each in calls])

    if not calls:
        whole.set_result([])
    for each in calls:
        each.add_done_callback(settled)
    return whole


#: What forked children must neither use nor close.
inherited: list[Any] = []
