"""The sockets of a connection, and what wakes its threads; of kazoo only its exceptions."""

from __future__ import annotations

import math
import select
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from kazoo.exceptions import ConnectionDropped
from kazoo.handlers.threading import KazooTimeoutError

from ....drive import now

#: Bytes that are read at once, at most.
MOST = 1 << 16

#: Before each message stands its length; and then the number of what it answers.
LENGTH, HEAD = struct.Struct("!i"), struct.Struct("!ii")

#: A socket that does not block has nothing to say, or cannot hear us, just now.
_NOT_NOW = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class MessageStream:
    """One connection, read in bulk: what has come is kept until it is a whole message."""

    def __init__(self, connection: Any) -> None:
        self._connection, self._arrived = connection, bytearray()

    def send(self, message: bytes | bytearray, until: float) -> None:
        """Send without asking first, for mostly there is room."""
        left = memoryview(message)
        with _as_dropped():
            while left:
                with suppress(*_NOT_NOW):
                    left = left[self._connection.send(left) :]
                if left and not wait_ready([], [self._connection], [], _seconds(until))[1]:
                    raise KazooTimeoutError("the server does not listen")

    def receive(self) -> None:
        """Keep everything that has come."""
        with _as_dropped():
            self._arrived += self._received()
            while self._deciphered():
                self._arrived += self._received()

    def next_xid(self) -> int | None:
        """The number of the next message, if all of it is here."""
        if len(self._arrived) < HEAD.size:
            return None
        length, xid = HEAD.unpack_from(self._arrived)
        return xid if len(self._arrived) >= LENGTH.size + length else None

    def take(self, length: int, until: float) -> bytes:
        """The next bytes; if they have not come, they are waited for."""
        with _as_dropped():
            while len(self._arrived) < length:
                if not wait_ready([self._connection], [], [], _seconds(until))[0]:
                    raise KazooTimeoutError("the server says nothing")
                self._arrived += self._received()
        taken = bytes(self._arrived[:length])
        del self._arrived[:length]
        return taken

    def _deciphered(self) -> int:
        """How many bytes the TLS layer has read from the network, but we have not."""
        link = self._connection
        return link.pending() if isinstance(link, ssl.SSLSocket) else 0

    def _received(self) -> bytes:
        """What has come, if anything has."""
        with suppress(*_NOT_NOW):
            if data := self._connection.recv(MOST):
                return bytes(data)
            raise ConnectionDropped("the server has closed the connection")
        return b""


@contextmanager
def _as_dropped() -> Iterator[None]:
    """What kazoo makes of an error of a socket: the connection has gone."""
    try:
        yield
    except OSError as error:
        raise ConnectionDropped(f"socket connection error: {error.strerror or error}") from error


def _seconds(until: float) -> float:
    return max(until - now(), 0.0)


class GreetedSocket:
    """A connection that tells how long the servers keep its session, which kazoo keeps to itself:
    their answer to a greeting begins with its length, their version and the milliseconds."""

    _HEAD = struct.Struct("!iii")

    def __init__(self, connection: Any, on_greeting: Callable[[float, float], None]) -> None:
        self._connection, self._on_greeting = connection, on_greeting
        self._sent, self._head = now(), b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def recv(self, length: int) -> bytes:
        data: bytes = self._connection.recv(length)
        if len(self._head) < self._HEAD.size:
            self._head = (self._head + data)[: self._HEAD.size]
            if len(self._head) == self._HEAD.size:
                self._greet(self._HEAD.unpack(self._head)[2])
        return data

    def _greet(self, session_ms: int) -> None:
        if session_ms > 0:  # otherwise the session is over
            self._on_greeting(self._sent, session_ms / 1000)


def wait_ready(
    readers: Sequence[Any], writers: Sequence[Any], _: Sequence[Any], timeout: float | None = None
) -> tuple[list[Any], list[Any], list[Any]]:
    """Wait until sockets can be read or written: kazoo's `select`, without an epoll for each."""
    if not hasattr(select, "poll"):  # Windows, where select takes any socket
        return select.select(readers, writers, [], timeout)
    poll = select.poll()
    for sockets, event in ((readers, select.POLLIN), (writers, select.POLLOUT)):
        for each in sockets:
            poll.register(each, event)
    found = dict(poll.poll(None if timeout is None else math.ceil(timeout * 1000)))
    readable = [each for each in readers if each.fileno() in found]
    writable = [each for each in writers if each.fileno() in found]
    return readable, writable, []


# --- waking, without a mutex: each may be interrupted anywhere -----------------------------


class Flag:
    """What `threading.Event` is, without a mutex.

    A signal handler, or a finalizer, may set an event whose mutex its own thread has, and would
    wait for itself; and a thread that sets a flag must not wait for one that was interrupted.
    """

    __slots__ = ("_set", "_waiting")

    def __init__(self) -> None:
        self._set = False
        # Each is taken; the thread that sets the flag lets it go.
        self._waiting: list[threading.Lock] = []

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True
        with suppress(IndexError):
            while True:
                self._waiting.pop().release()

    def clear(self) -> None:
        self._set = False

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set, or for so many seconds; whether it is set."""
        mine = threading.Lock()
        mine.acquire()
        self._waiting.append(mine)
        if not self._set:
            mine.acquire(timeout=-1 if timeout is None else max(timeout, 0.0))
        with suppress(ValueError):  # it was let go
            self._waiting.remove(mine)
        return self._set


class WakeSocket:
    """Kazoo's own socket by which its loop is woken; while the loop sleeps, one byte is enough.

    A sender notes its byte after it was sent, and only for as long as the loop was not awake
    meanwhile: so a sender that is interrupted in here, for good or by a signal handler that
    sends as well, keeps no other from sending.
    """

    __slots__ = ("_sent_at", "_socket", "_times_awake")

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        #: How often the loop was awake, and at which of these times a byte was sent last.
        self._times_awake, self._sent_at = 0, -1

    def send(self, byte: bytes) -> None:
        times = self._times_awake
        if self._sent_at != times:
            self._socket.send(byte)
            self._sent_at = times

    def awake(self) -> None:
        """The loop is awake, and about to look: a later sender sends again."""
        self._times_awake += 1

    def close(self) -> None:
        self._socket.close()
