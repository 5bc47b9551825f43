"""The one connection on which a blocking client hears of wakes.

No thread lives on it.  Of the threads that wait, one leads (see `parking.LeaderFollowers`): it
reads the connection, and wakes the thread that a message is for.

A lost connection is no disaster: the leader opens it again and wakes all waiters, because
messages may have been missed; and every waiter asks again within the poll cap in any case.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol

import hiredis

from ....drive import now
from ....errors import StoreError, StoreMisconfigured
from ....parking import LeaderFollowers, WaitingThread, is_mine
from ..errors import Refused, from_reply
from ..keys import Topic
from .protocol import INCOMPLETE, SUBSCRIBE_TIMEOUT, Sharded, command, never

#: Seconds of silence after which the server is pinged, and to wait for an answer to that, or to
#: a subscription.
QUIET, PONG = 5.0, 2.0


class SubscriberConnection(Protocol):
    """What a subscriber needs of a connection."""

    def send(self, data: bytes) -> None: ...
    def read_until(self, until: float) -> Any: ...
    def close(self) -> None: ...


class Subscription(WaitingThread):
    """Where one thread hears of some topics."""

    __slots__ = ("_subscriber", "topics")

    def __init__(self, subscriber: Subscriber, topics: tuple[Topic, ...]) -> None:
        super().__init__()
        self._subscriber, self.topics = subscriber, topics

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._subscriber.leave(self)


class Subscriber:
    """One subscribed connection, read by the threads that wait."""

    def __init__(
        self,
        connect: Callable[[float], SubscriberConnection],
        label: str,
        sharded: Sharded = never,
    ) -> None:
        self._connect, self._label, self._sharded = connect, label, sharded
        # A connection cannot be read anew in the middle of a reply: see `nested`.
        self._threads = LeaderFollowers(self._lead)
        self._mutex = threading.RLock()
        self._connection: SubscriberConnection | None = None
        self._subscriptions: set[Subscription] = set()
        #: Channels that the server was asked for, and those that it has confirmed.
        self._requested: set[str] = set()
        self._confirmed: set[str] = set()
        #: Channels of a slot from which the server was asked to unsubscribe.
        self._leaving: list[str] = []
        #: Whether some were refused, so that they must be asked for again.
        self._missing = False
        self._refusal: StoreError | None = None
        self._heard_at = self._asked_at = 0.0
        self._failures, self._retry_at = 0, 0.0
        #: Whether the connection may have ended, which no thread has read.
        self._doubted = self._closed = False

    def listen(self, topics: tuple[Topic, ...], until: float) -> Subscription:
        """Hear of these topics from now on; no round trip when already subscribed."""
        subscription = Subscription(self, topics)
        channels, earlier = {topic.channel for topic in topics}, self._refusal
        with self._mutex:
            self._subscriptions.add(subscription)
            self._subscribe()

        def is_subscribed() -> bool:
            if self._refusal is not None and self._refusal is not earlier:
                raise self._refusal
            return channels <= self._confirmed or self._closed

        try:
            self._threads.wait(subscription, min(until, now() + SUBSCRIBE_TIMEOUT), is_subscribed)
        except BaseException:
            self.leave(subscription)
            raise
        subscription.woken = False  # opening the connection wakes all waiters, this one too
        return subscription

    def leave(self, subscription: Subscription) -> None:
        """Stop hearing; Java's channels that no waiter needs any more are dropped."""
        with self._mutex:
            self._subscriptions.discard(subscription)
            needed = self._needed()
            # The client's own channel stays: the next waiter will need it at once.
            stale = {each for each in self._requested - needed if each.startswith("redisson")}
            if stale and self._connection is not None:
                self._requested -= stale
                self._confirmed -= stale
                self._leaving += filter(self._sharded, stale)
                self._request("UNSUBSCRIBE", stale)
            self._drop_doubted()

    def park(self, subscription: Subscription, until: float) -> bool:
        """Wait for a wake of this subscription, or the instant."""
        if self._missing:
            with self._mutex:
                self._missing = False
                self._subscribe()
        return self._threads.park(subscription, until)

    def engaged(self) -> bool:
        """Whether this thread keeps others from coming and going."""
        return is_mine(self._mutex) or self._threads.engaged()

    def doubt(self) -> None:
        """The server has ended other connections: a thread that waits reads whether this one has
        ended too, and where none does it is dropped."""
        with self._mutex:
            self._doubted = True
            self._drop_doubted()

    def _drop_doubted(self) -> None:
        if self._doubted and not self._subscriptions:
            self._drop()

    def close(self) -> None:
        with self._mutex:
            self._closed = True
            self._drop()
        self._wake_all()

    # --- what the leader reads ---------------------------------------------------------------

    def _lead(self, leader: WaitingThread, until: float) -> None:
        """Read what comes next, on behalf of all waiters."""
        try:
            connection = self._opened(until)
            if connection is None:
                # Out of reach just now: the poll cap goes on without wakes.
                leader.pause(min(until, self._retry_at) - now())
                return
            # What has come already is read in any case: it may be what is overdue.
            message = connection.read_until(max(min(until, self._due()), now() + 0.001))
            if message is INCOMPLETE:
                self._check_alive()
                return
            self._heard_at = now()
            self._dispatch(message)
        except OSError:
            self._fail()

    def _dispatch(self, message: Any) -> None:
        if isinstance(message, hiredis.ReplyError):
            self._refused(from_reply(str(message), (), self._label))
        elif isinstance(message, list) and message[0] in (b"message", b"smessage"):
            self._deliver(message[1].decode(), message[2].decode("utf-8", "replace"))
        elif isinstance(message, list) and message[0] in (b"subscribe", b"ssubscribe"):
            if (channel := message[1].decode()) in self._requested:
                self._confirmed.add(channel)
            self._nudge_all()
        elif isinstance(message, list) and message[0] == b"sunsubscribe":
            self._unsubscribed(message[1].decode())

    def _refused(self, refusal: StoreError) -> None:
        """Which channel was meant is unknown: the next listener asks anew."""
        with self._mutex:
            if isinstance(refusal, Refused):
                # A slot has moved: its waiters find out by asking, and those of others ask anew.
                unheard = self._requested - self._confirmed
                self._requested -= {each for each in unheard if self._sharded(each)}
                self._missing = True
            else:
                self._refusal = refusal
                self._drop()
        self._wake_all()

    def _unsubscribed(self, channel: str) -> None:
        """As we asked for; or the slot has been given away, and perhaps back: its waiters listen
        anew, and ask."""
        if channel in self._leaving:
            self._leaving.remove(channel)
            return
        with self._mutex:
            self._requested.discard(channel)
            self._confirmed.discard(channel)
            self._subscribe()
        self._wake_all()

    def _deliver(self, channel: str, message: str) -> None:
        exact, any_message = Topic(channel, message), Topic(channel, None)
        with self._mutex:
            subscriptions = list(self._subscriptions)
        for each in subscriptions:
            if exact in each.topics or any_message in each.topics:
                each.wake()

    def _wake_all(self) -> None:
        with self._mutex:
            for each in self._subscriptions:
                each.wake()

    def _nudge_all(self) -> None:
        with self._mutex:
            for each in self._subscriptions:
                each.nudge()

    # --- the connection ----------------------------------------------------------------------

    def _needed(self) -> set[str]:
        return {topic.channel for each in self._subscriptions for topic in each.topics}

    def _opened(self, until: float) -> SubscriberConnection | None:
        """The connection, opened and subscribed anew if it was lost; only a leader asks, for as
        long as it has time itself."""
        if self._connection is None and now() >= self._retry_at:
            try:
                connection = self._connect(min(until, now() + SUBSCRIBE_TIMEOUT))
            except StoreMisconfigured as refusal:
                self._refusal = refusal
                raise OSError from refusal
            except StoreError as failure:
                if now() >= until:
                    return None  # with more time it might have been opened
                raise OSError from failure
            with self._mutex:
                self._connection, self._refusal, self._failures = connection, None, 0
                self._heard_at = now()
                self._subscribe()
            self._wake_all()
        return self._connection

    def _subscribe(self) -> None:
        """Ask for every channel that is needed and not asked for; under the mutex."""
        missing = self._needed() - self._requested
        if missing and self._connection is not None:
            self._requested |= missing
            self._asked_at = now()
            self._request("SUBSCRIBE", missing)

    def _request(self, verb: str, channels: set[str]) -> None:
        """Subscribe, or unsubscribe; channels of slots one at a time: each has its own slot."""
        sharded = set(filter(self._sharded, channels))
        if plain := channels - sharded:
            self._send(verb, *plain)
        for channel in sharded:
            self._send(f"S{verb}", channel)

    def _send(self, *words: str) -> None:
        connection = self._connection  # a signal handler may drop it right here
        try:
            if connection is not None:
                connection.send(command(*words))
        except OSError:
            self._drop()

    def _due(self) -> float:
        """Until when nothing need be done about a connection that is silent."""
        asked = self._asked_at > self._heard_at
        return self._asked_at + PONG if asked else self._heard_at + QUIET

    def _check_alive(self) -> None:
        """A connection that was asked must answer, and one that is silent for long is asked."""
        if now() < self._due():
            return
        if self._asked_at > self._heard_at:
            raise OSError("no answer")
        self._asked_at = now()
        with self._mutex:
            self._send("PING")

    def _fail(self) -> None:
        with self._mutex:
            self._drop()
            self._failures += 1
            self._retry_at = now() + min(0.05 * 2**self._failures, 1.0)
        self._wake_all()

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection, self._doubted = None, False
        self._requested.clear()
        self._confirmed.clear()
        self._leaving.clear()
