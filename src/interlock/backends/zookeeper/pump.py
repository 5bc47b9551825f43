"""Kazoo's loop in bulk: it sends at once all that was asked, and reads at once all that came.

Kazoo wakes up for every request and every answer, each time asks a new epoll which socket is
ready, and again before it reads or writes; that is more work than all the rest of a lock.  What
is asked together here travels together, and so do the answers.
"""

from __future__ import annotations

import math
import select
import ssl
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from kazoo.exceptions import ConnectionDropped
from kazoo.protocol.connection import AUTH_XID, ConnectionHandler
from kazoo.protocol.serialization import Auth, Connect, int_int_struct, int_struct

from ...drive import now
from .pulse import Pulse

#: Bytes that are read at once, at most.
MOST = 1 << 16

#: A socket that does not block has nothing to say, or cannot hear us, just now.
_NOT_NOW = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)

#: After this number kazoo begins again with 1.
_LAST = 2**31 - 1


#: How often a session may be asked for within its length: a server that is just starting may
#: leave a greeting without an answer for ever.
GREETINGS = 4


def _soon(session_ms: int) -> float:
    return session_ms / 1000 / GREETINGS


class Burst:
    """Requests that travel together: for kazoo they are one, and its result as well."""

    __slots__ = ("each",)

    def __init__(self) -> None:
        #: Each with the object that hears its answer.
        self.each: list[tuple[Any, Any]] = []

    def set_exception(self, error: BaseException) -> None:
        """None of them was sent."""
        for _, heard in self.each:
            heard.set_exception(error)


class Bell:
    """Kazoo's own socket by which its loop is woken; who rings before it is up rings once."""

    __slots__ = ("_socket", "rung")

    def __init__(self, socket: Any) -> None:
        self._socket, self.rung = socket, False

    def send(self, byte: bytes) -> None:
        if self.rung:
            return
        try:
            self.rung = True
            self._socket.send(byte)
        except BaseException:  # a Ctrl-C, perhaps before anybody has heard it
            self.rung = False
            raise

    def close(self) -> None:
        self._socket.close()


class Pump(ConnectionHandler):  # type: ignore[misc]
    """The connection of a kazoo client; the pulse hears of what was answered, and how long a
    session lasts, which kazoo keeps to itself."""

    _socket: Any
    _read_sock: Any
    _write_sock: Any
    _xid: int

    def __init__(self, client: Any, pulse: Pulse) -> None:
        before = client._connection
        super().__init__(client, before.retry_sleeper, before.logger, before.sasl_options)
        self._pulse, self._arrived = pulse, bytearray()
        self._pinged: float | None = None

    def _expand_client_hosts(self) -> Any:
        """The addresses of the servers; kazoo says of those without one only in its log."""
        found = super()._expand_client_hosts()
        known = {host for host, _, _ in found}
        for host, port in self.client.hosts:
            if host.strip() not in known:
                self.handler.unknown(host.strip(), port)
        return found

    def _connect_attempt(self, host: str, hostip: str, port: int, retry: Any) -> Any:
        self._arrived.clear()
        return super()._connect_attempt(host, hostip, port, retry)

    def _invoke(self, timeout: float, request: Any, xid: int | None = None) -> Any:
        if not isinstance(request, Connect):
            return super()._invoke(timeout, request, xid)
        sent = now()
        result: Any = super()._invoke(min(timeout, _soon(request.time_out)), request, xid)
        if result[0].time_out > 0:
            self._pulse.greeted(sent, result[0].time_out / 1000)
        return result

    # --- sending ------------------------------------------------------------------------

    def ring(self) -> None:
        """There is something in the queue; a connection that is closed has no bell."""
        bell = self._write_sock
        if bell is not None:
            bell.send(b"\0")

    def _send_ping(self, connect_timeout: float) -> None:
        """Whoever did not get to ring the bell is heard now."""
        self._pinged = now()
        super()._send_ping(connect_timeout)
        self._send_all(connect_timeout)

    def _send_request(self, read_timeout: float, connect_timeout: float) -> None:
        """Send all that is in the queue; a byte in the socket only says that there is some."""
        self._read_sock.recv(MOST)
        self._write_sock.rung = False  # before we look: whoever comes later rings again
        self._send_all(connect_timeout)

    def _send_all(self, connect_timeout: float) -> None:
        queue, message = self.client._queue, bytearray()
        while queue:
            request, heard = queue.popleft()
            burst = request.each if isinstance(request, Burst) else [(request, heard)]
            for one in burst:
                message += self._framed(*one)
        if message:
            self._write(message, connect_timeout)

    def _framed(self, request: Any, heard: Any) -> bytes:
        """A request as it is sent; from now on an answer is expected."""
        xid, body = self._number(request), request.serialize()
        self.client._pending.append((request, heard, xid))
        length = int_struct.pack(len(body) + int_int_struct.size)
        return b"".join((length, int_int_struct.pack(xid, request.type), body))

    def _write(self, msg: bytes | bytearray, timeout: float) -> None:
        """Send without asking first, for mostly there is room."""
        sent = 0
        with self._socket_error_handling(), suppress(*_NOT_NOW):
            sent = self._socket.send(msg)
        if sent < len(msg):
            super()._write(msg[sent:], timeout)

    def _number(self, request: Any) -> int:
        if request.type == Auth.type:
            return int(AUTH_XID)
        self._xid = self._xid % _LAST + 1
        return self._xid

    # --- reading ------------------------------------------------------------------------

    def _read_socket(self, read_timeout: float) -> Any:
        """Take every answer that has come, for nobody wakes us for those that we have read."""
        response = super()._read_socket(read_timeout)
        while response is None and (self._arrived or self._deciphered()):
            response = super()._read_socket(read_timeout)
        if self._pinged is not None and not self.ping_outstanding.is_set():
            self._pulse.beat(self._pinged, now())
            self._pinged = None
        return response

    def _deciphered(self) -> int:
        """How many bytes the TLS layer has read from the network, but we have not."""
        return self._socket.pending() if isinstance(self._socket, ssl.SSLSocket) else 0

    def _read(self, length: int, timeout: float) -> bytes:
        with self._socket_error_handling():
            while len(self._arrived) < length:
                self._arrived += self._received(timeout)
        taken = bytes(self._arrived[:length])
        del self._arrived[:length]
        return taken

    def _received(self, timeout: float) -> bytes:
        while True:
            with suppress(*_NOT_NOW):
                if data := self._socket.recv(MOST):
                    return bytes(data)
                raise ConnectionDropped("the server has closed the connection")
            if not self.handler.select([self._socket], [], [], timeout)[0]:
                raise self.handler.timeout_exception("the server says nothing")


def ready(
    readers: Sequence[Any], writers: Sequence[Any], _: Sequence[Any], timeout: float | None = None
) -> tuple[list[Any], list[Any], list[Any]]:
    """Wait until sockets can be read or written: kazoo's `select`, without an epoll for each."""
    poll = select.poll()
    for sockets, event in ((readers, select.POLLIN), (writers, select.POLLOUT)):
        for each in sockets:
            poll.register(each, event)
    found = dict(poll.poll(None if timeout is None else math.ceil(timeout * 1000)))
    readable = [each for each in readers if each.fileno() in found]
    writable = [each for each in writers if each.fileno() in found]
    return readable, writable, []
