"""The two worlds: a client's memory for threads, and for tasks."""

from __future__ import annotations

import weakref
from collections.abc import Coroutine
from typing import Any, TypeVar

from ..drive import arun, run
from ..events import Observer
from ..steps import Steps
from ..stores import AsyncLink, Backend, Link
from .books import TaskBooks, ThreadBooks
from .identity import introduction
from .keeper import AsyncKeeper, Keeper
from .session import BaseSession

R = TypeVar("R")


class Session(BaseSession):
    """The memory of a client for threads."""

    link: Link

    def __init__(self, backend: Backend, observer: Observer | None = None) -> None:
        super().__init__(backend, observer)
        self.link = backend.link()
        self._equip()
        self.link.observe(self.way_changed)
        self._finalizer = weakref.finalize(self, Keeper.shut, self.keeper, self.link)

    def _equip(self) -> None:
        self.books: ThreadBooks[Any] = ThreadBooks()
        self.keeper: Keeper = Keeper(
            self.rota,
            self.lines,
            self.link,
            self.backend.directory,
            introduction(self.identity),
        )

    def run(self, steps: Steps[R]) -> R:
        """Drive an algorithm in this thread."""
        return run(steps, self.link)

    def after_fork(self) -> None:
        super().after_fork()
        self._equip()
        self._finalizer.detach()
        self._finalizer = weakref.finalize(self, Keeper.shut, self.keeper, self.link)

    def close(self) -> None:
        """Release what is still held and close every connection."""
        self._finalizer()


class AsyncSession(BaseSession):
    """The memory of a client for tasks."""

    link: AsyncLink
    _loop: Any

    def __init__(self, backend: Backend, observer: Observer | None = None) -> None:
        from asyncio import get_running_loop  # here, so that threads need not import it

        super().__init__(backend, observer)
        self._running_loop, self._loop = get_running_loop, None
        self.link = backend.alink()
        self._equip()
        self.link.observe(self.way_changed)

    def _equip(self) -> None:
        self.books: TaskBooks[Any] = TaskBooks()
        self.keeper: AsyncKeeper = AsyncKeeper(
            self.rota,
            self.lines,
            self.link,
            self.backend.directory,
            introduction(self.identity),
        )

    def run(self, steps: Steps[R]) -> Coroutine[Any, Any, R]:
        """Drive an algorithm in this task."""
        loop = self._running_loop()
        if loop is not self._loop:
            self._follow(loop)
        return arun(steps, self.link)

    def _follow(self, loop: Any) -> None:
        """A loop that has ended may be followed by another, which begins with nothing."""
        if self._loop is not None and self._loop.is_closed():
            self._begin()
            self._equip()
        self._loop = self._loop if self._loop and not self._loop.is_closed() else loop

    def after_fork(self) -> None:
        super().after_fork()
        self._equip()

    async def close(self) -> None:
        """Release what is still held and close every connection."""
        await self.keeper.shut()
        await self.link.close()
