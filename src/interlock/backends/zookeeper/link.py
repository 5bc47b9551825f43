"""The link to ZooKeeper for threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ...drive import now
from ...errors import StoreError, forked
from ...parking import ThreadParking, ThreadWakes
from ...steps import Call, Reply, Wakes
from .transport.answers import LONGEST_ANSWER, Batch
from .transport.client_thread import FAREWELL
from .transport.requests import awaited
from .transport.transport import Transport
from .url import ZkSettings

CONNECTION = "connection"

#: Seconds between two looks at why there is no connection yet.
RECHECK = 0.25


class ZkLink(ThreadParking):
    """See `spi.Link`."""

    #: A session's requests are executed in the order in which they were made.
    ordered = True

    def __init__(self, settings: ZkSettings, transport: Transport) -> None:
        self._settings, self._transport, self._forked = settings, transport, False
        #: What each thread that has asked waits for; in a forked child nobody answers.
        self._awaited: list[threading.Lock] = []

    def call(self, request: Call) -> Reply:
        (reply,) = self.together((request,))
        if isinstance(reply, StoreError):
            raise reply
        return reply

    def together(self, requests: tuple[Call, ...]) -> list[Reply]:
        until = max(request.until for request in requests)
        transport = self._transport
        self._check_parent()
        transport.check_thread()
        if not transport.connected and any(awaited(each.operation) for each in requests):
            self._connect(until)
            self._check_parent()  # else a child would ask in a session of its own
        arrived = threading.Lock()
        arrived.acquire()
        batch = Batch([request.operation for request in requests], arrived.release)
        self._awaited.append(arrived)
        try:
            transport.ask(batch)
            if batch.done or arrived.acquire(timeout=answered_by(until)):
                return batch.replies
            return batch.given_up(transport.label)
        finally:
            self._awaited.remove(arrived)
            self._check_parent()

    def _check_parent(self) -> None:
        """Raise in a child that was forked by a signal handler, and returned from it."""
        if self._forked:
            raise forked(self._transport.label)

    def _connect(self, until: float) -> None:
        """Wait for a connection, but not for ever."""
        transport, longest = self._transport, self._transport.patience(until)
        if transport.closed:
            raise transport.unreachable()
        with self.listen((CONNECTION,), until) as wakes:
            transport.start()
            while not transport.connected:
                self._check_parent()
                if now() >= longest or transport.hopeless(until):
                    raise transport.unreachable()
                self.park(wakes, min(longest, now() + RECHECK))

    def listen(self, topics: tuple[Any, ...], until: float) -> Wakes:
        (topic,) = topics
        wakes = ThreadWakes(lambda: self._transport.watches.leave(topic, wakes))
        self._transport.watches.listen(topic, wakes)
        return wakes

    def observe(self, observer: Callable[[bool], None]) -> None:
        self._transport.observe(observer)

    def engaged(self) -> bool:
        return self._transport.engaged()

    def after_fork(self) -> None:
        self._forked = True
        for arrived in self._awaited:
            with suppress(RuntimeError):  # the answer came just before the fork
                arrived.release()
        self._transport.after_fork()

    def close(self) -> None:
        """End the session.  In a thread of kazoo's own, where a finalizer may strike, nothing is
        waited for."""
        self._transport.closed = True
        if (thread := self._transport.end_session()) is not None:
            thread.wait(FAREWELL)


def answered_by(until: float) -> float:
    """How many seconds to wait for an answer that is worth having until an instant."""
    return min(max(until - now(), 0.0), LONGEST_ANSWER)
