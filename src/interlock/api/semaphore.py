"""Semaphores: as many holders as there are permits."""

from __future__ import annotations

from typing import Any, cast

from ..drive import now
from ..ledger import UNSET, refusal
from ..model import checked_count
from ..recipes.kinds import explain_kind_mismatch
from ..recipes.lock import ANSWER
from ..spi import PermitStore
from ..steps import Steps
from .hold import AsyncPermit, Permit
from .lock import Acquirable, AsyncAcquirable, BaseLock


def _available(semaphore: BaseLock[Any]) -> Steps[int]:
    info = yield from semaphore._look()
    if info is not None and info.available is not None:
        return info.available
    # The name is unused: the next acquire sets these permits, or is refused in the same words.
    store = cast("PermitStore", semaphore._store)
    if store.permits is None:
        raise refusal(semaphore.name, store.kind, (UNSET,), semaphore._session.backend.label)
    held = () if info is None else info.holders
    return max(0, store.permits - sum(each.weight for each in held))


def _exhausted(semaphore: BaseLock[Any]) -> Steps[bool]:
    return (yield from _available(semaphore)) <= 0


def _set(semaphore: BaseLock[Any], permits: int) -> Steps[None]:
    checked_count("permits", permits, least=0)
    store = cast("PermitStore", semaphore._store)
    return explain_kind_mismatch(
        semaphore._session.backend,
        store,
        semaphore.name,
        lambda: store.set_permits(semaphore.name, permits, now() + ANSWER),
        now,
    )


class Semaphore(Acquirable[Permit]):
    """A semaphore for threads.  One object may be shared by all of them.

    Not reentrant: each acquire takes permits of its own, also in the same thread.
    """

    __slots__ = ()
    _hold_class = Permit

    def available(self) -> int:
        """How many permits are free right now.

        Raises StoreMisconfigured where no client has said yet how many there are.
        Cost: at most two round trips.
        """
        return self._session.run(_available(self))

    def set_permits(self, permits: int) -> None:
        """From now on there are so many permits in all; holders keep theirs.

        Cost: one round trip; two on Redis.
        """
        self._session.run(_set(self, permits))

    def _locked(self) -> Steps[bool]:
        return _exhausted(self)


class AsyncSemaphore(AsyncAcquirable[AsyncPermit]):
    """A semaphore for tasks.  One object may be shared by all of them.

    Not reentrant: each acquire takes permits of its own, also in the same task.
    """

    __slots__ = ()
    _hold_class = AsyncPermit

    async def available(self) -> int:
        """How many permits are free right now.

        Raises StoreMisconfigured where no client has said yet how many there are.
        Cost: at most two round trips.
        """
        return await self._session.run(_available(self))

    async def set_permits(self, permits: int) -> None:
        """From now on there are so many permits in all; holders keep theirs.

        Cost: one round trip; two on Redis.
        """
        await self._session.run(_set(self, permits))

    def _locked(self) -> Steps[bool]:
        return _exhausted(self)
