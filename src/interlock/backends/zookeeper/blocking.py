"""The way to ZooKeeper for threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ...drive import now
from ...errors import StoreError
from ...parking import ThreadWakes, pause_thread
from ...steps import Call, Reply, Wakes
from .batches import LONGEST_ANSWER, Batch
from .doors import FAREWELL
from .settings import Settings
from .transport import Transport
from .wire import awaited

CONNECTION = "connection"

#: Seconds between two looks at why there is no connection yet.
GLANCE = 0.25


class ZkLink:
    """See `stores.Link`."""

    #: A session's questions are executed in the order in which they were asked.
    ordered = True

    def __init__(self, settings: Settings, transport: Transport) -> None:
        self._settings, self._transport = settings, transport

    def call(self, request: Call) -> Reply:
        (reply,) = self.together((request,))
        if isinstance(reply, StoreError):
            raise reply
        return reply

    def together(self, requests: tuple[Call, ...]) -> list[Reply]:
        until = max(request.until for request in requests)
        transport = self._transport
        if not transport.connected and any(awaited(each.operation) for each in requests):
            self._connect(until)
        arrived = threading.Lock()
        arrived.acquire()
        batch = Batch([request.operation for request in requests], arrived.release)
        transport.ask(batch)
        if not batch.done and not arrived.acquire(timeout=answered_by(until)):
            return batch.given_up(transport.label)
        return batch.replies

    def _connect(self, until: float) -> None:
        """Wait for a connection, but not for ever."""
        longest = self._transport.patience(until)
        with self.listen((CONNECTION,)) as wakes:
            self._transport.start()
            while not self._transport.connected:
                if now() >= longest or self._transport.hopeless(until):
                    raise self._transport.unreachable()
                self.park(wakes, min(longest, now() + GLANCE))

    def listen(self, topics: tuple[Any, ...]) -> Wakes:
        (topic,) = topics
        wakes = ThreadWakes(lambda: self._transport.watches.leave(topic, wakes))
        self._transport.watches.listen(topic, wakes)
        return wakes

    def park(self, wakes: Wakes | None, until: float) -> bool:
        if isinstance(wakes, ThreadWakes):
            return wakes.wait(until)
        return pause_thread(until)

    def local(self) -> Wakes:
        return ThreadWakes()

    def observe(self, observer: Callable[[bool], None]) -> None:
        self._transport.observe(observer)

    def after_fork(self) -> None:
        self._transport.after_fork()

    def close(self) -> None:
        self._transport.closed = True
        parting = self._transport.part()
        if parting is not None:
            parting.wait(FAREWELL)


def answered_by(until: float) -> float:
    """How many seconds to wait for an answer that is worth having until an instant."""
    return min(max(until - now(), 0.0), LONGEST_ANSWER)
