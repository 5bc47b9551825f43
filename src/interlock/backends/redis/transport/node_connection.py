"""One connection of a blocking client to one of several nodes, which never blocks.

A node that hangs must not hold up the others, not even while a connection to it is opened; and
what is opened by way of redis-py blocks until its handshake is answered.  So this speaks for
itself: it connects, says who it is, and sends and reads what the socket takes and has.

A reply finds the call that it belongs to by its place in the order.  A call whose caller has gone
on keeps its place, so that its late reply is read and thrown away.
"""

from __future__ import annotations

import select
import socket
import ssl
from collections import deque
from typing import Any

import hiredis

from ....drive import now
from ....errors import StoreError, StoreMisconfigured
from ....steps import Call
from ..errors import foreign, from_reply, is_noscript, not_answered, not_sent
from .awaited import AwaitedReply
from .connection import FRESH
from .greetings import greetings, refused
from .known_node import KnownNode
from .openings import abandon_socket, end_socket
from .polled_opening import PolledOpening
from .polled_sockets import WOULD_BLOCK
from .protocol import INCOMPLETE, command, new_reader, packed, packed_for, run_told

#: Bytes that are read at a time.
CHUNK = 1 << 16

#: Bytes that wait for a node which takes nothing, at most.
UNSENT = 1 << 20

#: Seconds until a node that could not be reached is tried again: at first, and at most.
PAUSES = (0.02, 0.5)


class NodeConnection:
    """A connection to one node, opened when it is needed and again when it was lost."""

    _socket: socket.socket | None = None

    #: Whether the link has ended it while a thread uses it, which is about to close it.
    _shut = False

    #: When the node has answered last; 0.0 once that was noted.
    heard_at = 0.0

    def __init__(self, node: KnownNode) -> None:
        self._node, self._unheard, self.label = node, node.unheard, node.settings.label
        self._opening: PolledOpening | None = None
        self._greeted = False
        self._out = bytearray()
        #: The scripts that the server has been sent as a whole, on this connection.
        self._taught: set[Any] = set()
        #: Which run of the server it leads to, as it is sent; nothing until the server has told.
        self._run = b""
        #: Whether bytes may wait in the layer of TLS, of which no poll tells.
        self._secured = node.settings.transport == "tls"
        #: Calls that were sent, and those that wait until the node knows who we are.
        self._sent: deque[AwaitedReply] = deque()
        self._unsent: deque[AwaitedReply] = deque()
        self._opened_at = self._retry_at = self._used_at = 0.0
        self._failures, self._failure = 0, not_sent(ConnectionError("not connected"), self.label)

    # --- calls ---------------------------------------------------------------------------------

    def ask(self, request: Call, at: float, data: bytes | None = None) -> AwaitedReply:
        """Send a call as soon as it can be sent; its reply is None until it is there.

        `data` are its bytes, where other nodes are asked the same.
        """
        awaited = AwaitedReply(request, at)
        self._check_age(at)
        if self._greeted and at - self._used_at > FRESH:
            self._read()  # the server may have closed it meanwhile
        self._used_at = at
        if self._socket is None and at >= self._retry_at:
            self._open(at)
        self._say_unheard(at)
        if self._socket is None or len(self._out) > UNSENT:
            awaited.reply = self._why_not()
            self._unheard.note(request, at)
        elif self._greeted:
            self._send_call(awaited, request, data)
        else:
            self._unsent.append(awaited)
        return awaited

    def _send_call(self, awaited: AwaitedReply, request: Call, data: bytes | None = None) -> None:
        """Send a script by its SHA-1, but the first time as a whole: no reader might be there any
        more to hear that the server does not know it."""
        script, self._unheard.reached = request.operation, True
        if script in self._taught:
            self._send(awaited, packed_for(data or packed(request), request, self._run))
        else:
            self._taught.add(script)
            self._send(awaited, packed(request, whole=True))

    def _say_unheard(self, at: float) -> None:
        """Tell the node first which owners have left that it may still vote for."""
        if self._greeted and self._unheard and not self._shut:
            for noted, request in self._unheard.take(at):
                if self._socket is None:  # it has failed just now
                    self._unheard.note(request, noted)
                else:
                    self._send_call(AwaitedReply(request, at, noted), request)

    def retract(self, awaited: AwaitedReply) -> bool:
        """Do not send a call that has not been sent yet; False when it has."""
        if awaited not in self._unsent:
            return False
        self._unsent.remove(awaited)
        return True

    def _why_not(self) -> StoreError:
        if self._socket is not None:
            return not_sent(TimeoutError(), self.label)
        failure = self._failure
        return type(failure)(str(failure), self.label, failure.final)  # each may get notes

    def _check_age(self, at: float) -> None:
        """Leave a node that has been silent for too long."""
        oldest = self._sent[0].since if self._sent else at
        opening = self._socket is not None and not self._greeted
        if at - oldest > self._node.settings.timeout or (
            opening and at - self._opened_at > self._node.settings.connect_timeout
        ):
            self._fail(TimeoutError("timed out"))

    def _send(self, awaited: AwaitedReply, data: bytes) -> None:
        self._sent.append(awaited)
        self._out += data
        self._flush()

    def _flush(self) -> None:
        if self._node.fork.raised:
            # A child that returns into a call of its parent must not repeat the question.
            self._fail(ConnectionError("it belongs to the parent process"))
            return
        try:
            while self._out and self._socket is not None:
                del self._out[: self._socket.send(self._out)]
        except WOULD_BLOCK:
            return
        except OSError as cause:
            self._fail(cause)

    # --- what the socket waits for -------------------------------------------------------------

    @property
    def waits_for(self) -> tuple[int, int] | None:
        """The descriptor, and for which events to wait; None when there is none."""
        if self._socket is None:
            return None
        if self._opening is not None:
            return self._socket.fileno(), self._opening.awaits
        return self._socket.fileno(), select.POLLIN | (select.POLLOUT if self._out else 0)

    def go_on(self) -> None:
        """Do what can be done now: the descriptor is ready for it."""
        try:
            if self._opening is not None:
                self._go_on_opening(self._opening)
            elif self._socket is not None:
                self._flush()
                self._read()
        except OSError as cause:
            self._fail(cause)

    def _read(self) -> None:
        sock, data = self._socket, b""
        try:
            while sock is not None and sock is self._socket:
                if not (data := sock.recv(CHUNK)):
                    raise ConnectionError("the server closed the connection")
                self._reader.feed(data)
                while sock is self._socket and (reply := self._reader.gets()) is not INCOMPLETE:
                    self._hear(reply)
                if len(data) < CHUNK and not self._secured:
                    return  # there was no more, and a poll tells when there is
        except WOULD_BLOCK:
            return
        except hiredis.ProtocolError:
            self._end(foreign(data, self.label, self._greeted, self._greeted))
        except OSError as cause:
            self._fail(cause)

    def _hear(self, reply: Any) -> None:
        awaited, self.heard_at = self._sent.popleft(), now()
        if awaited.request is None:
            self._greet(reply)
        elif not isinstance(reply, hiredis.ReplyError):
            awaited.reply, awaited.came_at = reply, self.heard_at
            self._run = self._run or run_told(awaited.request, reply)
        elif is_noscript(str(reply)):
            # An operator has made the server forget it.  Nothing was executed.
            self._send(awaited, packed(awaited.request, whole=True))
        else:
            awaited.reply = from_reply(str(reply), awaited.request.keys, self.label)

    # --- opening -------------------------------------------------------------------------------

    def _open(self, at: float) -> None:
        self._opened_at, self._reader = at, new_reader()
        self._opening = PolledOpening(self._node.settings, self._node.lookup, at)
        try:
            self._go_on_opening(self._opening)
        except OSError as cause:
            self._fail(cause)

    def _go_on_opening(self, opening: PolledOpening) -> None:
        try:
            is_open = opening.go_on()
        finally:
            self._socket = opening.sock
        if is_open:
            self._opening = None
            self._begin_greeting()

    def _begin_greeting(self) -> None:
        for words in greetings(self._node.settings):
            self._sent.append(AwaitedReply(None, self._opened_at))
            self._out += command(*words)
        if self._sent:
            self._flush()
        else:
            self._greet("OK")

    def _greet(self, reply: Any) -> None:
        """A part of the handshake was answered; after the last one calls may be sent."""
        if isinstance(reply, hiredis.ReplyError):
            self._end(refused(str(reply), self.label))
        elif not any(awaited.request is None for awaited in self._sent):
            self._greeted, self._failures = True, 0
            self._say_unheard(now())
            while self._unsent:
                awaited = self._unsent.popleft()
                if awaited.request is not None:
                    self._send_call(awaited, awaited.request)

    # --- the end -------------------------------------------------------------------------------

    @property
    def greeted(self) -> bool:
        """Whether calls can be sent at once."""
        return self._greeted

    def speak_out(self, at: float) -> None:
        """Say, before the end, which owners have left that the node may still vote for."""
        if self._socket is None and self._unheard.due:
            self._open(at)
        if self._greeted:
            self._read()
        self._say_unheard(at)

    def worth_until(self, limit: float, silent: float) -> float:
        """Until when it is worth waiting before the end: until what the node has to hear is sent,
        but not beyond the limit, and answered, unless it has been silent for so many seconds."""
        if self._socket is None or not self._unheard.reached:
            return 0.0
        if self._out or self._unheard or any(awaited.leaves for awaited in self._unsent):
            return limit
        return min(limit, self._sent[0].since + silent) if self._greeted and self._sent else 0.0

    def _fail(self, cause: OSError) -> None:
        """Nothing more will come: what was sent is unknown, what was not was never executed."""
        if isinstance(cause, ssl.SSLCertVerificationError):
            words = f"the certificate of {self.label} is not trusted: {cause.verify_message}"
            self._end(StoreMisconfigured(words, self.label))
            return
        self._end(not_sent(cause, self.label), not_answered(cause, self.label))

    def _end(self, failure: StoreError, unanswered: StoreError | None = None) -> None:
        shortest, longest = PAUSES
        if self._sent or self._unsent:  # else it has ended while it was idle
            self._retry_at = now() + min(shortest * 2**self._failures, longest)
        self._failures, self._failure = min(self._failures + 1, 16), failure
        for awaited in self._sent:
            awaited.reply = unanswered or failure
        for awaited in self._unsent:
            awaited.reply = failure
        self.close()

    def close(self) -> None:
        """Close it; a reply that is still on its way is no other call's."""
        if self._socket is not None:
            self._socket.close()
        self._socket = self._opening = None
        self._greeted = self._shut = False
        for awaited in (*self._sent, *self._unsent):
            self._unheard.note(awaited.request, awaited.unheard_at or now())
        self._sent.clear()
        self._unsent.clear()
        self._out.clear()
        self._taught.clear()
        self._run = b""

    def __del__(self) -> None:
        """A Ctrl-C may have struck where only a local variable had it."""
        if self._socket is not None:
            self._socket.close()

    def shut_down(self) -> None:
        """End it while another thread uses it, which then closes it."""
        self._shut, sock = True, self._socket
        if sock is not None:
            end_socket(sock)

    def abandon(self) -> None:
        """In a forked child: leave the socket to the parent, without a word.

        The descriptor stays taken, or the next file that is opened would be asked in its stead.
        """
        if self._socket is not None:
            abandon_socket(self._socket)
