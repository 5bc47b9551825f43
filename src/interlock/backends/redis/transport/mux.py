"""One asyncio connection that every task shares.

Commands of all tasks are appended and flushed once in a loop turn; replies come back in
order.  Under RESP3 wakes arrive between them as push messages.  A call that is not answered
in time fails alone; its late reply still finds its place in the order and is thrown away.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import hiredis

from ....drive import now
from ....errors import StoreError
from ....steps import Call
from ....tasks import Sent
from ..confirmation import Confirmation, needs_confirmation, replicas_shown
from ..errors import foreign, from_reply, is_noscript, not_answered
from ..topology import is_demoted
from .handshakes import ConnectionFactory, doubt_replicas, next_count, to_confirm
from .protocol import ASKING, INCOMPLETE, command, new_reader, packed, packed_together


class PendingReply(Sent):
    """A call that was sent, and its place in the order of replies: one object for both."""

    __slots__ = ("channel", "limit", "request", "since")

    #: None when it is no call of a store: a ping, a subscription.
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
        factory: ConnectionFactory,
        only_subscribes: bool,
        on_message: Callable[[str, str | None], None],
        on_lost: Callable[[], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport, self._factory = transport, factory
        self._label, self._limit = factory.label, factory.timeout
        # Under RESP2 a connection that subscribes hears nothing else, and without pushes.
        self._only_subscribes = only_subscribes
        self._on_message, self._on_lost = on_message, on_lost
        self._reader = new_reader()
        self._pending: deque[PendingReply] = deque()
        self._out: list[bytes] = []
        self._alone = True
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = float("inf")
        #: What it was opened for: see `openings.Opening`.
        self.generation = self.shown = 0
        self.recount_at = float("inf")
        #: Whether replicas may have to confirm what is written.
        self._confirms = factory.replicas != 0
        #: Grants and renewals, with their replies, that replicas have to confirm.
        self._unconfirmed: list[tuple[PendingReply, Any]] = []
        self._demoted = False
        #: Which run of the server it leads to, as it is sent; see `protocol.packed_for`.
        self.run = b""
        #: The scripts that were sent as a whole, where each is at first, because no reader might
        #: be there any more to hear that the server does not know it; None where none is.
        self.taught: set[str] | None = None
        self._end_reason: str | StoreError = "the connection was closed"
        #: When a reply was complete last, and whether there was any.
        self.open, self.heard_at, self._replied = True, now(), False
        transport.set_protocol(self)
        transport.resume_reading()

    @property
    def idle(self) -> bool:
        """Whether no call waits for its reply."""
        return not self._pending

    async def drained(self, until: float) -> None:
        """Wait for the replies of what was sent, but not longer."""
        if self._pending:
            await asyncio.wait(list(self._pending), timeout=max(0.0, until - now()))

    # --- sending ---------------------------------------------------------------------------

    def ask_anyway(self, request: Call) -> PendingReply:
        """Send a call to a node of a cluster, for a slot that is just moving there.

        The script's text goes along: a node that does not know it would forget the permission.
        """
        self._enter(None)
        pending = self._enter(None)
        pending.request = request
        self._write(ASKING + packed(request, whole=True))
        return pending

    def call(self, pending: PendingReply, request: Call, data: bytes | None = None) -> None:
        """Send a call; its reply will settle `pending`.  `data` are its bytes, if known."""
        pending.request, pending.channel = request, None
        pending.since = at = now()
        if at > self.recount_at:
            self._recount()
        pending.limit = min(request.until, at + self._limit)
        self._pending.append(pending)
        if pending.limit < self._timer_at:
            self._schedule(pending.limit, at)
        if self.taught is not None and self._teaches(request):
            self._write(packed(request, whole=True))
        else:
            self._write(data or packed(request))

    def _teaches(self, request: Call) -> bool:
        """Whether the script of a call has not been sent on this connection yet."""
        assert self.taught is not None
        known = len(self.taught)
        self.taught.add(request.operation.sha)
        return len(self.taught) > known

    def repeat(self, requests: Sequence[Call]) -> PendingReply:
        """Send calls that were answered by another server before; the last one's reply is
        returned, and no call waits for the others."""
        pending = [self._enter(None) for _ in requests]
        for each in pending:
            each.add_done_callback(PendingReply.exception)  # one that fails is no news
        self._write(packed_together(requests))
        return pending[-1]

    def subscribe(self, channel: str, sharded: bool = False) -> PendingReply:
        """Subscribe; settled once the server has confirmed it."""
        pending = self._enter(channel)
        self._write(command("SSUBSCRIBE" if sharded else "SUBSCRIBE", channel))
        return pending

    def unsubscribe(self, channel: str, sharded: bool = False) -> None:
        """Unsubscribe; the confirmation is a push that no call waits for."""
        self._write(command("SUNSUBSCRIBE" if sharded else "UNSUBSCRIBE", channel))

    def ping(self) -> PendingReply:
        """Ask the server whether it is there."""
        pending = self._enter(None)
        self._write(command("PING"))
        return pending

    def _enter(self, channel: str | None, limit: float = math.inf) -> PendingReply:
        pending = PendingReply(loop=self._loop)
        pending.request, pending.channel = None, channel
        pending.since = at = now()
        pending.limit = min(at + self._limit, limit)
        self._pending.append(pending)
        if pending.limit < self._timer_at:
            self._schedule(pending.limit, at)
        return pending

    def _write(self, data: bytes) -> None:
        if self._alone and len(self._pending) < 2:
            self._transport.write(data)  # one task at a time: at once
            return
        # Several in a turn of the loop: one write for all of them.
        self._alone = False
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out.append(data)

    def _flush(self) -> None:
        out, self._out = self._out, []
        self._alone = len(self._pending) < 2
        if self.open:
            self._transport.write(b"".join(out))

    # --- receiving -------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        reader = self._reader
        reader.feed(data)
        try:
            if (reply := reader.gets()) is not INCOMPLETE:
                self.heard_at, self._replied, self._factory.reached = now(), True, True
            while reply is not INCOMPLETE:
                if type(reply) is hiredis.PushNotification or (
                    self._only_subscribes and type(reply) is list
                ):
                    self._push_received(reply)
                elif self._confirms or type(reply) is hiredis.ReplyError:
                    self._reply_received(reply)
                elif not (pending := self._pending.popleft()).done():
                    pending.set_result(reply)  # on every hot path, so without a detour
                reply = reader.gets()
        except hiredis.ProtocolError:
            self.abort(foreign(data, self._label, self._replied, self._factory.reached))
        if self._demoted:  # only now: more replies may have come with the one that said so
            self.abort("it is not the primary any more")
        elif self._unconfirmed and self.open:
            self._confirm()

    def _reply_received(self, reply: Any) -> None:
        pending = self._pending.popleft()
        if not pending.done():
            if isinstance(reply, hiredis.ReplyError):
                self._refused(pending, str(reply))
            elif pending.request and needs_confirmation(pending.request, reply):
                self._unconfirmed.append((pending, reply))
            else:
                pending.set_result(reply)

    def _confirm(self) -> None:
        """Ask once how many replicas have what was granted and renewed; later replies wait for
        the answer, and what they grant is asked about together."""
        written, self._unconfirmed = self._unconfirmed, []
        needed = to_confirm(self._factory, self.shown)
        if not needed.wanted:
            self._settle(written, needed, 0)
            return
        limit = min(pending.limit for pending, _ in written)
        waiting = self._enter(None, limit)
        self._write(command(*needed.command(limit - now())))
        waiting.add_done_callback(
            lambda _: self._settle(written, needed, waiting.exception() or waiting.result())
        )

    def _settle(
        self, written: list[tuple[PendingReply, Any]], needed: Confirmation, acknowledged: Any
    ) -> None:
        """Hand out the replies that enough replicas have confirmed, and errors for the others."""
        for pending, reply in written:
            assert pending.request is not None  # it is the call of a store
            why = needed.failure(pending.request, acknowledged)
            if why is None:
                pending.set_result(reply)
            else:
                self.recount_at = min(self.recount_at, doubt_replicas(self._factory))
                pending.set_exception(why)

    def _recount(self) -> None:
        """Ask again how many replicas there are."""
        self.recount_at = float("inf")
        asked = self._enter(None)
        self._write(command("ROLE"))
        asked.add_done_callback(lambda _: self._recounted(asked))

    def _recounted(self, asked: PendingReply) -> None:
        factory = self._factory
        if asked.exception() is not None:
            return  # the connection has ended, or is about to
        try:
            self.shown = replicas_shown(asked.result(), self._label, factory.any_role)
        except StoreError:
            factory.leave(self.generation)
            self.abort("it is not the primary any more")
        self.recount_at = next_count(factory, self.shown)

    def _refused(self, pending: PendingReply, text: str) -> None:
        request = pending.request
        if request is not None and is_noscript(text):
            # Nothing was executed; the whole text teaches the server the script.
            self._pending.append(pending)
            self._write(packed(request, whole=True))
            return
        keys = () if request is None else request.keys
        pending.set_exception(from_reply(text, keys, self._label))
        if is_demoted(text):
            self._factory.leave(self.generation)
            self._demoted = True

    def _push_received(self, message: list[Any]) -> None:
        if message[0] in (b"message", b"smessage"):
            self._on_message(message[1].decode(), message[2].decode("utf-8", "replace"))
        elif message[0] == b"sunsubscribe":
            self._on_message(message[1].decode(), None)
        elif message[0] in (b"subscribe", b"ssubscribe", b"pong"):
            pending = self._pending.popleft()
            if not pending.done():
                pending.set_result(True)

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
        if self._pending and at - self._pending[0].since >= self._limit:
            self.abort("timed out")
            return
        for pending in self._pending:
            if pending.limit <= at and not pending.done():
                pending.set_exception(not_answered("timed out", self._label))
        if self._pending:
            limits = [pending.limit for pending in self._pending if not pending.done()]
            self._schedule(min([*limits, self._pending[0].since + self._limit]), at)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.open:
            return
        self.open = False
        if self._timer is not None:
            self._timer.cancel()
        reason = str(exc) if exc is not None else self._end_reason
        while self._pending:
            pending = self._pending.popleft()
            if not pending.done():
                pending.set_exception(self._failure(reason))
        for pending, _ in self._unconfirmed:
            pending.set_exception(self._failure(reason))
        self._on_lost()

    def _failure(self, reason: str | StoreError) -> StoreError:
        """One for each call: each may get notes of its own."""
        return not_answered(reason, self._label) if isinstance(reason, str) else copy(reason)

    def abort(self, reason: str | StoreError) -> None:
        """End the connection at once; every call that waits for a reply fails with the reason."""
        self._end_reason = reason
        self._transport.abort()
        self.connection_lost(None)
