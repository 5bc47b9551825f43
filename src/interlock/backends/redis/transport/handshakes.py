"""Opening connections by way of redis-py (TCP, TLS, unix, HELLO, AUTH, SELECT).

Below its commands redis-py is a handshake and a socket.  A link takes the socket of a
connection that redis-py has opened and exchanges packed commands on it; that is several
times as fast as going through its command layer, and keeps retries where the outcome is
known.  What is private to redis-py is in `openings`.
"""

from __future__ import annotations

import asyncio

# Looking up a host imports this when it is first needed.  A fork in that very moment, by
# another thread, would leave its import lock held for ever in the child.
import encodings.idna  # noqa: F401
import math
import socket
import ssl
from types import TracebackType
from typing import Any, Protocol

from ....drive import now
from ....errors import InterlockError, StoreMisconfigured
from ..confirmation import (
    ALL,
    Confirmation,
    Replicas,
    Witness,
    are_counted,
    confirmation_of,
    replicas_shown,
)
from ..errors import foreign, not_sent, turned_away
from ..url import RedisSettings
from .lookups import Lookup

#: Seconds after which the replicas of a server are counted again, where more may come.
RECOUNT = 5.0


class PrimaryFinder(Protocol):
    """What knows, and asks, which server is the primary: see `sentinels.Sentinels`."""

    #: How often another server became it.
    moves: int

    def is_due(self) -> bool: ...
    def suspect(self) -> None: ...
    def find(self, until: float) -> None: ...
    async def find_async(self, until: float) -> None: ...
    def check(self, until: float) -> None: ...
    async def check_async(self, until: float) -> None: ...


class ConnectionFactory(Protocol):
    """How to open connections to one server, or to the primary of several."""

    label: str
    timeout: float
    connect_timeout: float
    #: 2 where wakes must have a connection of their own.
    protocol: int
    #: Whether a Redis server has ever answered there.
    reached: bool
    #: Whom to ask for the server before each connection; None where its address is known.
    finder: PrimaryFinder | None
    #: What looks up its name first, in time: redis-py does so without a limit.
    lookup: Lookup | None
    #: What a connection that never blocks is opened by; None where there can be none.
    settings: RedisSettings | None
    #: How many replicas must confirm what is written.
    replicas: Replicas
    #: What sees the replicas of the server besides itself; None where nothing does.
    witness: Witness | None
    #: Whether a replica is of use too: any node of a cluster tells its map.
    any_role: bool
    #: Grows when connections made before are of no use any more.
    generation: int

    def leave(self, generation: int) -> None:
        """The server is no primary any more: no connection of this generation is of use."""
        ...

    def blocking(self) -> Any: ...
    def asyncio(self) -> Any: ...


def moves_of(factory: ConnectionFactory) -> int:
    """How often another server became the primary, as far as is known."""
    return 0 if factory.finder is None else factory.finder.moves


def unobserved(suspended: bool) -> None:
    """What is called before a link is observed."""


def open_blocking(factory: ConnectionFactory, until: float) -> Any:
    """Open a blocking connection, with all that belongs to it, until then and no longer."""
    until = min(until, now() + factory.connect_timeout)
    if factory.finder is not None:
        factory.finder.find(until)
    generation = factory.generation  # before the address is read: it may change meanwhile
    connection = factory.blocking()
    connection.until, connection.generation = until, generation
    try:
        if factory.lookup is not None:
            factory.lookup.find(until)
        connection.connect()
        if _asks_role(factory):
            connection.send_command("ROLE")
            _admit(connection, connection.read_response(), factory)
    except Exception as cause:
        connection.disconnect()
        raise connecting_failed(cause, factory, connection) from cause
    except BaseException as interruption:
        connection.disconnect()
        _close_unowned(interruption.__traceback__)
        raise
    return connection


def _asks_role(factory: ConnectionFactory) -> bool:
    """Whether the server must be a primary, or decides how many replicas confirm."""
    return factory.finder is not None or are_counted(factory.replicas)


def _admit(connection: Any, role: Any, factory: ConnectionFactory) -> None:
    """Take a server that is a primary, or whatever else is of use."""
    connection.shown = replicas_shown(role, factory.label, factory.any_role)
    connection.recount_at = next_count(factory, connection.shown)


def next_count(factory: ConnectionFactory, shown: int) -> float:
    """When to count the replicas of a server again that has shown so many: after a failover they
    come back one by one."""
    few = factory.replicas == ALL or (factory.replicas is None and not shown)
    return now() + RECOUNT if few else math.inf


def to_confirm(factory: ConnectionFactory, shown: int) -> Confirmation:
    """What makes grants count on a connection whose server has shown so many replicas."""
    return confirmation_of(factory.label, factory.replicas, shown, factory.witness)


def doubt_replicas(factory: ConnectionFactory) -> float:
    """Too few replicas have confirmed: another server may be the primary by now, or they are
    down.  When to count them again."""
    if factory.finder is not None:
        factory.finder.suspect()
    return -math.inf if are_counted(factory.replicas) else math.inf


def _close_unowned(trace: TracebackType | None) -> None:
    """Where a Ctrl-C struck redis-py, a new socket may be nowhere but in its local variables."""
    while trace is not None:
        frame, trace = trace.tb_frame, trace.tb_next
        if frame.f_globals["__name__"].startswith(("redis.", "valkey.")):
            for each in frame.f_locals.values():
                if isinstance(each, socket.socket):
                    each.close()


async def open_asyncio(factory: ConnectionFactory) -> Any:
    """The same for asyncio, where all tasks share one connection, and so one limit."""
    connection: Any = None
    try:
        async with asyncio.timeout(factory.connect_timeout):
            if factory.finder is not None:
                await factory.finder.find_async(now() + factory.connect_timeout)
            generation = factory.generation
            connection = factory.asyncio()
            connection.generation = generation
            if factory.lookup is not None:
                await factory.lookup.find_async()
            await connection.connect()
            if _asks_role(factory):
                await connection.send_command("ROLE")
                _admit(connection, await connection.read_response(), factory)
    except BaseException as cause:
        if connection is not None:
            await connection.disconnect(nowait=True)
        if not isinstance(cause, Exception):
            raise
        raise connecting_failed(cause, factory, connection) from cause
    return connection


def is_raised(cause: BaseException, *names: str) -> bool:
    """Whether it is one of these errors of redis-py's, or of valkey-py's, which has the same."""
    return any(each.__name__ in names for each in type(cause).__mro__)


def connecting_failed(
    cause: BaseException, factory: ConnectionFactory, connection: Any
) -> InterlockError:
    """Why a connection could not be opened, in words."""
    label = factory.label
    if factory.finder is not None:
        factory.finder.suspect()  # it may be another one by now
    if isinstance(cause, InterlockError):
        return cause
    if is_raised(cause, "InvalidResponse"):
        return foreign(connection.last_read(), label, replied=False, reached=factory.reached)
    if is_raised(cause, "NoPermissionError") and "'role'" in str(cause):
        return StoreMisconfigured(f"{label} denies this user ROLE (see the ACL in docs)", label)
    if is_raised(cause, "AuthenticationError", "NoPermissionError"):
        return StoreMisconfigured(f"{label} {turned_away(str(cause))}", label)
    if is_raised(cause, "ResponseError"):
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
