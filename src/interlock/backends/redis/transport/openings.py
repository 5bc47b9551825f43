"""What is private to redis-py's connections: their sockets and streams, taken over by links.

redis-py waits anew for each address, each answer of the handshake and each piece of it, so a
handshake whose answers drip in never ends for it; and it does not say what it could not
understand.  The classes here put one limit on the whole, and remember what was read last.

The private attributes that this needs are named here and nowhere else.
"""

from __future__ import annotations

import asyncio
import math
import os
import socket
from contextlib import suppress
from typing import Any

from ....drive import now
from .weak_registry import WeakRegistry


class TimedSocket:
    """A socket on which everything ends at one instant, however the bytes come."""

    def __init__(self, raw: socket.socket, until: float) -> None:
        self.raw, self._until, self._pid = raw, until, os.getpid()
        self.last_read = b""
        _with_redis_py.add(self)

    def _limited(self) -> socket.socket:
        if self._pid != os.getpid():
            raise ConnectionError("it is the parent's: a signal handler has forked")
        left = self._until - now()
        if left <= 0:
            raise TimeoutError("timed out")
        self.raw.settimeout(left)
        return self.raw

    def recv(self, *size: int) -> bytes:
        self.last_read = self._limited().recv(*size)
        return self.last_read

    def recv_into(self, buffer: Any, *size: int) -> int:
        count = self._limited().recv_into(buffer, *size)
        self.last_read = bytes(buffer[:count])
        return count

    def sendall(self, data: bytes) -> None:
        self._limited().sendall(data)

    def settimeout(self, timeout: float | None) -> None:
        """What redis-py would wait does not count."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


#: Sockets that redis-py uses, before a link takes them over.
_with_redis_py: WeakRegistry[TimedSocket] = WeakRegistry()


def abandon_socket(sock: socket.socket) -> None:
    """In a forked child: leave a socket to the parent, without a word.

    A child that returns from a signal handler into a call of its parent's must neither ask nor
    take the answer.  The descriptor stays taken, or the next file that is opened would be asked
    in its stead.
    """
    with suppress(OSError):
        void = os.open(os.devnull, os.O_RDWR)
        try:
            os.dup2(void, sock.fileno(), inheritable=False)
        finally:
            os.close(void)


def end_socket(sock: socket.socket) -> None:
    """End a socket while another thread uses it, which then finds it so.

    Not by the method of a socket with TLS, which takes TLS away first: what the other thread sends
    in that moment would be readable on the way.
    """
    with suppress(OSError):
        socket.socket.shutdown(sock, socket.SHUT_RDWR)


def _abandon_handshakes() -> None:
    for each in _with_redis_py.every():
        abandon_socket(each.raw)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_handshakes)


class RecordingStream:
    """A stream that remembers what was read last; asyncio limits the whole of a handshake."""

    def __init__(self, raw: Any) -> None:
        self._raw, self.last_read = raw, b""

    async def read(self, size: int = -1) -> bytes:
        self.last_read = await self._raw.read(size)
        return self.last_read

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)


class Opening:
    """What is known of a connection since it was opened."""

    #: The `ConnectionFactory.generation` that it belongs to.
    generation = 0
    #: How many replicas its server has shown, if it was asked.
    shown = 0
    #: When they are to be counted again.
    recount_at = math.inf


class TimedOpening(Opening):
    """Mixed into a blocking connection of redis-py: it is open at `until`, or has failed."""

    until = math.inf
    _timed: TimedSocket | None = None
    _latest: TimedSocket | None = None

    @property
    def socket_timeout(self) -> float:
        """What is left: for the next address, and for the TLS handshake."""
        return max(self.until - now(), 0.001)

    @socket_timeout.setter
    def socket_timeout(self, timeout: float | None) -> None:
        """What redis-py would wait does not count."""

    socket_connect_timeout = socket_timeout

    @property
    def _sock(self) -> TimedSocket | None:
        return self._timed

    @_sock.setter
    def _sock(self, sock: socket.socket | None) -> None:
        self._timed = None if sock is None else TimedSocket(sock, self.until)
        self._latest = self._timed or self._latest

    def last_read(self) -> bytes:
        """What was read last, though redis-py may have closed the connection since."""
        return b"" if self._latest is None else self._latest.last_read


class RecordedOpening(Opening):
    """Mixed into an asyncio connection of redis-py: it knows what it read last."""

    _stream: RecordingStream | None = None
    _latest: RecordingStream | None = None

    @property
    def _reader(self) -> RecordingStream | None:
        return self._stream

    @_reader.setter
    def _reader(self, stream: Any) -> None:
        self._stream = None if stream is None else RecordingStream(stream)
        self._latest = self._stream or self._latest

    def last_read(self) -> bytes:
        """What was read last, though redis-py may have closed the connection since."""
        return b"" if self._latest is None else self._latest.last_read


def socket_of(connection: Any) -> socket.socket:
    """The socket of a blocking connection that has been opened."""
    timed: TimedSocket = connection._sock
    _with_redis_py.discard(timed)  # the link looks after it from now on
    return timed.raw


def transport_of(connection: Any) -> asyncio.Transport:
    """The transport of an asyncio connection that has been opened."""
    transport: asyncio.Transport = connection._writer.transport
    return transport


def retire(connection: Any) -> None:
    """Let go of an asyncio connection whose transport has ended, without a warning."""
    if connection is not None:
        connection._reader = connection._writer = None
