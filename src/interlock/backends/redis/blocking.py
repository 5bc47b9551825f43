"""The blocking link: a small pool of connections, and an ear for wakes."""

from __future__ import annotations

from collections import deque
from typing import Any

import hiredis

from ...errors import StoreError, closed
from ...parking import ThreadWakes, pause_thread
from ...steps import Call, Reply, Wakes
from ...stores import Quiet
from .connections import Door, packed
from .ear import Ear, EarWakes
from .replies import from_reply, is_noscript, not_answered
from .wire import Wire, closed_quietly

#: Idle connections that are kept; threads beyond that open and close their own.
KEPT = 16


class RedisLink(Quiet):
    """See `stores.Link`."""

    ordered = False

    def __init__(self, door: Door) -> None:
        self._door = door
        self._closed = False
        self._begin()

    def _begin(self) -> None:
        self._idle: deque[Wire] = deque()
        self._ear = Ear(lambda until: Wire(self._door, until), self._door.label)

    def call(self, request: Call) -> Reply:
        wire = self._take(request.until)
        try:
            reply = wire.ask(packed(request))
            if isinstance(reply, hiredis.ReplyError):
                reply = self._understand(wire, request, reply)
        except OSError as cause:
            raise self._unanswered(wire, cause) from cause
        except BaseException:
            wire.close()  # its answer may still come: nobody may read it for another
            raise
        self._give_back(wire)
        if isinstance(reply, StoreError):
            raise reply
        return reply

    def together(self, requests: tuple[Call, ...]) -> list[Reply]:
        until = min(request.until for request in requests)
        wire = self._take(until)
        try:
            wire.send(b"".join(packed(request) for request in requests))
            replies = [wire.read() for _ in requests]
            for i, reply in enumerate(replies):
                if isinstance(reply, hiredis.ReplyError):
                    replies[i] = self._understand(wire, requests[i], reply)
        except OSError as cause:
            raise self._unanswered(wire, cause) from cause
        except BaseException:
            wire.close()  # its answer may still come: nobody may read it for another
            raise
        self._give_back(wire)
        return replies

    def _unanswered(self, wire: Wire, cause: OSError) -> StoreError:
        """Close a connection that failed; the answer may still be on its way to nobody."""
        wire.close()
        if isinstance(cause, ConnectionError):
            closed_quietly(self._idle)  # they have ended with it
        return not_answered(cause, self._door.label)

    def _understand(self, wire: Wire, request: Call, error: Any) -> Reply:
        if is_noscript(str(error)):
            # Nothing was executed; the whole text teaches the server the script.
            error = wire.ask(packed(request, whole=True))
            if not isinstance(error, hiredis.ReplyError):
                return error
        return from_reply(str(error), request.keys, self._door.label)

    def _take(self, until: float) -> Wire:
        while self._idle:
            try:
                wire = self._idle.pop()
            except IndexError:
                break  # another thread was quicker
            if wire.usable(until):
                return wire
            wire.close()
        if self._closed:
            raise closed(self._door.label)
        wire = Wire(self._door, until)
        wire.usable(until)
        return wire

    def _give_back(self, wire: Wire) -> None:
        if len(self._idle) < KEPT and not self._closed:
            self._idle.append(wire)
        else:
            wire.close()

    def listen(self, topics: tuple[Any, ...]) -> Wakes:
        return self._ear.listen(topics)

    def park(self, wakes: Wakes | None, until: float) -> bool:
        if isinstance(wakes, EarWakes):
            return self._ear.park(wakes, until)
        if isinstance(wakes, ThreadWakes):
            return wakes.wait(until)
        return pause_thread(until)

    def local(self) -> Wakes:
        return ThreadWakes()

    def after_fork(self) -> None:
        # The sockets are the parent's as well; they are left to it, untouched.
        inherited.append((self._idle, self._ear))
        self._begin()

    def close(self) -> None:
        self._closed = True
        closed_quietly(self._idle)
        self._ear.close()


#: What forked children must neither use nor close.
inherited: list[Any] = []
