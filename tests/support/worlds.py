"""The two worlds behind one face, so that a claim is written once and holds in both.

A test speaks to `World`: it makes clients, and starts their methods.  In the world of
threads each method runs in a new thread; in the world of tasks it runs as a new task of one
event loop, which has a thread to itself.  Either way the test goes on at once and can await
the outcome, which is how waiting, holding and failing are told apart.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

import interlock
from interlock import AcquireTimeout, OutcomeUnknown, StoreUnavailable, aio

#: No outcome in this file takes longer; a test that waits longer has found a hang.
PATIENCE = 30.0

#: What a caller is told that got no answer in time.
SILENCE = (AcquireTimeout, StoreUnavailable, OutcomeUnknown)

#: How long a store that does not answer may keep a caller beyond its timeout.
OVERRUN = 2.0


class World:
    """Clients of one world, and their ends."""

    name: str

    def __init__(self) -> None:
        self._clients: list[Any] = []
        #: Whatever was done has come of it until the world ends: each thread and task ends at
        #: once, and what it holds would go with it.
        self._outcomes: list[Future[Any]] = []

    def connect(self, url: Any, **options: Any) -> Any:
        """Make a client; it is closed with the world."""
        client = self._connect(url, options)
        self._clients.append(client)
        return client

    def client_of(self, lock: Any) -> Any:
        """The client that has made a lock."""
        return next(each for each in self._clients if each._session is lock._session)

    def do(self, action: Callable[[], Any]) -> Any:
        """Do something and return what came of it."""
        return self.start(action).result(PATIENCE)

    def close_client(self, client: Any) -> None:
        self._clients.remove(client)
        self.do(client.close)

    def close(self) -> None:
        while self._clients:
            self.do(self._clients.pop().close)

    def start(self, action: Callable[[], Any]) -> Future[Any]:
        """Begin to do something; its outcome will be in the future."""
        outcome = self._start(action)
        self._outcomes.append(outcome)
        return outcome

    def _start(self, action: Callable[[], Any]) -> Future[Any]:
        raise NotImplementedError

    def hold_block(self, lock: Any) -> Block:
        """Enter a `with` block of a lock and stay in it until told to leave."""
        raise NotImplementedError

    def _connect(self, url: Any, options: dict[str, Any]) -> Any:
        raise NotImplementedError


class Block:
    """A `with` block that somebody stands in."""

    def __init__(self) -> None:
        self.entered: Future[Any] = Future()
        self.outcome: Future[Any] = Future()

    def leave(self) -> None:
        raise NotImplementedError


class Threads(World):
    """The world of threads."""

    name = "threads"

    def _connect(self, url: Any, options: dict[str, Any]) -> Any:
        return interlock.connect(url, **options)

    def _start(self, action: Callable[[], Any]) -> Future[Any]:
        outcome: Future[Any] = Future()
        threading.Thread(target=_settle, args=(outcome, action), daemon=True).start()
        return outcome

    def hold_block(self, lock: Any) -> Block:
        block = ThreadBlock()
        block.outcome = self.start(lambda: block.stand(lock))
        return block


def _settle(outcome: Future[Any], action: Callable[[], Any]) -> None:
    try:
        outcome.set_result(action())
    except BaseException as error:
        outcome.set_exception(error)


class ThreadBlock(Block):
    def __init__(self) -> None:
        super().__init__()
        self._left = threading.Event()

    def stand(self, lock: Any) -> None:
        with lock as hold:
            self.entered.set_result(hold)
            self._left.wait(PATIENCE)

    def leave(self) -> None:
        self._left.set()


class Tasks(World):
    """The world of tasks: one loop in a thread of its own."""

    name = "tasks"

    def __init__(self) -> None:
        super().__init__()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._complaints: list[Any] = []
        self._loop.set_exception_handler(lambda _, context: self._complaints.append(context))
        self._thread.start()

    def _connect(self, url: Any, options: dict[str, Any]) -> Any:
        return aio.connect(url, **options)

    def _start(self, action: Callable[[], Any]) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(_awaited(action), self._loop)

    def hold_block(self, lock: Any) -> Block:
        block = TaskBlock(self._loop)
        block.outcome = self.start(lambda: block.stand(lock))
        return block

    def close(self) -> None:
        """Close every client; whatever the loop complained about fails the test."""
        try:
            super().close()
            self.do(lambda: asyncio.sleep(0))
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(PATIENCE)
            self._loop.close()
        assert self._complaints == []


async def _awaited(action: Callable[[], Any]) -> Any:
    outcome = action()
    return await outcome if inspect.isawaitable(outcome) else outcome


class TaskBlock(Block):
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._loop, self._left = loop, asyncio.Event()

    async def stand(self, lock: Any) -> None:
        async with lock as hold:
            self.entered.set_result(hold)
            async with asyncio.timeout(PATIENCE):
                await self._left.wait()

    def leave(self) -> None:
        self._loop.call_soon_threadsafe(self._left.set)


class Timed:
    """Something under way, and how long it takes."""

    def __init__(self, world: World, action: Callable[[], Any]) -> None:
        self._began = time.monotonic()
        self.outcome = world.start(action)

    def fails(self, *errors: type[Exception]) -> float:
        """Let it fail; answers how many seconds it took."""
        with pytest.raises(errors or SILENCE):
            self.outcome.result(PATIENCE)
        return time.monotonic() - self._began


WORLDS: dict[str, type[World]] = {"threads": Threads, "tasks": Tasks}


def check_works(world: World, make: Callable[[], Any]) -> None:
    """Take, contend for and release a lock: calls and wakes both find their way."""
    hold = world.do(make().lock("k").acquire)
    second = make().lock("k")
    assert world.do(lambda: second.acquire(blocking=False)) is None
    waiting = world.start(second.acquire)
    world.do(hold.release)
    world.do(waiting.result(5).release)


def nested(world: World, lock: Any) -> Any:
    if world.name == "threads":
        with lock, lock, lock:
            return None
    return _nested(lock)


async def _nested(lock: Any) -> None:
    async with lock, lock, lock:
        pass
