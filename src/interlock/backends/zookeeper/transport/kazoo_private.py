"""Everything that is private to kazoo and that we use; no other file uses any of it.

Both loops need two parts, which kazoo's own public calls are made of:

- `KazooClient._call(request, result)`, which takes as a result whatever has `set(value)` and
  `set_exception(error)`, and calls them in the loop (kazoo's public calls change threads there);
- the requests of `kazoo.protocol.serialization`: `Create2`, `Delete`, `Exists`, `GetChildren`,
  `GetData`, `SetData` and `Sync`, with their fields, and `Create2.type`, as kazoo makes no
  containers.

The batching loop, `BatchingConnection`, needs more, and is done without where one differs:

- of `KazooClient`: `_connection`, which may be replaced before the start; `_queue` of
  `(request, result)` and `_pending` of `(request, result, xid)`, both deques; `_stopped`;
- of `ConnectionHandler` in `kazoo.protocol.connection`: what it is made with, `retry_sleeper`,
  `logger` and `sasl_options`; `start`, which calls the handler's `create_socket_pair` and spawns
  `zk_loop` by that name; the methods in `REPLACED`, their parameters and their callers;
- of the requests: `Auth.type`, `Connect.time_out` (of its answer as well) and `CloseInstance`.

`BASICS` and `BATCHING` say the same in code; `changed_parts` finds what differs in the kazoo that
is installed.
"""

from __future__ import annotations

import inspect
import math
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from kazoo.exceptions import ConnectionDropped
from kazoo.protocol import serialization

from ....drive import now
from .answers import SessionClock
from .requests import (
    CONTAINER,
    Children,
    Container,
    Create,
    Delete,
    Exists,
    Get,
    Put,
    ZkRequest,
)
from .sockets import HEAD, LENGTH, MOST

try:
    from kazoo.protocol.connection import ConnectionHandler
except ImportError:  # `changed_parts` says so
    ConnectionHandler = object

#: Numbers of messages that are not answers to requests; after the last number comes 1 again.
_PING, _AUTH, _LAST = -2, -4, 2**31 - 1

#: How often a session may be asked for within its length: a server that is just starting may
#: leave a greeting without an answer for ever.
GREETINGS = 4


# --- requests ------------------------------------------------------------------------------


class _CreateContainer(getattr(serialization, "Create2", object)):  # type: ignore[misc]
    """Like any create, but of another type."""

    type = 19


def as_kazoo(request: ZkRequest, acl: Any, watcher: Any) -> Any:
    """The request as kazoo sends it."""
    path = request.path
    if isinstance(request, Create):
        return serialization.Create2(path, request.data, acl, request.flags)
    if isinstance(request, Children):
        return serialization.GetChildren(path, watcher if request.topic else None)
    if isinstance(request, Delete):
        return serialization.Delete(path, request.version)
    if isinstance(request, Get):
        return serialization.GetData(path, watcher if request.topic else None)
    if isinstance(request, Exists):
        return serialization.Exists(path, watcher if request.topic else None)
    if isinstance(request, Put):
        return serialization.SetData(path, request.data, request.version)
    if isinstance(request, Container):
        return _CreateContainer(path, request.data, acl, CONTAINER)
    return serialization.Sync(path)


class Burst:
    """Requests that travel together: for kazoo they are one, and its result as well."""

    __slots__ = ("each",)

    def __init__(self) -> None:
        #: Each with the object that hears its answer.
        self.each: list[tuple[Any, Any]] = []

    def set_exception(self, error: BaseException) -> None:
        """None of them was sent."""
        for _, result in self.each:
            result.set_exception(error)


def call_each(client: Any, burst: Burst) -> None:
    """Hand requests to kazoo's own loop, one by one."""
    for request, result in burst.each:
        client._call(request, result)


# --- the batching loop ---------------------------------------------------------------------


class BatchingConnection(ConnectionHandler):  # type: ignore[misc]
    """The connection of a kazoo client; it sends at once all that was asked, and reads at once
    all that came.

    Kazoo wakes up for every request and every answer, each time asks a new epoll which socket is
    ready, and again before it reads or writes; that is more work than all the rest of a lock.
    The session's clock hears of what was answered, and how long a session lasts, which kazoo
    keeps to itself.
    """

    def __init__(self, client: Any, clock: SessionClock) -> None:
        before = client._connection
        super().__init__(client, before.retry_sleeper, before.logger, before.sasl_options)
        client._connection, client.handler.batching = self, True
        self._clock, self._number, self._closing = clock, 0, False
        #: When the last whole message came; and when each ping was sent that was not answered.
        self._heard, self._pings = now(), deque[float]()
        #: Until when what is asked while connecting must be answered.
        self._answer_by = math.inf

    def run(self, closing: Callable[[], bool]) -> None:
        """Start kazoo, which leaves its loop to this thread, and run it."""
        self.handler.leaves_loop = True
        self.client.start_async()
        if closing():
            self.client._stopped.set()
        self.handler.loop()

    def submit(self, burst: Burst) -> None:
        """Hand a burst to the loop.

        Not by kazoo's `_call`, which takes a Ctrl-C in there for a connection that is closed.
        """
        self.client._queue.append((burst, burst))
        self._wake()

    def request_close(self) -> None:
        """Let the loop end the session, and itself; nothing is waited for."""
        self._closing = True
        self.client._queue.append((serialization.CloseInstance, None))
        if not self.client.connected:
            self.client._stopped.set()
        with suppress(OSError):  # it has gone already
            self._wake()

    def _wake(self) -> None:
        """There is something in the queue; before its start the loop needs no waking."""
        waker = self.handler.waker
        if waker is not None:
            waker.send(b"\0")

    # --- connecting ---------------------------------------------------------------------

    def _expand_client_hosts(self) -> Any:
        """The addresses of the servers; kazoo says of those without one only in its log."""
        found = super()._expand_client_hosts()
        known = {host for host, _, _ in found}
        for host, port in self.client.hosts:
            if host.strip() not in known:
                self.handler.unknown(host.strip(), port)
        return found

    def _connect_attempt(self, host: str, hostip: str, port: int, retry: Any) -> Any:
        """Try one server, and talk to it until the connection or the session ends.

        Kazoo is stopped behind that, and not before: the loop of kazoo 2.10 would leave as soon
        as it is told so, without the farewell that ends the session.
        """
        self._pings.clear()
        self._number, self.handler.hostname = 0, host
        try:
            return super()._connect_attempt(host, hostip, port, retry)
        finally:
            if self._closing:
                self.client._stopped.set()

    def _submit(self, request: Any, timeout: float, xid: int | None = None) -> None:
        self._answer_by = now() + timeout
        super()._submit(request, timeout, xid)

    def _invoke(self, timeout: float, request: Any, xid: int | None = None) -> Any:
        if not isinstance(request, serialization.Connect):
            return super()._invoke(timeout, request, xid)
        sent, soon = now(), request.time_out / 1000 / GREETINGS
        result: Any = super()._invoke(min(timeout, soon), request, xid)
        self._heard = now()
        if result[0].time_out > 0:
            self._clock.greeted(sent, result[0].time_out / 1000)
        return result

    # --- sending ------------------------------------------------------------------------

    def _send_ping(self, connect_timeout: float) -> None:
        """A sender that was interrupted before it woke the loop is served now."""
        self._pings.append(now())
        super()._send_ping(connect_timeout)
        self._send_all(connect_timeout)

    def _send_request(self, read_timeout: float, connect_timeout: float) -> None:
        """Send all that is in the queue; a byte in the socket only says that there is some."""
        self.handler.wake_reader.recv(MOST)
        self.handler.waker.awake()
        self._send_all(connect_timeout)

    def _send_all(self, connect_timeout: float) -> None:
        queue, message = self.client._queue, bytearray()
        while queue:
            request, result = queue.popleft()
            burst = request.each if isinstance(request, Burst) else [(request, result)]
            for one in burst:
                message += self._framed(*one)
        if message:
            self._write(message, connect_timeout)

    def _framed(self, request: Any, result: Any) -> bytes:
        """A request as it is sent; from now on an answer is expected."""
        xid, body = self._next_number(request), request.serialize()
        self.client._pending.append((request, result, xid))
        return b"".join((LENGTH.pack(len(body) + HEAD.size), HEAD.pack(xid, request.type), body))

    def _next_number(self, request: Any) -> int:
        if request.type == serialization.Auth.type:
            return _AUTH
        self._number = self._number % _LAST + 1
        return self._number

    def _write(self, msg: bytes | bytearray, timeout: float) -> None:
        self.handler.stream.send(msg, now() + timeout)

    # --- reading ------------------------------------------------------------------------

    def _read_socket(self, read_timeout: float) -> Any:
        """Take every answer that has come, for nothing wakes the loop for those that were read.

        Half a message waits for the rest while the loop goes on: it has heartbeats to send.
        """
        stream, response = self.handler.stream, None
        stream.receive()
        while response is None and (xid := stream.next_xid()) is not None:
            response = super()._read_socket(read_timeout)
            self._hear(xid)
        if now() - self._heard > read_timeout:
            raise ConnectionDropped("the server sent no whole answer for too long")
        return response

    def _hear(self, xid: int) -> None:
        """A message was heard as a whole; pings are answered in their order."""
        self._heard = now()
        if xid == _PING and self._pings:
            self._clock.answered(self._pings.popleft(), self._heard)

    def _read(self, length: int, timeout: float) -> bytes:
        """The next bytes; while connecting they are waited for, and the time counts from the
        question, however they drip in."""
        taken: bytes = self.handler.stream.take(length, self._answer_by)
        return taken


# --- what this kazoo has of it -------------------------------------------------------------

#: The methods that `BatchingConnection` replaces, each with one that calls it.
REPLACED = {
    "_connect_attempt": "_connect_loop",
    "_expand_client_hosts": "_connect_loop",
    "_invoke": "_connect",
    "_read": "_read_header",
    "_read_socket": "_connect_attempt",
    "_send_ping": "_connect_attempt",
    "_send_request": "_connect_attempt",
    "_submit": "_invoke",
    "_write": "_submit",
}

_FIELDS = {
    "Create2": ("path", "data", "acl", "flags"),
    "Delete": ("path", "version"),
    "Exists": ("path", "watcher"),
    "GetChildren": ("path", "watcher"),
    "GetData": ("path", "watcher"),
    "SetData": ("path", "data", "version"),
    "Sync": ("path",),
}


def _has_fields(name: str, fields: tuple[str, ...], client: Any) -> bool:
    request = getattr(serialization, name)
    return request._fields == fields and isinstance(request.type, int)


def _has_parameters(function: Any, *names: str) -> bool:
    return [*inspect.signature(function).parameters] == [*names]


def _is_replaceable(name: str, caller: str, client: Any) -> bool:
    """Whether a method is called in the same way as ours, where we expect it to be called."""
    theirs, ours = getattr(ConnectionHandler, name), getattr(BatchingConnection, name)
    return (
        _has_parameters(theirs, *inspect.signature(ours).parameters)
        and name in getattr(ConnectionHandler, caller).__code__.co_names
    )


def _is_connection(client: Any) -> bool:
    facts = ("retry_sleeper", "logger", "sasl_options")
    return (
        type(client._connection) is ConnectionHandler
        and all(hasattr(client._connection, fact) for fact in facts)
        and _has_parameters(ConnectionHandler, "client", *facts)
    )


def _starts_loop(client: Any) -> bool:
    """Whether the start makes a pair of sockets, and spawns the loop by its name."""
    expected = {"create_socket_pair", "spawn", "zk_loop"}
    return expected <= {*type(client._connection).start.__code__.co_names}


#: What both loops need, and what the batching one needs as well: whether a client has each.
BASICS: dict[str, Callable[[Any], bool]] = {
    "KazooClient._call": lambda client: _has_parameters(client._call, "request", "async_object"),
    **{f"serialization.{each}": partial(_has_fields, each, _FIELDS[each]) for each in _FIELDS},
}
BATCHING: dict[str, Callable[[Any], bool]] = {
    "KazooClient._connection": _is_connection,
    "KazooClient._pending": lambda client: type(client._pending) is deque,
    "KazooClient._queue": lambda client: type(client._queue) is deque,
    "KazooClient._stopped": lambda client: callable(client._stopped.set),
    "ConnectionHandler.start": _starts_loop,
    **{
        f"ConnectionHandler.{each}": partial(_is_replaceable, each, caller)
        for each, caller in REPLACED.items()
    },
    "serialization.Auth": lambda client: isinstance(serialization.Auth.type, int),
    "serialization.CloseInstance": lambda client: callable(serialization.CloseInstance.serialize),
    "serialization.Connect": lambda client: "time_out" in serialization.Connect._fields,
}


def changed_parts(client: Any, parts: dict[str, Callable[[Any], bool]]) -> list[str]:
    """Those of the parts that are missing, or of another shape, in a client not yet started."""
    return [name for name, expected in parts.items() if not _is_met(expected, client)]


def _is_met(expected: Callable[[Any], bool], client: Any) -> bool:
    try:
        return expected(client)
    except (AttributeError, TypeError, ValueError):
        return False
