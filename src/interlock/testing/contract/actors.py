"""Actors: they do what they are told, each always in the same thread or the same task.

Who holds a reentrant lock is a thread or a task, so a claim about another holder needs
another one.  A claim tells its actors what to do and awaits the outcome; it reads the
same whether they are threads that block or tasks that await.
"""

from __future__ import annotations

import asyncio
import inspect
import queue
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from ...api.hold import AsyncHold, Hold
from ...api.lock import Acquirable, AsyncAcquirable

AnyLock: TypeAlias = Acquirable[Any] | AsyncAcquirable[Any]
AnyHold: TypeAlias = Hold | AsyncHold


class Action(NamedTuple):
    """Something to do, and where its outcome is awaited."""

    work: Callable[[], Any]
    outcome: Future[Any]


class Leave(NamedTuple):
    """The end of a block, by an error that its body raised or in peace."""

    block: object
    error: BaseException | None


class Actor:
    """What the actors of both worlds share."""

    def _put(self, order: Action | Leave) -> None:
        raise NotImplementedError

    def _enter(self, manager: Any, block: object, entered: Future[Any]) -> Any:
        """Go through a real `with` block, serving orders inside until told to leave."""
        raise NotImplementedError

    async def ended(self) -> None:
        """Let the actor come to its end."""
        raise NotImplementedError

    def start(
        self, function: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> asyncio.Future[Any]:
        """Let the actor do something and go on at once; the future has its outcome."""
        outcome: Future[Any] = Future()
        outcome.set_running_or_notify_cancel()
        self._put(Action(partial(function, *args, **kwargs), outcome))
        return asyncio.wrap_future(outcome)

    async def do(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Let the actor do something and await its outcome."""
        return await self.start(function, *args, **kwargs)

    async def acquire(self, lock: AnyLock, **how: Any) -> AnyHold:
        """Let the actor take a lock."""
        hold: AnyHold = await self.do(lock.acquire, **how)
        return hold

    async def attempt(self, lock: AnyLock) -> AnyHold | None:
        """Let the actor try once."""
        hold: AnyHold | None = await self.do(lock.acquire, blocking=False)
        return hold

    async def release(self, held: AnyLock | AnyHold) -> None:
        """Let the actor release its lock, or the hold of another."""
        await self.do(held.release)

    @asynccontextmanager
    async def within(self, manager: Any) -> AsyncIterator[Any]:
        """Let the actor stay in a `with` block while the claim goes on in this one.

        What is raised here is raised in the actor's block, and what comes out of the actor's
        block comes out here.
        """
        block, entered = object(), Future[Any]()
        outcome = self.start(self._enter, manager, block, entered)
        inside = asyncio.wrap_future(entered)
        await asyncio.wait((inside, outcome), return_when=asyncio.FIRST_COMPLETED)
        if not inside.done():
            await outcome
        try:
            yield inside.result()
        except BaseException as error:
            self._put(Leave(block, error))
        else:
            self._put(Leave(block, None))
        await outcome

    def end(self) -> None:
        """Let the actor end once it has done everything."""
        self._put(Leave(self, None))


class ThreadActor(Actor):
    """An actor that is a thread."""

    def __init__(self) -> None:
        self._orders: queue.SimpleQueue[Action | Leave] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, args=(self,), daemon=True)
        self._thread.start()

    def _put(self, order: Action | Leave) -> None:
        self._orders.put(order)

    def _serve(self, block: object) -> None:
        while True:
            order = self._orders.get()
            if isinstance(order, Action):
                _perform(order)
            elif order.block is block:
                if order.error is not None:
                    raise order.error
                return

    def _enter(self, manager: Any, block: object, entered: Future[Any]) -> None:
        with manager as value:
            entered.set_result(value)
            self._serve(block)

    async def ended(self) -> None:
        await asyncio.to_thread(self._thread.join, 10)
        assert not self._thread.is_alive(), "an actor still waits for something"


class TaskActor(Actor):
    """An actor that is a task."""

    def __init__(self) -> None:
        self._orders: asyncio.Queue[Action | Leave] = asyncio.Queue()
        self._task = asyncio.create_task(self._serve(self))

    def _put(self, order: Action | Leave) -> None:
        self._orders.put_nowait(order)

    async def _serve(self, block: object) -> None:
        while True:
            order = await self._orders.get()
            if isinstance(order, Action):
                await _perform_async(order)
            elif order.block is block:
                if order.error is not None:
                    raise order.error
                return

    async def _enter(self, manager: Any, block: object, entered: Future[Any]) -> None:
        async with manager as value:
            entered.set_result(value)
            await self._serve(block)

    async def ended(self) -> None:
        async with asyncio.timeout(10):
            await asyncio.wait((self._task,))


def _perform(job: Action) -> None:
    try:
        job.outcome.set_result(job.work())
    except BaseException as error:
        job.outcome.set_exception(error)


async def _perform_async(job: Action) -> None:
    try:
        result = job.work()
        job.outcome.set_result(await result if inspect.isawaitable(result) else result)
    except BaseException as error:
        job.outcome.set_exception(error)
        if isinstance(error, asyncio.CancelledError):
            raise  # a block around this job has been cancelled, not the job alone
