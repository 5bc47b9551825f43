"""One blocking connection: packed commands out, replies in, never longer than allowed."""

from __future__ import annotations

import select
import socket
import ssl
import struct
import sys
from typing import Any

from ...drive import now
from ...steps import Reply
from .connections import INCOMPLETE, Door, connecting_failed, new_reader, socket_of

#: Seconds after which an idle connection is looked at before it is used again.
FRESH = 0.1


class Wire:
    """A connection, used by one thread at a time."""

    def __init__(self, door: Door, until: float) -> None:
        self._connection = door.blocking()
        patience = max(min(until - now(), door.connect_timeout), 0.001)
        # redis-py waits so long for the connection, and then for each answer to AUTH and the like.
        self._connection.socket_connect_timeout = self._connection.socket_timeout = patience
        try:
            self._connection.connect()
        except Exception as cause:
            raise connecting_failed(cause, door.label) from cause
        self._take_over(socket_of(self._connection))
        self._limit = door.timeout
        self._patience, self._used_at = -1.0, now()

    def _take_over(self, sock: socket.socket) -> None:
        """Let the kernel keep the time where it can: that saves a poll before each call."""
        self._socket, self._reader = sock, new_reader()
        self._kernel_times = sys.platform == "linux" and not isinstance(sock, ssl.SSLSocket)
        if self._kernel_times:
            sock.settimeout(None)
        self._sendall, self._recv = sock.sendall, sock.recv
        self._feed, self._gets = self._reader.feed, self._reader.gets

    def usable(self, until: float) -> bool:
        """Get ready for answers until then; False when the server has hung up meanwhile."""
        at = now()
        if at - self._used_at > FRESH and self._ended():
            return False
        self._used_at, patience = at, until - at
        if patience > 0.98 * self._limit:
            # Near enough, and the socket need not be told each time; a loss that this holds
            # up is still reported before validity ends (see `model.guard`).
            patience = self._limit
        if patience != self._patience:
            self._limit_socket(max(patience, 0.001))
        return True

    def _ended(self) -> bool:
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(0))

    def _limit_socket(self, patience: float) -> None:
        self._patience = patience
        if not self._kernel_times:
            self._socket.settimeout(patience)
            return
        timeval = struct.pack("ll", int(patience), int(patience % 1 * 1_000_000))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeval)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, timeval)

    def ask(self, line: bytes) -> Reply:
        """Send one command and read its reply; OSError when there is none in time."""
        try:
            self._sendall(line)
            self._feed(self._recv(65536))
        except BlockingIOError:
            raise TimeoutError("timed out") from None
        reply = self._gets()
        # Nothing more to read also means that the end was read: see `_receive`.
        return self.read() if reply is INCOMPLETE else reply

    def send(self, line: bytes) -> None:
        try:
            self._sendall(line)
        except BlockingIOError:
            raise TimeoutError("timed out") from None

    def read(self) -> Reply:
        """The next reply; OSError when there is none in time."""
        reply = self._gets()
        while reply is INCOMPLETE:
            self._receive()
            reply = self._gets()
        return reply

    def _receive(self) -> None:
        try:
            data = self._recv(65536)
        except BlockingIOError:
            raise TimeoutError("timed out") from None
        if not data:
            raise ConnectionError("the server closed the connection")
        self._feed(data)

    def ready(self, pause: float) -> bool:
        """Whether something can be read, waiting no longer than `pause`."""
        if self._reader.has_data():
            return True
        self._limit_socket(max(pause, 0.001))
        try:
            self._receive()
        except TimeoutError:
            return False
        return True

    def close(self) -> None:
        self._connection.disconnect()


def closed_quietly(wires: Any) -> None:
    """Close every connection of a deque that other threads may empty as well."""
    while wires:
        try:
            wire = wires.pop()
        except IndexError:
            return
        wire.close()
