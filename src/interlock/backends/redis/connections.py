"""Connections: redis-py opens them (TCP, TLS, unix, HELLO, AUTH, SELECT), then we speak.

Below its commands redis-py is a handshake and a socket.  A link takes the socket of a
connection that redis-py has opened and exchanges packed commands on it; that is several
times as fast as going through its command layer, and keeps retries where the outcome is
known.  The private attributes that this needs are named here and nowhere else.
"""

from __future__ import annotations

import asyncio

# Looking up a host imports this when it is first needed.  A fork in that very moment, by
# another thread, would leave its import lock held for ever in the child.
import encodings.idna  # noqa: F401
import inspect
import socket
import ssl
from collections.abc import Callable
from typing import Any, Protocol

import hiredis
from redis import asyncio as redis_asyncio
from redis import connection as redis_connection
from redis import exceptions
from redis.asyncio import connection as redis_asyncio_connection
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.retry import Retry

from ...errors import InterlockError, StoreMisconfigured, UsageError
from ...steps import Call
from .replies import not_sent
from .settings import Settings, connection_options, credentials

BLOCKING = {
    "tcp": redis_connection.Connection,
    "tls": redis_connection.SSLConnection,
    "unix": redis_connection.UnixDomainSocketConnection,
}
ASYNCIO = {
    "tcp": redis_asyncio_connection.Connection,
    "tls": redis_asyncio_connection.SSLConnection,
    "unix": redis_asyncio_connection.UnixDomainSocketConnection,
}

_pack: Callable[[tuple[Any, ...]], bytes] = hiredis.pack_command

#: What a reader answers while a reply is incomplete.
INCOMPLETE: Any = object()


class Door(Protocol):
    """How to open connections to one server."""

    label: str
    timeout: float
    connect_timeout: float
    #: 2 where wakes must have a connection of their own.
    protocol: int

    def blocking(self) -> Any: ...
    def asyncio(self) -> Any: ...


class SettingsDoor:
    """Connections as a URL describes them."""

    def __init__(self, settings: Settings) -> None:
        self.label, self.timeout = settings.label, settings.timeout
        self.connect_timeout = settings.connect_timeout
        self.protocol = settings.protocol or 3
        self._settings, self._options = settings, connection_options(settings)

    def blocking(self) -> Any:
        return _quiet(BLOCKING[self._settings.transport], self._with(protocol=2), Retry)

    def asyncio(self) -> Any:
        options = self._with(protocol=self.protocol)
        return _quiet(ASYNCIO[self._settings.transport], options, AsyncRetry)

    def _with(self, protocol: int) -> dict[str, Any]:
        return {**self._options, **credentials(self._settings), "protocol": protocol}


class BorrowedDoor:
    """Connections like those of a redis-py client that the user brought along."""

    def __init__(self, client: Any) -> None:
        pool = client.connection_pool
        self._class, self._options = pool.connection_class, dict(pool.connection_kwargs)
        self.timeout = self._options.get("socket_timeout") or 5.0
        self.connect_timeout = self._options.get("socket_connect_timeout") or self.timeout
        self.protocol = int(self._options.get("protocol") or 2)
        where = self._options.get("path") or (
            f"{self._options.get('host', 'localhost')}:{self._options.get('port', 6379)}"
        )
        self.label = f"redis://{where}/{self._options.get('db', 0)}"
        self._asyncio = isinstance(client, redis_asyncio.Redis)

    def blocking(self) -> Any:
        if self._asyncio:
            raise UsageError("this is an asyncio client: use interlock.aio.connect(client)")
        return _quiet(self._class, {**self._options, "protocol": 2}, Retry)

    def asyncio(self) -> Any:
        if not self._asyncio:
            raise UsageError("this is a blocking client: use interlock.connect(client)")
        return _quiet(self._class, self._options, AsyncRetry)


def _quiet(connection_class: Any, options: dict[str, Any], retry: Any) -> Any:
    """A connection that neither retries by itself nor says more than it must."""
    options = {**options, "retry": retry(NoBackoff(), 0)}
    known = inspect.signature(redis_connection.AbstractConnection.__init__).parameters
    silent = ("driver_info",) if "driver_info" in known else ("lib_name", "lib_version")
    options.update(dict.fromkeys(silent))
    return connection_class(**options)


def socket_of(connection: Any) -> socket.socket:
    """The socket of a blocking connection that has been opened."""
    sock: socket.socket = connection._sock
    return sock


def transport_of(connection: Any) -> asyncio.Transport:
    """The transport of an asyncio connection that has been opened."""
    transport: asyncio.Transport = connection._writer.transport
    return transport


def retire(connection: Any) -> None:
    """Let go of an asyncio connection whose transport has ended, without a warning."""
    if connection is not None:
        connection._reader = connection._writer = None


def new_reader() -> Any:
    return hiredis.Reader(notEnoughData=INCOMPLETE)


def packed(request: Call, whole: bool = False) -> bytes:
    """The bytes of a call; `whole` sends the script's text in place of its SHA-1."""
    script, keys, args = request.operation, request.keys, request.args
    verb, body = ("EVAL", script.text) if whole else ("EVALSHA", script.sha)
    return _pack((verb, body, len(keys), *keys, *args))


def command(*words: str) -> bytes:
    return _pack(words)


def connecting_failed(cause: BaseException, label: str) -> InterlockError:
    """Why a connection could not be opened, in words."""
    if isinstance(cause, InterlockError):
        return cause
    if isinstance(cause, (exceptions.AuthenticationError, exceptions.NoPermissionError)):
        return StoreMisconfigured(f"{label} refused the user name or password", label)
    if isinstance(cause, exceptions.ResponseError):
        # A server that does not know AUTH or HELLO quotes what followed: the password.
        cause.args = (str(cause).partition(", with args")[0],)
        return StoreMisconfigured(f"{label} refused the connection: {cause}", label)
    if (distrust := _distrust(cause)) is not None:
        return StoreMisconfigured(f"the certificate of {label} is not trusted: {distrust}", label)
    return not_sent(cause, label)


def _distrust(cause: BaseException | None) -> str | None:
    """Why a certificate was refused, if that is at the bottom of an error."""
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return cause.verify_message
        cause = cause.__cause__ or cause.__context__
    return None
