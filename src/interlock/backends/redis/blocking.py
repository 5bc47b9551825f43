"""The blocking link: a small pool of connections, and an ear for wakes."""

from __future__ import annotations

from collections import deque
from typing import Any

import hiredis

from ...drive import now
from ...errors import StoreError, StoreUnavailable
from ...parking import ThreadWakes, pause_thread
from ...steps import Call, Reply, Wakes
from .connections import (
    INCOMPLETE,
    Door,
    connecting_failed,
    new_reader,
    packed,
    socket_of,
)
from .ear import Ear, EarWakes
from .replies import from_reply, is_noscript, not_answered

#: Idle connections that are kept; threads beyond that open and close their own.
KEPT = 16


class Wire:
    """One connection, used by one thread at a time."""

    def __init__(self, door: Door, until: float) -> None:
        self._connection = door.blocking()
        patience = max(min(until - now(), door.connect_timeout), 0.001)
        # redis-py waits so long for the connection, and then for each answer to AUTH and the like.
        self._connection.socket_connect_timeout = self._connection.socket_timeout = patience
        try:
            self._connection.connect()
        except Exception as cause:
            raise connecting_failed(cause, door.label) from cause
        self._socket, self._reader = socket_of(self._connection), new_reader()
        self._limit = door.timeout
        self._patience = -1.0

    def patient(self, until: float) -> None:
        """Wait for the next answers until then, but never beyond the door's limit."""
        patience = until - now()
        if patience > self._limit / 2:
            patience = self._limit  # near enough, and the socket need not be told each time
        if patience != self._patience:
            self._patience = max(patience, 0.001)
            self._socket.settimeout(self._patience)

    def send(self, line: bytes) -> None:
        self._socket.sendall(line)

    def read(self) -> Reply:
        """The next reply; OSError when there is none in time."""
        reply = self._reader.gets()
        while reply is INCOMPLETE:
            self._feed()
            reply = self._reader.gets()
        return reply

    def _feed(self) -> None:
        data = self._socket.recv(65536)
        if not data:
            raise ConnectionError("the server closed the connection")
        self._reader.feed(data)

    def ready(self, pause: float) -> bool:
        """Whether something can be read, waiting no longer than `pause`."""
        if self._reader.has_data():
            return True
        self._patience = max(pause, 0.001)
        self._socket.settimeout(self._patience)
        try:
            self._feed()
        except TimeoutError:
            return False
        return True

    def close(self) -> None:
        self._connection.disconnect()


class RedisLink:
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
            wire.patient(request.until)
            wire.send(packed(request))
            reply = wire.read()
            if isinstance(reply, hiredis.ReplyError):
                reply = self._understand(wire, request, reply)
        except BaseException as cause:
            raise self._spoilt(wire, cause) from cause
        self._give_back(wire)
        if isinstance(reply, StoreError):
            raise reply
        return reply

    def together(self, requests: tuple[Call, ...]) -> list[Reply]:
        until = min(request.until for request in requests)
        wire = self._take(until)
        try:
            wire.patient(until)
            wire.send(b"".join(packed(request) for request in requests))
            replies = [wire.read() for _ in requests]
            for i, reply in enumerate(replies):
                if isinstance(reply, hiredis.ReplyError):
                    replies[i] = self._understand(wire, requests[i], reply)
        except BaseException as cause:
            raise self._spoilt(wire, cause) from cause
        self._give_back(wire)
        return replies

    def _spoilt(self, wire: Wire, cause: BaseException) -> BaseException:
        """Close a connection whose answer may still come: nobody may read it for another."""
        wire.close()
        return not_answered(cause, self._door.label) if isinstance(cause, OSError) else cause

    def _understand(self, wire: Wire, request: Call, error: Any) -> Reply:
        if is_noscript(str(error)):
            # Nothing was executed; the whole text teaches the server the script.
            wire.send(packed(request, whole=True))
            error = wire.read()
            if not isinstance(error, hiredis.ReplyError):
                return error
        return from_reply(str(error), request.keys, self._door.label)

    def _take(self, until: float) -> Wire:
        try:
            return self._idle.pop()
        except IndexError:
            if self._closed:
                raise StoreUnavailable("this client is closed", self._door.label) from None
            return Wire(self._door, until)

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
        while self._idle:
            self._idle.pop().close()
        self._ear.close()


#: What forked children must neither use nor close.
inherited: list[Any] = []
