"""One blocking connection: packed commands out, replies in, never longer than allowed."""

from __future__ import annotations

import math
import os
import select
import socket
import ssl
import struct
import sys
import threading
from collections.abc import Callable, Sequence
from threading import get_ident
from typing import Any

import hiredis

from ....drive import now
from ....steps import Call, Reply
from ..confirmation import Confirmation
from ..errors import is_noscript
from .handshakes import ConnectionFactory, doubt_replicas, open_blocking, to_confirm
from .openings import abandon_socket, end_socket, socket_of
from .protocol import INCOMPLETE, new_reader, packed_together

#: Seconds after which an idle connection is looked at before it is used again.
FRESH = 0.1


class _MainThread:
    """The main thread; in a forked child it is the one that forked."""

    def __init__(self) -> None:
        self.note()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.note)

    def note(self) -> None:
        self.ident = threading.main_thread().ident


_main = _MainThread()


class NotRedis(ConnectionError):
    """What came is no reply of Redis's: the connection is of no use any more."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        super().__init__("it does not speak Redis's protocol")


def _python_keeps_the_time(timeout_ms: int) -> bool:
    return True


class BlockingConnection:
    """A connection, used by one thread at a time."""

    #: Whether it has ever brought a reply.
    replied = False

    #: Waits for a reply in the main thread, where signal handlers run: after each of them Python
    #: asks the kernel once more, which would begin to count anew; a poll counts on.
    _poll: Callable[[int], Any] = staticmethod(_python_keeps_the_time)

    def __init__(self, factory: ConnectionFactory, until: float) -> None:
        self._connection = open_blocking(factory, until)
        #: What it was opened for: see `openings.Opening`.
        self.generation: int = self._connection.generation
        self._factory, self._shown = factory, self._connection.shown
        #: Whether replicas may have to confirm what is written on it.
        self.confirms = factory.replicas != 0
        self._recount_at: float = self._connection.recount_at
        self._take_over(socket_of(self._connection))
        self._limit = factory.timeout
        self._timeout, self._used_at, self._until = -1.0, now(), until

    def _take_over(self, sock: socket.socket) -> None:
        """Let the kernel keep the time where it can: that saves a poll before each call."""
        self._socket, self._reader = sock, new_reader()
        self._kernel_times = sys.platform == "linux" and not isinstance(sock, ssl.SSLSocket)
        if self._kernel_times:
            sock.settimeout(None)
            poll = select.poll()
            poll.register(sock, select.POLLIN)
            self._poll = poll.poll
        self._send, self._recv = sock.send, sock.recv
        self._feed, self._gets = self._reader.feed, self._reader.gets

    @property
    def until(self) -> float:
        """Until when the replies to what was sent are awaited."""
        return self._until

    def fileno(self) -> int:
        """So that several connections can be waited for at once."""
        return self._socket.fileno()

    def prepare(self, until: float) -> bool:
        """Get ready for replies until then; False when the server has closed it meanwhile."""
        at = now()
        if at - self._used_at > FRESH and self._readable():
            return False
        self._used_at, timeout = at, until - at
        if timeout > 0.98 * self._limit:
            # Near enough, and the socket need not be told each time; a loss that this holds
            # up is still reported before validity ends (see `model.guard`).
            timeout = self._limit
        self._until = at + timeout
        try:
            if timeout != self._timeout:
                self._limit_socket(max(timeout, 0.001))
        except OSError:
            return False
        return True

    def _readable(self) -> bool:
        """Whether something has come; on an idle connection that is its end."""
        if not hasattr(select, "poll"):  # Windows, where select takes any socket
            return bool(select.select([self._socket], [], [], 0)[0])
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(0))

    def _limit_socket(self, timeout: float) -> None:
        self._timeout, self._timeout_ms = timeout, math.ceil(timeout * 1000)
        if not self._kernel_times:
            self._socket.settimeout(timeout)
            return
        timeval = struct.pack("ll", int(timeout), int(timeout % 1 * 1_000_000))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeval)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, timeval)

    def ask(self, data: bytes) -> Reply:
        """Send one command and read its reply; OSError when there is none in time."""
        answer = b""
        try:
            if (sent := self._send(data)) < len(data):
                self._send_rest(data, sent)
            if get_ident() == _main.ident and not self._poll(self._timeout_ms):
                raise TimeoutError("timed out")
            self._feed(answer := self._recv(65536))
            reply = self._gets()
        except BlockingIOError:
            raise TimeoutError("timed out") from None
        except hiredis.ProtocolError as error:
            raise NotRedis(answer) from error
        # Nothing more to read also means that the end was read: see `_receive`.
        return self.read() if reply is INCOMPLETE else reply

    def send(self, data: bytes) -> None:
        """Send something whose reply is read apart; OSError when it cannot be sent in time.

        It tells the socket nothing, because another thread may be reading at the same time.
        """
        try:
            sent = self._send(data)
            if sent < len(data):
                self._send_rest(data, sent)
        except BlockingIOError:
            raise TimeoutError("timed out") from None

    def _send_rest(self, data: bytes, sent: int) -> None:
        """The socket took a part of it, and counts its time anew for each."""
        while sent < len(data):
            self._limit_until(self._until)
            sent += self._send(memoryview(data)[sent:])

    def read(self) -> Reply:
        """The next reply; OSError when it is not complete in time, counted from the question."""
        if (reply := self.read_until(self._until)) is INCOMPLETE:
            raise TimeoutError("timed out")
        self.replied = True
        return reply

    def teach(self, requests: Sequence[Call], replies: list[Reply]) -> None:
        """Ask once more, all together, what the server has not the scripts for: nothing of it was
        executed."""
        unknown = [i for i, reply in enumerate(replies) if _is_unknown(reply)]
        if unknown:
            self.send(packed_together([requests[i] for i in unknown]))
            for i in unknown:
                replies[i] = self.read()

    def repeat(self, requests: Sequence[Call], until: float) -> None:
        """Say again what another server has answered, until then; the replies are no news."""
        if requests:
            self.prepare(until)
            self.send(packed_together(requests))
            for _ in requests:
                self.read()

    def read_until(self, until: float) -> Reply:
        """The next reply or message; INCOMPLETE when it has not come by then.

        What has come already is read once in any case, though its reader is late.
        """
        data, late = b"", False
        try:
            while (reply := self._gets()) is INCOMPLETE:
                if late:
                    return INCOMPLETE
                late = now() >= until
                self._feed(data := self._receive_at_once() if late else self._receive(until))
        except TimeoutError:
            return INCOMPLETE
        except hiredis.ProtocolError as error:
            raise NotRedis(data) from error
        return reply

    def _receive(self, until: float) -> bytes:
        """Whatever comes next.  The kernel waits for each piece anew, so it is told the rest."""
        left = self._limit_until(until)
        if get_ident() == _main.ident and not self._poll(math.ceil(left * 1000)):
            raise TimeoutError("timed out")
        try:
            data: bytes = self._recv(65536)
        except BlockingIOError:
            raise TimeoutError("timed out") from None
        if not data:
            raise ConnectionError("the server closed the connection")
        return data

    def _receive_at_once(self) -> bytes:
        """What has come already."""
        if not self._readable():
            raise TimeoutError("timed out")
        return self._receive(now() + 0.02)

    def _limit_until(self, until: float) -> float:
        left = until - now()
        if left <= 0:
            raise TimeoutError("timed out")
        self._limit_socket(max(left, 0.001))
        return left

    def outlived(self) -> bool:
        """Whether another one should take its place, which counts replicas anew; asked when it
        was prepared."""
        return self._recount_at < self._used_at

    def to_confirm(self) -> Confirmation:
        """What makes grants on it count."""
        return to_confirm(self._factory, self._shown)

    def doubt_replicas(self) -> None:
        """Too few replicas have confirmed what was written on it: count them anew."""
        self._recount_at = min(doubt_replicas(self._factory), self._recount_at)

    def abandon(self) -> None:
        """In a forked child: leave the socket to the parent, without a word."""
        abandon_socket(self._socket)

    def shut_down(self) -> None:
        """End it while another thread uses it, which then closes it."""
        end_socket(self._socket)

    def close(self) -> None:
        self._connection.disconnect()


def _is_unknown(reply: Reply) -> bool:
    return isinstance(reply, hiredis.ReplyError) and is_noscript(str(reply))


def close_all(connections: Any) -> None:
    """Close every connection of a deque that other threads may empty as well."""
    while connections:
        try:
            connection = connections.pop()
        except IndexError:
            return
        connection.close()
