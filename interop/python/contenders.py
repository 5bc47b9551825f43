"""Those who want one name again and again, each with a session of its own.

Ours are threads or tasks; kazoo's is its own lock, whose nodes are named so that Curator sees
them: an independent reading of the same layout.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kazoo.exceptions import KazooException

import interlock
from interlock import aio
from tests.backends.zookeeper.bare import bare

from .kazoos import CuratorsLock
from .ours import make
from .section import Section


class Wish:
    """What one contender wants, where it goes then, and what it tells afterwards."""

    def __init__(self, command: dict[str, Any], url: str, side: str) -> None:
        self.url, self.name, self._kind = url, command["name"], command["kind"]
        self._most = command.get("max", 1)
        self._section = Section(Path(command["folder"]), 0, self._most, side)
        self._end: float = time.monotonic() + command["run_ms"] / 1000
        self.tokens: list[int] = []
        self.violations: list[str] = []
        self.errors: list[str] = []

    def lock(self, client: Any) -> Any:
        terms = {"permits": self._most} if self._kind == "semaphore" else {}
        return make(client, self._kind, self.name, **terms)

    @property
    def over(self) -> bool:
        return time.monotonic() >= self._end

    def visit(self, token: int) -> None:
        self.tokens.append(token)
        if not self._section.visit(token):
            self.violations.append(f"{self.name}: no room for {token}")

    def note(self, error: Exception) -> None:
        """Servers may fail meanwhile; what must not happen is a violation."""
        self.errors.append(f"{type(error).__name__}: {error}")

    @property
    def told(self) -> dict[str, list[Any]]:
        return {"tokens": self.tokens, "violations": self.violations, "errors": self.errors}


def as_thread(wish: Wish) -> None:
    with interlock.connect(wish.url) as client:
        lock = wish.lock(client)
        while not wish.over:
            try:
                with lock as hold:
                    hold.ensure()
                    wish.visit(hold.token)
            except interlock.InterlockError as error:
                wish.note(error)


def as_task(wish: Wish) -> None:
    async def work() -> None:
        async with aio.connect(wish.url) as client:
            lock = wish.lock(client)
            while not wish.over:
                try:
                    async with lock as hold:
                        hold.ensure()
                        await asyncio.to_thread(wish.visit, hold.token)
                except interlock.InterlockError as error:
                    wish.note(error)

    asyncio.run(work())


def as_kazoo(wish: Wish) -> None:
    hosts = wish.url.removeprefix("zk://").split("/")[0]
    with bare(hosts) as client:
        while not wish.over:
            try:
                with (lock := CuratorsLock(client, wish.name)):
                    wish.visit(lock.token())
            except KazooException as error:
                wish.note(error)


CONTENDERS: dict[str, Callable[[Wish], None]] = {
    "thread": as_thread,
    "task": as_task,
    "kazoo": as_kazoo,
}
