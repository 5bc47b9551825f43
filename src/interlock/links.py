"""Links for a store that one plain function asks.

A backend of your own needs no link of its own where a blocking function performs every call:
`CallLink` calls it in the thread that asks, `AsyncCallLink` in a thread of a small pool, so that
the event loop goes on meanwhile.  `CallBackend` is a backend with both.

A store that can reach the waiters of this process alone wakes them by `wake`.  Its answers say so,
by `Busy(..., silent=True)`, and a waiter asks again five to ten times a second.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Generic, TypeAlias, TypeVar

from .errors import OutcomeUnknown, StoreError, StoreUnavailable, closed, forked
from .parking import ThreadParking, ThreadWakes
from .spi import BaseBackend, Quiet
from .steps import Call, Reply, Wakes
from .tasks import Sent, TaskParking, TaskWakes

W = TypeVar("W", ThreadWakes, TaskWakes)

Perform: TypeAlias = Callable[[Call], Reply]

#: Calls of one asyncio client that go on at the same time.
THREADS = 4

#: How to wake the waiters of this process, by store and topic.
_waiters: dict[tuple[str, Any], Callable[[], None]] = {}


class CallBackend(BaseBackend):
    """A backend whose calls are performed by one method, in both worlds."""

    @abstractmethod
    def perform(self, request: Call) -> Reply:
        """Perform a call, in whatever thread: several may call at once.

        It answers, or raises a StoreError, by `request.until` or soon after.  An OSError says that
        the store may or may not have performed it: OutcomeUnknown.
        """

    def wake(self, topic: Any) -> None:
        """Wake the waiter that listens to a topic, if it is of this process; in any thread."""
        if (waiter := _waiters.get((self.label, topic))) is not None:
            waiter()

    def link(self) -> CallLink:
        return CallLink(self.label, self.perform)

    def alink(self) -> AsyncCallLink:
        return AsyncCallLink(self.label, self.perform)


class _Calling(Quiet, Generic[W]):
    """What both worlds share: the function, the waiters, and the end."""

    ordered = False

    def __init__(self, label: str, perform: Perform) -> None:
        self._label, self._perform = label, perform
        self._refusal: Callable[[str], StoreUnavailable] | None = None
        self._places: dict[tuple[Any, ...], W] = {}

    def _check_open(self) -> None:
        if self._refusal is not None:
            raise self._refusal(self._label)

    def _outcomes(self, requests: tuple[Call, ...]) -> list[Reply]:
        return [self._outcome(request) for request in requests]

    def _outcome(self, request: Call) -> Reply:
        try:
            return self._answer(request)
        except StoreError as failure:
            return failure

    def _answer(self, request: Call) -> Reply:
        try:
            return self._perform(request)
        except StoreError:  # of which some are OSErrors
            raise
        except OSError as error:
            words = f"{self._label} did not answer: {error.strerror or error}"
            raise OutcomeUnknown(words, self._label) from error

    def _enter(self, topics: tuple[Any, ...], wakes: W) -> W:
        self._places[topics] = wakes
        for topic in topics:
            _waiters[self._label, topic] = wakes.wake_from_afar
        return wakes

    def _leave(self, topics: tuple[Any, ...]) -> None:
        self._places.pop(topics, None)
        for topic in topics:
            _waiters.pop((self._label, topic), None)

    def _end(self) -> None:
        """Refuse every further call, and let the waiters find that out."""
        self._refusal = self._refusal or closed
        for wakes in list(self._places.values()):
            wakes.wake()

    def after_fork(self) -> None:
        self._refusal = forked


class CallLink(ThreadParking, _Calling[ThreadWakes]):
    """A `spi.Link` whose calls are performed by a function, in the thread that asks."""

    def call(self, request: Call) -> Reply:
        self._check_open()
        return self._answer(request)

    def together(self, requests: tuple[Call, ...]) -> list[Reply]:
        self._check_open()
        return self._outcomes(requests)

    def listen(self, topics: tuple[Any, ...], until: float) -> Wakes:
        return self._enter(topics, ThreadWakes(lambda: self._leave(topics)))

    def close(self) -> None:
        self._end()


class AsyncCallLink(TaskParking, _Calling[TaskWakes]):
    """A `spi.AsyncLink` whose calls are performed by a function, in threads of its own."""

    _pool: ThreadPoolExecutor | None = None

    def call(self, request: Call) -> Awaitable[Reply]:
        self._check_open()
        return self._send(lambda: self._answer(request))

    def together(self, requests: tuple[Call, ...]) -> Awaitable[list[Reply]]:
        self._check_open()
        # In one thread, one after another: a task that is cancelled has to see all of them end.
        return self._send(lambda: self._outcomes(requests))

    def _send(self, work: Callable[[], Any]) -> Sent:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(THREADS, "interlock-calls")
        sent = Sent(loop=asyncio.get_running_loop())
        self._pool.submit(_settle, sent, work)
        return sent

    async def listen(self, topics: tuple[Any, ...], until: float) -> Wakes:
        return self._enter(topics, TaskWakes(lambda: self._leave(topics)))

    def after_fork(self) -> None:
        super().after_fork()
        self._pool = None  # its threads are the parent's

    def hang_up(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False)

    async def close(self) -> None:
        self._end()
        self.hang_up()


def _settle(sent: Sent, work: Callable[[], Any]) -> None:
    """Work in this thread, and tell the loop of the one who waits for it."""
    try:
        result, tell = work(), sent.set_result
    except BaseException as error:
        result, tell = error, sent.set_exception
    with suppress(RuntimeError):  # the loop has been closed meanwhile
        sent.get_loop().call_soon_threadsafe(tell, result)
