"""The blocking link: a small pool of connections for calls, and one for wakes."""

from __future__ import annotations

import weakref
from collections import deque
from typing import Any

import hiredis

from ...errors import StoreError, closed, forked
from ...parking import ThreadWakes, pause_thread
from ...spi import Quiet
from ...steps import Call, Reply, Wakes
from .errors import foreign, from_reply, is_noscript, not_answered
from .transport.connection import BlockingConnection, NotRedis, close_all
from .transport.handshakes import ConnectionFactory
from .transport.protocol import ASKING, Sharded, never, packed
from .transport.subscriber import Subscriber, Subscription

#: Idle connections that are kept; threads beyond that open and close their own.
KEPT = 16


class RedisLink(Quiet):
    """See `spi.Link`."""

    ordered = False

    def __init__(self, factory: ConnectionFactory, sharded: Sharded = never) -> None:
        self._factory = factory
        self._closed = self._forked = False
        self._idle: deque[BlockingConnection] = deque()
        #: Every connection, also those on which a question is under way.
        self._connections: weakref.WeakSet[BlockingConnection] = weakref.WeakSet()
        self._subscriber = Subscriber(self._connect, self._factory.label, sharded)

    def call(self, request: Call) -> Reply:
        connection = self._borrow(request.until)
        try:
            reply = connection.ask(packed(request))
            if isinstance(reply, hiredis.ReplyError):
                reply = self._refused(connection, request, reply)
        except OSError as cause:
            raise self._unanswered(connection, cause) from cause
        except BaseException:
            connection.close()  # its reply may still come, and is no other call's
            raise
        self._give_back(connection)
        if isinstance(reply, StoreError):
            raise reply
        return reply

    def together(self, requests: tuple[Call, ...]) -> list[Reply]:
        return self.replies(self.send(requests), requests)

    def send(self, requests: tuple[Call, ...]) -> BlockingConnection:
        """Send calls together; their replies are read apart, on the connection."""
        connection = self._borrow(min(request.until for request in requests))
        try:
            connection.send(b"".join(packed(request) for request in requests))
        except OSError as cause:
            raise self._unanswered(connection, cause) from cause
        except BaseException:
            connection.close()
            raise
        return connection

    def replies(self, connection: BlockingConnection, requests: tuple[Call, ...]) -> list[Reply]:
        """Read the replies to what was sent together."""
        try:
            replies = [connection.read() for _ in requests]
            self._teach(connection, requests, replies)
            for i, reply in enumerate(replies):
                if isinstance(reply, hiredis.ReplyError):
                    replies[i] = self._refused(connection, requests[i], reply)
        except OSError as cause:
            raise self._unanswered(connection, cause) from cause
        except BaseException:
            connection.close()  # its replies may still come, and are no other call's
            raise
        self._give_back(connection)
        return replies

    def ask_anyway(self, request: Call) -> Reply:
        """Ask a node of a cluster for a slot that is just moving there.

        The script's text goes along: a node that does not know it would forget the permission.
        """
        connection = self._borrow(request.until)
        try:
            connection.send(ASKING + packed(request, whole=True))
            connection.read()
            reply = connection.read()
        except OSError as cause:
            raise self._unanswered(connection, cause) from cause
        except BaseException:
            connection.close()  # its replies may still come, and are no other call's
            raise
        self._give_back(connection)
        if isinstance(reply, hiredis.ReplyError):
            raise from_reply(str(reply), request.keys, self._factory.label)
        return reply

    def _teach(
        self, connection: BlockingConnection, requests: tuple[Call, ...], replies: list[Reply]
    ) -> None:
        """Ask once more, all together, what the server has not the scripts for: nothing of it was
        executed, and the text of each script is sent once."""
        unknown = [i for i, reply in enumerate(replies) if _is_unknown(reply)]
        if not unknown:
            return
        taught: set[Any] = set()
        message = bytearray()
        for i in unknown:
            script = requests[i].operation
            message += packed(requests[i], whole=script not in taught)
            taught.add(script)
        connection.send(bytes(message))
        for i in unknown:
            replies[i] = connection.read()

    def _unanswered(self, connection: BlockingConnection, cause: OSError) -> StoreError:
        """Close a connection that failed: a late reply must not be taken for another's."""
        connection.close()
        if self._forked:
            return forked(self._factory.label)
        if isinstance(cause, ConnectionError):
            close_all(self._idle)  # they have ended with it
        if isinstance(cause, NotRedis):
            label, reached = self._factory.label, self._factory.reached
            return foreign(cause.data, label, connection.replied, reached)
        return not_answered(cause, self._factory.label)

    def _refused(self, connection: BlockingConnection, request: Call, error: Any) -> Reply:
        connection.replied = True
        if is_noscript(str(error)):
            # Nothing was executed; the whole text teaches the server the script.
            connection.prepare(request.until)
            error = connection.ask(packed(request, whole=True))
            if not isinstance(error, hiredis.ReplyError):
                return error
        return from_reply(str(error), request.keys, self._factory.label)

    def _borrow(self, until: float) -> BlockingConnection:
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:
                break  # another thread was quicker
            if connection.prepare(until):
                return connection
            connection.close()
        connection = self._connect(until)
        connection.prepare(until)
        return connection

    def _connect(self, until: float) -> BlockingConnection:
        if self._closed:
            raise (forked if self._forked else closed)(self._factory.label)
        connection = BlockingConnection(self._factory, until)
        self._connections.add(connection)
        if self._forked:  # while it was opened
            connection.close()
            raise forked(self._factory.label)
        return connection

    def _give_back(self, connection: BlockingConnection) -> None:
        connection.replied = self._factory.reached = True
        if len(self._idle) < KEPT and not self._closed:
            self._idle.append(connection)
        else:
            connection.close()

    def listen(self, topics: tuple[Any, ...], until: float) -> Wakes:
        return self._subscriber.listen(topics, until)

    def park(self, wakes: Wakes | None, until: float) -> bool:
        if isinstance(wakes, Subscription):
            return self._subscriber.park(wakes, until)
        if isinstance(wakes, ThreadWakes):
            return wakes.wait(until)
        return pause_thread(until)

    def local(self) -> Wakes:
        return ThreadWakes()

    def engaged(self) -> bool:
        return self._subscriber.engaged()

    def after_fork(self) -> None:
        # The sockets are the parent's as well; they are left to it, untouched.
        inherited.append((self._idle, self._subscriber, self._connections))
        self._idle, self._closed, self._forked = deque(), True, True
        for connection in list(self._connections):
            connection.abandon()

    def close(self) -> None:
        self._closed = True
        close_all(self._idle)
        self._subscriber.close()
        for connection in list(self._connections):  # a question that is under way ends now
            connection.shut_down()


def _is_unknown(reply: Reply) -> bool:
    return isinstance(reply, hiredis.ReplyError) and is_noscript(str(reply))


#: What forked children must neither use nor close.
inherited: list[Any] = []
