"""The blocking link: a small pool of connections for calls, and one for wakes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import hiredis

from ...drive import now
from ...errors import StoreError, closed, forked
from ...parking import ThreadParking
from ...spi import Quiet
from ...steps import Call, Flight, Reply, Wakes
from .confirmation import needs_confirmation
from .errors import foreign, from_reply, is_noscript, not_answered, not_sent
from .topology import is_demoted
from .transport.connection import BlockingConnection, NotRedis, close_all
from .transport.flights import Flights
from .transport.handshakes import ConnectionFactory, moves_of, unobserved
from .transport.protocol import ASKING, Sharded, command, never, packed
from .transport.recent_releases import RecentReleases
from .transport.subscriber import Subscriber, Subscription
from .transport.weak_registry import WeakRegistry

#: Idle connections that are kept; threads beyond that open and close their own.
KEPT = 16

#: Seconds that a call waits at most for the Sentinels to say whether the primary is the same.
CHECK_PATIENCE = 0.3


class RedisLink(ThreadParking, Quiet):
    """See `spi.Link`."""

    ordered = False

    def __init__(self, factory: ConnectionFactory, sharded: Sharded = never) -> None:
        self._factory, self._generation = factory, factory.generation
        self._moves = moves_of(factory)
        self._observer: Callable[[bool], None] = unobserved
        #: Where another server may become the primary: what it has to be told, and the
        #: generation of the connections to the last one that was.
        self._releases = None if factory.finder is None else RecentReleases()
        self._told = factory.generation
        self._closed = self._forked = False
        self._idle: deque[BlockingConnection] = deque()
        #: Every connection, also those on which a question is under way.
        self._connections: WeakRegistry[BlockingConnection] = WeakRegistry()
        self._subscriber = Subscriber(self._connect, self._factory.label, sharded)
        known = factory.settings
        #: For calls that are sent beside those of other clients; None where they cannot be.
        self._flights = None if known is None else Flights(known)

    def call(self, request: Call) -> Reply:
        connection = self._borrow(request.until)
        try:
            reply = connection.ask(packed(request))
            if isinstance(reply, hiredis.ReplyError):
                reply = self._refused(connection, request, reply)
            if connection.confirms:
                reply = self._confirmed(connection, (request,), [reply])[0]
        except OSError as cause:
            raise self._unanswered(connection, cause) from cause
        except BaseException:
            connection.close()  # its reply may still come, and is no other call's
            raise
        self._give_back(connection)
        if isinstance(reply, StoreError):
            raise reply
        if self._releases is not None:
            self._releases.note(request, now())
        return reply

    def begin(self, requests: tuple[Call, ...]) -> Flight | None:
        return None if self._flights is None else self._flights.begin(requests)

    def together(self, requests: tuple[Call, ...]) -> list[Reply]:
        connection = self._borrow(min(request.until for request in requests))
        self._send(connection, requests)
        return self.replies(connection, requests)

    def send_at_once(self, requests: tuple[Call, ...]) -> BlockingConnection | None:
        """Send calls together if a connection is open, which answers with their replies."""
        connection = self._reuse(min(request.until for request in requests))
        if connection is not None:
            self._send(connection, requests)
        return connection

    def _send(self, connection: BlockingConnection, requests: tuple[Call, ...]) -> None:
        try:
            connection.send(b"".join(packed(request) for request in requests))
        except OSError as cause:
            raise self._unanswered(connection, cause) from cause
        except BaseException:
            connection.close()
            raise

    def replies(self, connection: BlockingConnection, requests: tuple[Call, ...]) -> list[Reply]:
        """Read the replies to what was sent together."""
        try:
            replies = [connection.read() for _ in requests]
            connection.teach(requests, replies)
            for i, reply in enumerate(replies):
                if isinstance(reply, hiredis.ReplyError):
                    replies[i] = self._refused(connection, requests[i], reply)
            if connection.confirms:
                replies = self._confirmed(connection, requests, replies)
        except OSError as cause:
            raise self._unanswered(connection, cause) from cause
        except BaseException:
            connection.close()  # its replies may still come, and are no other call's
            raise
        self._give_back(connection)
        if self._releases is not None:
            self._releases.note_together(requests, replies, now())
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
            if connection.confirms:
                reply = self._confirmed(connection, (request,), [reply])[0]
        except OSError as cause:
            raise self._unanswered(connection, cause) from cause
        except BaseException:
            connection.close()  # its replies may still come, and are no other call's
            raise
        self._give_back(connection)
        if isinstance(reply, hiredis.ReplyError):
            reply = from_reply(str(reply), request.keys, self._factory.label)
        if isinstance(reply, StoreError):
            raise reply
        return reply

    def _confirmed(
        self, connection: BlockingConnection, requests: tuple[Call, ...], replies: list[Reply]
    ) -> list[Reply]:
        """Replies that count only if enough replicas have what was written.  One more round trip
        for all of them, and none if nothing was granted or renewed."""
        written = [i for i, each in enumerate(requests) if needs_confirmation(each, replies[i])]
        needed = connection.to_confirm() if written else None
        if needed is None or not needed.wanted:
            return replies
        until = min(each.until for each in requests)
        connection.prepare(until)
        acknowledged = connection.ask(command(*needed.command(until - now())))
        if isinstance(acknowledged, hiredis.ReplyError):
            acknowledged = self._refused(connection, requests[0], acknowledged)
        for i in written:
            if (why := needed.failure(requests[i], acknowledged)) is not None:
                connection.doubt_replicas()
                replies[i] = why
        return replies

    def _unanswered(self, connection: BlockingConnection, cause: OSError) -> StoreError:
        """Close a connection that failed: a late reply must not be taken for another's."""
        connection.close()
        if self._forked:
            return forked(self._factory.label)
        finder = self._factory.finder
        if finder is not None:
            finder.suspect()  # another server may be the primary by now
        if finder is not None or isinstance(cause, ConnectionError):
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
        if is_demoted(str(error)):
            self._factory.leave(connection.generation)
        return from_reply(str(error), request.keys, self._factory.label)

    def _follow(self, until: float) -> None:
        """Ask now and then whether the primary is still the same, and leave one that is not."""
        finder = self._factory.finder
        if finder is not None and finder.is_due():
            at = now()
            # The call itself needs time too.
            finder.check(at + min((until - at) / 4, CHECK_PATIENCE))
        if self._generation != self._factory.generation:
            self._leave_former()

    def _leave_former(self) -> None:
        """End every connection to a server that is not the primary any more."""
        self._generation = self._factory.generation
        close_all(self._idle)
        for connection in self._connections.every():
            if connection.generation != self._generation:
                connection.shut_down()  # a question that is under way ends now
        self._tell_moved()

    def observe(self, observer: Callable[[bool], None]) -> None:
        """The observer is called when another server has become the primary."""
        self._observer = observer

    def _tell_moved(self) -> None:
        """The new primary may lack what the former one has confirmed: ask it at once."""
        if self._moves != (moves := moves_of(self._factory)):
            self._moves = moves
            self._observer(False)

    def _borrow(self, until: float) -> BlockingConnection:
        factory = self._factory
        if factory.finder is not None or self._generation != factory.generation:
            self._follow(until)
        connection = self._reuse(until)
        if connection is None:
            connection = self._connect(until)
            connection.prepare(until)
        return connection

    def _reuse(self, until: float) -> BlockingConnection | None:
        """A connection that is open; None where none is idle."""
        try:
            while True:
                connection = self._idle.pop()
                if not connection.prepare(until):
                    self._subscriber.doubt()  # it may have been ended as well
                elif not connection.outlived():
                    return connection
                connection.close()
        except IndexError:
            return None

    def _connect(self, until: float) -> BlockingConnection:
        if self._closed:
            raise (forked if self._forked else closed)(self._factory.label)
        try:
            connection = BlockingConnection(self._factory, until)
        except StoreError:
            if self._forked:
                raise forked(self._factory.label) from None
            self._subscriber.doubt()
            raise
        self._connections.add(connection)
        if self._releases is not None and connection.generation > self._told:
            self._repeat_releases(connection, self._releases, until)
        self._tell_moved()
        if self._forked:  # while it was opened
            connection.close()
            raise forked(self._factory.label)
        return connection

    def _repeat_releases(
        self, connection: BlockingConnection, releases: RecentReleases, until: float
    ) -> None:
        """Tell a new primary first what it may not have heard of; one thread does, for all."""
        told, self._told = self._told, connection.generation
        try:
            connection.repeat(releases.withdrawals(), until)
        except BaseException as cause:
            self._told = told
            connection.close()
            if isinstance(cause, OSError):
                raise not_sent(cause, self._factory.label) from cause
            raise

    def _give_back(self, connection: BlockingConnection) -> None:
        connection.replied = self._factory.reached = True
        if connection.generation != self._factory.generation:
            connection.close()
        elif len(self._idle) < KEPT and not self._closed:
            self._idle.append(connection)
        else:
            connection.close()

    def hang_up(self) -> None:
        """Close connections on which no call waits; a later call opens others."""
        close_all(self._idle)

    def listen(self, topics: tuple[Any, ...], until: float) -> Wakes:
        return self._subscriber.listen(topics, until)

    def park(self, wakes: Wakes | None, until: float) -> bool:
        if isinstance(wakes, Subscription):
            return self._subscriber.park(wakes, until)
        return super().park(wakes, until)

    def engaged(self) -> bool:
        return self._subscriber.engaged()

    def after_fork(self) -> None:
        # The sockets are the parent's as well; they are left to it, untouched.
        inherited.append((self._idle, self._subscriber, self._connections))
        self._idle, self._closed, self._forked = deque(), True, True
        for connection in self._connections.every():
            connection.abandon()
        if self._flights is not None:
            self._flights.after_fork()

    def close(self) -> None:
        self._closed = True
        close_all(self._idle)
        self._subscriber.close()
        for connection in self._connections.every():  # a question that is under way ends now
            connection.shut_down()
        if self._flights is not None:
            self._flights.close()


#: What forked children must neither use nor close.
inherited: list[Any] = []
