"""One asyncio connection that every task shares.

Commands of all tasks are appended and flushed once in a loop turn; replies come back in
order.  Under RESP3 wakes arrive between them as push messages.  A call that is not answered
in time fails alone; its late reply still finds its place in the order and is thrown away.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

import hiredis

from ...drive import now
from ...steps import Call
from ...tasks import Sent
from .connections import INCOMPLETE, command, new_reader, packed
from .replies import from_reply, is_noscript, not_answered


class Slot(Sent):
    """A call that was sent, and its place in the order of replies: one object for both."""

    __slots__ = ("channel", "limit", "request", "since")

    #: None when it is not one of ours that is asked for: a ping, a subscription.
    request: Call | None
    since: float
    limit: float
    #: The channel of a subscription: confirmed by a push, refused by a reply.
    channel: str | None


class Mux(asyncio.Protocol):
    """The protocol of a connection that redis-py has opened."""

    def __init__(
        self,
        transport: asyncio.Transport,
        label: str,
        limit: float,
        ear: bool,
        heard: Callable[[str, str], None],
        lost: Callable[[], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport, self._label, self._limit = transport, label, limit
        # Under RESP2 a connection that subscribes hears nothing else, and without pushes.
        self._ear, self._heard, self._lost = ear, heard, lost
        self._reader = new_reader()
        self._slots: deque[Slot] = deque()
        self._out: list[bytes] = []
        self._alone = True
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = float("inf")
        self._why = "the connection was closed"
        self.open, self.heard_at = True, now()
        transport.set_protocol(self)
        transport.resume_reading()

    @property
    def idle(self) -> bool:
        """Whether nobody waits for a reply."""
        return not self._slots

    async def drained(self, until: float) -> None:
        """Wait for the replies of what was sent, but not longer."""
        if self._slots:
            await asyncio.wait(list(self._slots), timeout=max(0.0, until - now()))

    # --- sending ---------------------------------------------------------------------------

    def call(self, slot: Slot, request: Call) -> None:
        """Send a call; its reply will settle `slot`."""
        slot.request, slot.channel = request, None
        slot.since = at = now()
        slot.limit = min(request.until, at + self._limit)
        self._slots.append(slot)
        if slot.limit < self._timer_at:
            self._schedule(slot.limit, at)
        self._write(packed(request))

    def subscribe(self, channel: str) -> Slot:
        """Subscribe; settled once the server has confirmed it."""
        slot = self._enter(channel)
        self._write(command("SUBSCRIBE", channel))
        return slot

    def unsubscribe(self, channel: str) -> None:
        """Unsubscribe; the confirmation is a push that nobody waits for."""
        self._write(command("UNSUBSCRIBE", channel))

    def ping(self) -> Slot:
        """Ask for a sign of life."""
        slot = self._enter(None)
        self._write(command("PING"))
        return slot

    def _enter(self, channel: str | None) -> Slot:
        slot = Slot(loop=self._loop)
        slot.request, slot.channel = None, channel
        slot.since = at = now()
        slot.limit = at + self._limit
        self._slots.append(slot)
        if slot.limit < self._timer_at:
            self._schedule(slot.limit, at)
        return slot

    def _write(self, line: bytes) -> None:
        if self._alone and len(self._slots) < 2:
            self._transport.write(line)  # one task at a time: at once
            return
        # Several in a turn of the loop: one write for all of them.
        self._alone = False
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out.append(line)

    def _flush(self) -> None:
        out, self._out = self._out, []
        self._alone = len(self._slots) < 2
        if self.open:
            self._transport.write(b"".join(out))

    # --- receiving -------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        reader = self._reader
        reader.feed(data)
        self.heard_at = now()
        while (reply := reader.gets()) is not INCOMPLETE:
            if type(reply) is hiredis.PushNotification or (self._ear and type(reply) is list):
                self._pushed(reply)
                continue
            slot = self._slots.popleft()
            if not slot.done():
                if isinstance(reply, hiredis.ReplyError):
                    self._refused(slot, str(reply))
                else:
                    slot.set_result(reply)

    def _refused(self, slot: Slot, text: str) -> None:
        request = slot.request
        if request is not None and is_noscript(text):
            # Nothing was executed; the whole text teaches the server the script.
            self._slots.append(slot)
            self._write(packed(request, whole=True))
            return
        keys = () if request is None else request.keys
        slot.set_exception(from_reply(text, keys, self._label))

    def _pushed(self, message: list[Any]) -> None:
        if message[0] == b"message":
            self._heard(message[1].decode(), message[2].decode("utf-8", "replace"))
        elif message[0] in (b"subscribe", b"pong"):
            slot = self._slots.popleft()
            if not slot.done():
                slot.set_result(True)

    # --- time and the end --------------------------------------------------------------------

    def _schedule(self, at: float, current: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = at
        self._timer = self._loop.call_later(max(at - current, 0.0), self._expire)

    def _expire(self) -> None:
        """Fail the calls whose time is up; a server that is silent for too long is left."""
        self._timer, self._timer_at = None, float("inf")
        at = now()
        if self._slots and at - self._slots[0].since >= self._limit:
            self.abort("timed out")
            return
        for slot in self._slots:
            if slot.limit <= at and not slot.done():
                slot.set_exception(not_answered("timed out", self._label))
        if self._slots:
            pending = [slot.limit for slot in self._slots if not slot.done()]
            self._schedule(min([*pending, self._slots[0].since + self._limit]), at)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.open:
            return
        self.open = False
        if self._timer is not None:
            self._timer.cancel()
        reason = str(exc) if exc is not None else self._why
        while self._slots:
            slot = self._slots.popleft()
            if not slot.done():
                slot.set_exception(not_answered(reason, self._label))
        self._lost()

    def abort(self, why: str) -> None:
        """End the connection at once; whoever waits for a reply is told."""
        self._why = why
        self._transport.abort()
        self.connection_lost(None)
