"""Barriers: parties enter together, and leave together."""

from __future__ import annotations

from types import TracebackType
from typing import Any, cast

from ..model import Seconds, Terms, checked_timeout
from ..recipes import barrier, holding
from ..recipes.lease import Lease
from ..session.session import AsyncSession, BaseSession, Session
from ..spi import BarrierStore, LockStore
from ..steps import Steps
from .hold import BaseHold
from .lock import BaseLock, H, Request
from .timeouts import OWN, OwnTimeout


class BarrierRequest(Request):
    """What a party wants: its blocks end when all are done."""

    __slots__ = ("timeout",)
    #: How long a block waits at its end.
    timeout: float

    def _leave(self, lease: Lease, error: BaseException | None) -> Steps[None]:
        return barrier.leave_block(self._session, lease, error, self.timeout)


class BaseBarrier(BaseLock[H]):
    """A description of a barrier, the session to ask, and its open blocks."""

    __slots__ = ()
    _request_class = BarrierRequest
    _request: BarrierRequest

    def __init__(
        self,
        session: BaseSession,
        store: LockStore,
        name: str,
        terms: Terms,
        timeout: Seconds | None,
    ) -> None:
        super().__init__(session, store, name, terms, timeout)
        self._request.timeout = self._timeout

    @property
    def parties(self) -> int:
        """How many parties meet here."""
        return cast("BarrierStore", self._store).parties or 0

    def _patience(self, timeout: Seconds | None) -> float:
        return self._timeout if isinstance(timeout, OwnTimeout) else checked_timeout(timeout)

    def _enter(self, timeout: Seconds | None) -> Steps[H]:
        return barrier.enter(self._session, self._request, self._patience(timeout))

    def _depart(self, timeout: Seconds | None) -> Steps[None]:
        return barrier.leave(self._session, self._mine(), self._patience(timeout))

    def _meet(self, timeout: Seconds | None) -> Steps[None]:
        return barrier.meet(self._session, self._request, self._patience(timeout))

    def _arrived(self) -> Steps[int]:
        info = yield from self._look()
        return 0 if info is None else len(info.holders)


# --- parties --------------------------------------------------------------------------------


class Party(BaseHold):
    """A party inside of a barrier, in a thread."""

    __slots__ = ()

    def leave(self, timeout: Seconds | None = None) -> None:
        """Wait until all parties are done, and leave.

        Raises BarrierTimeout when `timeout` seconds were not enough (None: no limit), and has
        left then as well; LockLost when the party had lost its place before.
        Cost: one round trip for the last one, otherwise two, and at most one a second.
        """
        limit, session = checked_timeout(timeout), cast("Any", self._lease.host)
        session.run(barrier.leave(session, self._lease, limit))

    def release(self) -> None:
        """Leave at once, whatever the others do.  Cost: one round trip."""
        session: Any = self._lease.host
        session.run(holding.release(session, self._lease))


class AsyncParty(BaseHold):
    """A party inside of a barrier, in a task."""

    __slots__ = ()

    async def leave(self, timeout: Seconds | None = None) -> None:
        """Wait until all parties are done, and leave.

        Raises BarrierTimeout when `timeout` seconds were not enough (None: no limit), and has
        left then as well; LockLost when the party had lost its place before.
        Cost: one round trip for the last one, otherwise two, and at most one a second.
        """
        limit, session = checked_timeout(timeout), cast("Any", self._lease.host)
        await session.run(barrier.leave(session, self._lease, limit))

    async def release(self) -> None:
        """Leave at once, whatever the others do.  Cost: one round trip."""
        session: Any = self._lease.host
        await session.run(holding.release(session, self._lease))


# --- barriers -------------------------------------------------------------------------------


class Barrier(BaseBarrier[Party]):
    """A barrier for threads.  One object may be shared by all of them: each is a party.

    A block enters when all parties are there, and ends when all of them are done; one that ends
    with an exception leaves at once.
    """

    __slots__ = ()
    _session: Session
    _hold_class = Party

    def enter(self, timeout: Seconds | None = OWN) -> Party:
        """Wait until all parties are there.

        Raises BarrierTimeout when `timeout` seconds were not enough (None: no limit), and
        StoreUnavailable when the store could not be asked for so long (None: for 30 s); the party
        is taken out again then, and nothing is left in the store.
        Cost: one round trip for the last one, otherwise three, and at most one a second.
        """
        return self._session.run(self._enter(timeout))

    def leave(self, timeout: Seconds | None = OWN) -> None:
        """Wait until all parties are done, and leave: for the running thread or task.

        Raises NotHeld when it is not inside, otherwise as `Party.leave`.
        """
        self._session.run(self._depart(timeout))

    def wait(self, timeout: Seconds | None = OWN) -> None:
        """Wait until all parties are there, and go on, as `threading.Barrier` does it.

        Parties that come again wait until those of this time have gone.  Raises as `enter`.
        Cost: that of `enter`, and one round trip.
        """
        self._session.run(self._meet(timeout))

    def arrived(self) -> int:
        """How many parties are there now.  Cost: at most two round trips, three on ZooKeeper."""
        return self._session.run(self._arrived())

    def __enter__(self) -> Party:
        steps = barrier.enter(self._session, self._request, self._timeout, block=True)
        party: Party = self._session.run(steps)
        return party

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._session.run(self._request.leave_block(error))


class AsyncBarrier(BaseBarrier[AsyncParty]):
    """A barrier for tasks.  One object may be shared by all of them: each is a party.

    A block enters when all parties are there, and ends when all of them are done; one that ends
    with an exception leaves at once.
    """

    __slots__ = ()
    _session: AsyncSession
    _hold_class = AsyncParty

    async def enter(self, timeout: Seconds | None = OWN) -> AsyncParty:
        """Wait until all parties are there.

        Raises BarrierTimeout when `timeout` seconds were not enough (None: no limit), and
        StoreUnavailable when the store could not be asked for so long (None: for 30 s); the party
        is taken out again then, and nothing is left in the store.
        Cost: one round trip for the last one, otherwise three, and at most one a second.
        """
        self._session.here()
        return await self._session.run(self._enter(timeout))

    async def leave(self, timeout: Seconds | None = OWN) -> None:
        """Wait until all parties are done, and leave: for the running thread or task.

        Raises NotHeld when it is not inside, otherwise as `Party.leave`.
        """
        self._session.here()
        await self._session.run(self._depart(timeout))

    async def wait(self, timeout: Seconds | None = OWN) -> None:
        """Wait until all parties are there, and go on, as `threading.Barrier` does it.

        Parties that come again wait until those of this time have gone.  Raises as `enter`.
        Cost: that of `enter`, and one round trip.
        """
        self._session.here()
        await self._session.run(self._meet(timeout))

    async def arrived(self) -> int:
        """How many parties are there now.  Cost: at most two round trips, three on ZooKeeper."""
        return await self._session.run(self._arrived())

    async def __aenter__(self) -> AsyncParty:
        self._session.here()
        steps = barrier.enter(self._session, self._request, self._timeout, block=True)
        party: AsyncParty = await self._session.run(steps)
        return party

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._session.here()
        await self._session.run(self._request.leave_block(error))
