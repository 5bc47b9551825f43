"""The blocking link: a call is a transaction in the thread that makes it."""

from __future__ import annotations

from typing import Any

from ...drive import now
from ...errors import StoreError, closed, forked
from ...parking import ThreadParking, WaitingThread
from ...spi import Quiet
from ...steps import Call, Reply, Wakes
from .errors import label_of
from .transport.records import withdraw_waiters
from .transport.retry import CLOSE_SECONDS, LIMIT, retry
from .transport.shared_file import open_files
from .transport.watch import Topic


class SqliteLink(ThreadParking, Quiet):
    """See `spi.Link`."""

    ordered = False  # each thread makes its own calls

    def __init__(self, path: str) -> None:
        self._path, self._file = path, open_files().enter(path)
        self._closed = self._forked = False
        self._topics: set[Topic] = set()

    def call(self, request: Call) -> Reply:
        if self._closed:
            raise (forked if self._forked else closed)(label_of(self._path))
        replies = self._file.try_apply((request,))
        if replies is not None:
            return replies[0]
        return retry(self._file, request, min(request.until, now() + LIMIT))

    def together(self, requests: tuple[Call, ...]) -> list[Reply]:
        # One transaction for each, so that other processes get their turn in between.
        return [self._outcome(request) for request in requests]

    def _outcome(self, request: Call) -> Reply:
        try:
            return self.call(request)
        except StoreError as failure:
            return failure

    def listen(self, topics: tuple[Any, ...], until: float) -> Wakes:
        (topic,) = topics
        thread = WaitingThread(lambda: self._leave(topic))
        self._topics.add(topic)
        self._file.watch.enter(topic, thread.wake)
        return thread

    def _leave(self, topic: Topic) -> None:
        self._topics.discard(topic)
        self._file.watch.leave(topic)

    def park(self, wakes: Wakes | None, until: float) -> bool:
        if isinstance(wakes, WaitingThread):
            return self._file.watch.park(wakes, until)
        return super().park(wakes, until)

    def engaged(self) -> bool:
        return self._file.engaged()

    def after_fork(self) -> None:
        self._closed = self._forked = True

    def close(self) -> None:
        """Close: withdraw and wake the waiters of this link, so that those behind them move up."""
        if self._closed:
            return
        self._closed = True
        topics = tuple(self._topics)
        try:
            if topics:
                retry(self._file, Call(withdraw_waiters, (), topics, 0.0), now() + CLOSE_SECONDS)
                self._file.watch.wake(topics)
        except StoreError:
            pass  # the file forgets waiters that have not asked for a while
        finally:
            open_files().leave(self._file)
