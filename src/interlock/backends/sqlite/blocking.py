"""The blocking link: a call is a transaction in the thread that makes it."""

from __future__ import annotations

from typing import Any

from ...drive import now
from ...errors import StoreError, closed
from ...parking import ThreadWakes, pause_thread
from ...steps import Call, Reply, Wakes
from ...stores import Quiet
from .failures import label_of
from .insist import FAREWELL, LIMIT, insist
from .records import vacate
from .watch import Seat, Topic
from .world import worlds


class SqliteLink(Quiet):
    """See `stores.Link`."""

    ordered = False  # each thread makes its own calls

    def __init__(self, path: str) -> None:
        self._path, self._closed = path, False
        self._world = worlds().enter(path)
        self._topics: set[Topic] = set()

    def call(self, request: Call) -> Reply:
        if self._closed:
            raise closed(label_of(self._path))
        replies = self._world.once((request,))
        if replies is not None:
            return replies[0]
        return insist(self._world, request, min(request.until, now() + LIMIT))

    def together(self, requests: tuple[Call, ...]) -> list[Reply]:
        # One transaction for each, so that others get their turn in between.
        return [self._outcome(request) for request in requests]

    def _outcome(self, request: Call) -> Reply:
        try:
            return self.call(request)
        except StoreError as failure:
            return failure

    def listen(self, topics: tuple[Any, ...]) -> Wakes:
        (topic,) = topics
        seat = Seat(lambda: self._leave(topic))
        self._topics.add(topic)
        self._world.watch.enter(topic, seat.wake)
        return seat

    def _leave(self, topic: Topic) -> None:
        self._topics.discard(topic)
        self._world.watch.leave(topic)

    def park(self, wakes: Wakes | None, until: float) -> bool:
        if isinstance(wakes, Seat):
            return self._world.watch.park(wakes, until)
        if isinstance(wakes, ThreadWakes):
            return wakes.wait(until)
        return pause_thread(until)

    def local(self) -> Wakes:
        return ThreadWakes()

    def after_fork(self) -> None:
        self._topics.clear()
        if not self._closed:
            self._world = worlds().enter(self._path)

    def close(self) -> None:
        """Close, and let nobody wait any longer, here or behind those who wait here."""
        if self._closed:
            return
        self._closed = True
        topics = tuple(self._topics)
        try:
            if topics:
                insist(self._world, Call(vacate, (), topics, 0.0), now() + FAREWELL)
                self._world.watch.wake(topics)
        except StoreError:
            pass  # they are forgotten when they have not asked for a while
        finally:
            worlds().leave(self._world)
