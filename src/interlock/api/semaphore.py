"""Semaphores: as many holders as there are permits."""

from __future__ import annotations

from typing import Any, cast

from ..drive import now
from ..model import checked_count
from ..recipes.lock import ANSWER
from ..steps import Steps
from ..stores import PermitStore
from .kinds import kindly
from .lock import AsyncFace, BaseLock, Face
from .shares import AsyncPermit, Permit


def _available(semaphore: BaseLock[Any]) -> Steps[int]:
    info = yield from semaphore._look()
    if info is None:  # nobody has used it yet, and whoever does will find these
        permits: int | None = getattr(semaphore.store, "permits", None)
        return permits or 0
    return info.available or 0


def _exhausted(semaphore: BaseLock[Any]) -> Steps[bool]:
    return (yield from _available(semaphore)) <= 0


def _set(semaphore: BaseLock[Any], permits: int) -> Steps[None]:
    checked_count("permits", permits, least=0)
    store = cast("PermitStore", semaphore.store)
    return kindly(
        semaphore.client.backend,
        store,
        semaphore.name,
        lambda: store.set_permits(semaphore.name, permits, now() + ANSWER),
    )


class Semaphore(Face[Permit]):
    """A semaphore for threads.  One object may be shared by all of them.

    Not reentrant: each acquire takes permits of its own, also in the same thread.
    """

    __slots__ = ()
    hold_class = Permit

    def available(self) -> int:
        """How many permits are free right now.  Cost: at most two round trips."""
        return self.client.run(_available(self))

    def set_permits(self, permits: int) -> None:
        """From now on there are so many permits in all; holders keep theirs.

        Cost: one round trip; two on Redis.
        """
        self.client.run(_set(self, permits))

    def _locked(self) -> Steps[bool]:
        return _exhausted(self)


class AsyncSemaphore(AsyncFace[AsyncPermit]):
    """A semaphore for tasks.  One object may be shared by all of them.

    Not reentrant: each acquire takes permits of its own, also in the same task.
    """

    __slots__ = ()
    hold_class = AsyncPermit

    async def available(self) -> int:
        """How many permits are free right now.  Cost: at most two round trips."""
        return await self.client.run(_available(self))

    async def set_permits(self, permits: int) -> None:
        """From now on there are so many permits in all; holders keep theirs.

        Cost: one round trip; two on Redis.
        """
        await self.client.run(_set(self, permits))

    def _locked(self) -> Steps[bool]:
        return _exhausted(self)
