"""The latch: everybody waits until a count is down."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from ..drive import now
from ..errors import AcquireTimeout
from ..model import LONGEST_LEASE, Seconds, Terms, checked_count, checked_timeout
from ..recipes.latch import count_down
from ..recipes.lock import ANSWER, acquire
from ..steps import Steps
from ..stores import LatchStore
from .kinds import kindly
from .worlds import AsyncSession, Session

R = TypeVar("R")

#: What a wait is told that it holds: nothing, for ever.
AFTERWARDS = Terms(lease=LONGEST_LEASE, renew=False)


class BaseLatch:
    """A description of a latch and the client to ask; it has no state of its own."""

    __slots__ = ("_store", "name")
    client: Any

    def __init__(self, store: LatchStore, name: str) -> None:
        self._store, self.name = store, name

    def _set(self, count: int) -> Steps[bool]:
        checked_count("count", count)
        return self._ask(lambda: self._store.set_count(self.name, count, now() + ANSWER))

    def _count(self) -> Steps[int]:
        info = yield from self._ask(lambda: self._store.look(self.name, now() + ANSWER))
        return 0 if info is None or info.count is None else info.count

    def _tick(self) -> Steps[int]:
        owner = self.client.new_owner(self._store)
        return self._ask(lambda: count_down(self._store, self.name, owner, now))

    def _wait(self, limit: float) -> Steps[bool]:
        """To wait for a latch is to acquire it, and to hold nothing afterwards."""
        seeking = self.client.seek(self._store, self.name, AFTERWARDS, limit, trial=True)
        try:
            yield from self._ask(lambda: acquire(seeking))
        except AcquireTimeout:
            return False
        return True

    def _ask(self, ask: Callable[[], Steps[R]]) -> Steps[R]:
        return kindly(self.client.backend, self._store, self.name, ask)


class Latch(BaseLatch):
    """A latch for threads.  One object may be shared by all of them."""

    __slots__ = ("client",)
    client: Session

    def __init__(self, client: Session, name: str) -> None:
        super().__init__(client.backend.latches, name)
        self.client = client

    def set(self, count: int) -> bool:
        """Begin to count down from `count`; False when it is counting already.

        Cost: one round trip.
        """
        return self.client.run(self._set(count))

    def count_down(self) -> int:
        """Count one down; the last one lets everybody go.  Answers what is left.

        Counts once, also when an answer is lost on the way.  Cost: one round trip; on
        ZooKeeper two, and one for each who was quicker.
        """
        return self.client.run(self._tick())

    def wait(self, timeout: Seconds | None = None) -> bool:
        """Wait until the count is down; False when `timeout` seconds were not enough.

        A latch that nobody has set is down.  A lost message delays this by two seconds at
        most.  Cost: one round trip when down; otherwise two, one to pass, and at most one a
        second while waiting.
        """
        limit = checked_timeout(timeout)
        return self.client.run(self._wait(limit))

    @property
    def count(self) -> int:
        """How many are still to be counted down.  Cost: one round trip."""
        return self.client.run(self._count())

    def __repr__(self) -> str:
        return f"<Latch {self.name!r} on {self.client.backend.label}>"


class AsyncLatch(BaseLatch):
    """A latch for tasks.  One object may be shared by all of them."""

    __slots__ = ("client",)
    client: AsyncSession

    def __init__(self, client: AsyncSession, name: str) -> None:
        super().__init__(client.backend.latches, name)
        self.client = client

    async def set(self, count: int) -> bool:
        """Begin to count down from `count`; False when it is counting already.

        Cost: one round trip.
        """
        return await self.client.run(self._set(count))

    async def count_down(self) -> int:
        """Count one down; the last one lets everybody go.  Answers what is left.

        Counts once, also when an answer is lost on the way.  Cost: one round trip; on
        ZooKeeper two, and one for each who was quicker.
        """
        return await self.client.run(self._tick())

    async def wait(self, timeout: Seconds | None = None) -> bool:
        """Wait until the count is down; False when `timeout` seconds were not enough.

        A latch that nobody has set is down.  A lost message delays this by two seconds at
        most.  Cost: one round trip when down; otherwise two, one to pass, and at most one a
        second while waiting.
        """
        limit = checked_timeout(timeout)
        return await self.client.run(self._wait(limit))

    @property
    def count(self) -> Awaitable[int]:
        """How many are still to be counted down.  Cost: one round trip."""
        return self.client.run(self._count())

    def __repr__(self) -> str:
        return f"<AsyncLatch {self.name!r} on {self.client.backend.label}>"
