"""The latch: what waits for it waits until a count is down."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

from ..drive import now
from ..errors import AcquireTimeout
from ..model import LONGEST_LEASE, Seconds, Terms, checked_count, checked_timeout
from ..recipes.kinds import explain_kind_mismatch
from ..recipes.latch import count_down
from ..recipes.lock import ANSWER, acquire
from ..session.session import AsyncSession, Session
from ..spi import LatchStore
from ..steps import Steps
from .copying import Described

R = TypeVar("R")

#: What a wait is told that it holds: nothing, for ever.
AFTERWARDS = Terms(lease=LONGEST_LEASE, renew=False)


class BaseLatch(Described):
    """A description of a latch and the client to ask; it has no state of its own."""

    __slots__ = ("__weakref__", "_name", "_session", "_store")
    _session: Any

    def __init__(self, session: Any, name: str) -> None:
        self._session, self._name = session, name
        self._store: LatchStore = session.backend.latches

    @property
    def name(self) -> str:
        """What the user calls this latch."""
        return self._name

    def _start(self, count: int) -> Steps[bool]:
        checked_count("count", count)
        return self._ask(lambda: self._store.set_count(self.name, count, now() + ANSWER))

    def _count(self) -> Steps[int]:
        info = yield from self._ask(lambda: self._store.look(self.name, now() + ANSWER))
        return 0 if info is None or info.count is None else info.count

    def _tick(self) -> Steps[int]:
        owner = self._session.new_owner(self._store)
        return self._ask(lambda: count_down(self._store, self.name, owner, now))

    def _wait(self, limit: float) -> Steps[bool]:
        """To wait for a latch is to acquire it, and to hold nothing afterwards."""
        acquisition = self._session.acquisition(self._store, self.name, AFTERWARDS, limit, True)
        waiting = self._session.queue.acquiring
        try:
            waiting[acquisition.owner] = acquisition
            yield from self._ask(lambda: acquire(acquisition), acquisition.ends)
        except AcquireTimeout:
            return False
        finally:
            waiting.pop(acquisition.owner, None)
        return True

    def _ask(self, ask: Callable[[], Steps[R]], limit: float = math.inf) -> Steps[R]:
        return explain_kind_mismatch(
            self._session.backend, self._store, self.name, ask, now, limit
        )


class Latch(BaseLatch):
    """A latch for threads.  One object may be shared by all of them."""

    __slots__ = ()
    _session: Session

    def start(self, count: int) -> bool:
        """Begin to count down from `count`; False when it is counting already.

        Cost: one round trip.
        """
        return self._session.run(self._start(count))

    def count_down(self) -> int:
        """Count one down; the last one lets all waiters go.  Answers what is left.

        Counts once, also when an answer is lost on the way.  Cost: one round trip; on
        ZooKeeper two, and one for each who was quicker.
        """
        return self._session.run(self._tick())

    def wait(self, timeout: Seconds | None = None) -> bool:
        """Wait until the count is down; False when `timeout` seconds were not enough.

        Raises StoreUnavailable when the store could not be asked for so long (None: for 30 s).
        A latch that was never started is down.  A lost message delays this by two seconds at
        most.  Cost: one round trip when down; otherwise two, one to pass, and at most one a
        second while waiting.
        """
        limit = checked_timeout(timeout)
        return self._session.run(self._wait(limit))

    def count(self) -> int:
        """How many are still to be counted down.  Cost: one round trip."""
        return self._session.run(self._count())

    def __repr__(self) -> str:
        return f"<Latch {self.name!r} on {self._session.backend.label}>"


class AsyncLatch(BaseLatch):
    """A latch for tasks.  One object may be shared by all of them."""

    __slots__ = ()
    _session: AsyncSession

    async def start(self, count: int) -> bool:
        """Begin to count down from `count`; False when it is counting already.

        Cost: one round trip.
        """
        return await self._session.run(self._start(count))

    async def count_down(self) -> int:
        """Count one down; the last one lets all waiters go.  Answers what is left.

        Counts once, also when an answer is lost on the way.  Cost: one round trip; on
        ZooKeeper two, and one for each who was quicker.
        """
        return await self._session.run(self._tick())

    async def wait(self, timeout: Seconds | None = None) -> bool:
        """Wait until the count is down; False when `timeout` seconds were not enough.

        Raises StoreUnavailable when the store could not be asked for so long (None: for 30 s).
        A latch that was never started is down.  A lost message delays this by two seconds at
        most.  Cost: one round trip when down; otherwise two, one to pass, and at most one a
        second while waiting.
        """
        limit = checked_timeout(timeout)
        return await self._session.run(self._wait(limit))

    async def count(self) -> int:
        """How many are still to be counted down.  Cost: one round trip."""
        return await self._session.run(self._count())

    def __repr__(self) -> str:
        return f"<AsyncLatch {self.name!r} on {self._session.backend.label}>"
