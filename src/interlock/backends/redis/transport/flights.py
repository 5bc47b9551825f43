"""Calls of a blocking client that are sent, and whose replies are read apart.

They have connections of their own, which never block, not even while they are opened: a server
that hangs holds up no other one that the same thread has asked.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from ....drive import now
from ....errors import OutcomeUnknown, StoreUnavailable, closed, forked
from ....steps import Call, Reply
from ..errors import not_answered
from ..url import RedisSettings
from .awaited import AwaitedReply
from .known_node import ForkFlag, KnownNode
from .node_connection import NodeConnection
from .unheard import Unheard
from .weak_registry import WeakRegistry

#: Idle connections that are kept; threads beyond that open and close their own.
KEPT = 16


class NodeFlight:
    """Calls that were sent to one server: see `parking.PolledFlight`."""

    def __init__(
        self, flights: Flights, connection: NodeConnection, requests: Sequence[Call], at: float
    ) -> None:
        self._flights, self._connection, self._over = flights, connection, False
        self.until = min(at + flights.timeout, *(request.until for request in requests))
        self._awaited = [connection.ask(request, at) for request in requests]

    @property
    def replies(self) -> list[Reply] | Exception | None:
        replies = [each.reply for each in self._awaited]
        if None in replies and now() < self.until:
            return None
        self._end()
        if self._flights.fork.raised:
            return forked(self._connection.label)
        return [self._reply(each) for each in self._awaited]

    def _reply(self, awaited: AwaitedReply) -> Reply:
        if awaited.reply is None:
            return not_answered("timed out", self._connection.label)
        return awaited.reply

    def leave(self) -> Exception:
        label = self._connection.label
        unsent = [self._connection.retract(each) for each in self._awaited if each.reply is None]
        self._end()
        if all(unsent):
            return StoreUnavailable(
                f"{label} has not been asked yet, and is slow to answer", label
            )
        return OutcomeUnknown(f"the answer of {label} was not awaited", label)

    @property
    def waits_for(self) -> tuple[int, int] | None:
        return self._connection.waits_for

    def go_on(self) -> None:
        self._connection.go_on()

    def _end(self) -> None:
        """Others may use the connection: a reply that is still to come keeps its place there."""
        if not self._over:
            self._over = True
            self._flights.give_back(self._connection)


class Flights:
    """The connections of one link for what is sent and read apart."""

    def __init__(self, settings: RedisSettings) -> None:
        self._settings, self.timeout = settings, settings.timeout
        self._closed, self.fork = False, ForkFlag()
        # Nothing has to be said again: the keeper withdraws what was not answered.
        self._node = KnownNode(settings, self.fork, Unheard(0))
        self._idle: deque[NodeConnection] = deque()
        #: All connections, also those on which a question is under way.
        self._connections: WeakRegistry[NodeConnection] = WeakRegistry()

    def begin(self, requests: tuple[Call, ...]) -> NodeFlight:
        if self._closed:
            raise (forked if self.fork.raised else closed)(self._settings.label)
        return NodeFlight(self, self._borrow(), requests, now())

    def _borrow(self) -> NodeConnection:
        try:
            return self._idle.pop()
        except IndexError:
            connection = NodeConnection(self._node)
            self._connections.add(connection)
            return connection

    def give_back(self, connection: NodeConnection) -> None:
        if len(self._idle) < KEPT and not self._closed:
            self._idle.append(connection)
        else:
            connection.close()

    def after_fork(self) -> None:
        # The sockets are the parent's as well; they are left to it, untouched.
        inherited.append((self._idle, self._connections))
        self._idle, self._closed, self.fork.raised = deque(), True, True
        for connection in self._connections.every():
            connection.abandon()

    def close(self) -> None:
        self._closed = True
        while self._idle:
            try:
                self._idle.pop().close()
            except IndexError:
                break  # another thread was quicker
        for connection in self._connections.every():  # a question that is under way ends now
            connection.shut_down()


#: What forked children must neither use nor close.
inherited: list[object] = []
