"""Elections: of several candidates one leads, for a term, and then stands again.

A term is a hold.  A loop over an election leaves each term quietly, however it has ended, and asks
for the next one; a block of `lead()` is one term, and raises as a lock's does.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Generator
from types import TracebackType
from typing import Any, Self

from ..drive import now
from ..errors import LockLost, NotHeld, OutcomeUnknown, StoreError, StoreUnavailable
from ..model import Holder, LockInfo, Seconds, Terms, checked_timeout
from ..recipes import blocks, holding
from ..recipes.election import leader_of, next_leader
from ..recipes.kinds import explain_kind_mismatch
from ..recipes.lock import ANSWER
from ..session.session import AsyncSession, Session
from ..spi import ElectionStore
from ..steps import Steps
from .copying import Described
from .hold import BaseHold
from .lock import Acquirable, AsyncAcquirable
from .timeouts import OWN, OwnTimeout

log = logging.getLogger("interlock.election")

#: How a term may have ended before its loop ends it.
ENDED = (LockLost, NotHeld, OutcomeUnknown, StoreUnavailable)


def _note(end: Exception) -> None:
    """A loop goes on, whatever has ended the term; a loss was told before."""
    if isinstance(end, StoreError):
        log.warning("%s", end)


# --- terms ----------------------------------------------------------------------------------


class BaseTerm(BaseHold):
    """What the terms of both worlds share."""

    __slots__ = ("_quiet",)

    def __init__(self, lease: Any) -> None:
        super().__init__(lease)
        #: Whether a loop asks for the next term when this one is over.
        self._quiet = False

    def _is_end(self, error: BaseException | None) -> bool:
        """Whether what leaves a block is the end of this very term, which its loop knows."""
        lost = self._quiet and isinstance(error, LockLost)
        return lost and (error.name, error.token) == (self.name, self.token)  # type: ignore[union-attr]


class Term(BaseTerm):
    """A term for which this client leads, held by a thread.

    In a loop over an election, `with term:` around the body lets a loss end the body and not the
    loop, which stands again.
    """

    __slots__ = ()

    def release(self) -> None:
        """Resign: the next candidate leads.

        Raises LockLost when the term had ended before, NotHeld when it was released.
        Cost: one round trip.
        """
        session: Any = self._lease.host
        session.run(holding.release(session, self._lease))

    def __enter__(self) -> Self:
        self._enter_block()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        session: Any = self._lease.host
        try:
            session.run(blocks.leave_block(session, self._lease, error))
        except LockLost as lost:
            if not self._is_end(lost):
                raise
            return True
        return self._is_end(error)


class AsyncTerm(BaseTerm):
    """A term for which this client leads, held by a task.

    In a loop over an election, `async with term:` around the body lets a loss end the body and not
    the loop, which stands again.
    """

    __slots__ = ()

    async def release(self) -> None:
        """Resign: the next candidate leads.

        Raises LockLost when the term had ended before, NotHeld when it was released.
        Cost: one round trip.
        """
        session: Any = self._lease.host
        await session.run(holding.release(session, self._lease))

    async def __aenter__(self) -> Self:
        session: Any = self._lease.host
        session.here()
        self._enter_block()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        session: Any = self._lease.host
        try:
            await session.run(blocks.leave_block(session, self._lease, error))
        except LockLost as lost:
            if not self._is_end(lost):
                raise
            return True
        return self._is_end(error)


# --- candidates -----------------------------------------------------------------------------


class Candidacy(Acquirable[Term]):
    """What a thread takes to lead, as it takes a lock."""

    __slots__ = ()
    _hold_class = Term


class AsyncCandidacy(AsyncAcquirable[AsyncTerm]):
    """What a task takes to lead, as it takes a lock."""

    __slots__ = ()
    _hold_class = AsyncTerm


class LoopCandidacy(Candidacy):
    """That of a loop: how a term has ended, the term has told; and the next one is asked for."""

    __slots__ = ()

    def __enter__(self) -> Term:
        term = super().__enter__()
        term._quiet = True
        return term

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            super().__exit__(kind, error, trace)
        except ENDED as end:
            _note(end)


class AsyncLoopCandidacy(AsyncCandidacy):
    """That of a loop: how a term has ended, the term has told; and the next one is asked for."""

    __slots__ = ()

    async def __aenter__(self) -> AsyncTerm:
        term = await super().__aenter__()
        term._quiet = True
        return term

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            await super().__aexit__(kind, error, trace)
        except ENDED as end:
            _note(end)


# --- elections ------------------------------------------------------------------------------


class BaseElection(Described):
    """A description of an election and the client to ask; it has no state of its own."""

    __slots__ = (
        "__weakref__",
        "_name",
        "_participant",
        "_session",
        "_store",
        "_terms",
        "_timeout",
    )
    _session: Any

    def __init__(
        self, session: Any, name: str, participant: str, terms: Terms, timeout: Seconds | None
    ) -> None:
        checked_timeout(timeout)
        self._session, self._name, self._participant = session, name, participant
        self._terms, self._timeout = terms, timeout
        self._store: ElectionStore = session.backend.elections(participant)

    @property
    def name(self) -> str:
        """What the user calls this election."""
        return self._name

    @property
    def participant(self) -> str:
        """What this client calls itself in it; "" where it was not said."""
        return self._participant

    def _as_candidate(self, timeout: Seconds | None) -> tuple[Any, ...]:
        """What a candidacy is made of."""
        wait = self._timeout if isinstance(timeout, OwnTimeout) else timeout
        return self._session, self._store, self.name, self._terms, wait

    def _look(self) -> Steps[LockInfo | None]:
        return self._store.look(self.name, now() + ANSWER)

    def _leader(self) -> Steps[Holder | None]:
        session, store = self._session, self._store
        info = yield from explain_kind_mismatch(session.backend, store, self.name, self._look, now)
        return leader_of(info)

    def _next(self, known: str | None) -> Steps[Holder | None]:
        session, store = self._session, self._store
        return explain_kind_mismatch(
            session.backend,
            store,
            self.name,
            lambda: next_leader(store, self.name, known, now),
            now,
        )


class Election(BaseElection):
    """An election for threads.  One object may be shared by all of them.

    `for term in election:` is one item for each term that this client wins; the next term is
    asked for when the body has ended.  To leave the loop is to resign.
    """

    __slots__ = ()
    _session: Session

    def lead(self, *, timeout: Seconds | None = OWN) -> Candidacy:
        """What is taken like a lock, to lead for one term: `with election.lead() as term`."""
        return Candidacy(*self._as_candidate(timeout))

    def leader(self) -> Holder | None:
        """Who leads now, also for those that take no part; None when there is no leader.

        Cost: at most two round trips, three on ZooKeeper.
        """
        return self._session.run(self._leader())

    def watch(self) -> Generator[Holder | None]:
        """Who leads now, and then whoever leads next, each time that it is another; without end.

        Cost: that of `leader()` for each change, and every two seconds; on SQLite and in memory,
        where no observer is woken, five times a second; on Redlock twice a second.
        """
        known: str | None = None
        while True:
            leader = self._session.run(self._next(known))
            known = "" if leader is None else leader.owner
            yield leader

    def __iter__(self) -> Generator[Term]:
        candidacy = LoopCandidacy(*self._as_candidate(OWN))
        while True:
            with candidacy as term:
                yield term

    def __repr__(self) -> str:
        return f"<Election {self.name!r} on {self._session.backend.label}>"


class AsyncElection(BaseElection):
    """An election for tasks.  One object may be shared by all of them.

    `async for term in election:` is one item for each term that this client wins; the next term
    is asked for when the body has ended.  To leave the loop is to resign.
    """

    __slots__ = ()
    _session: AsyncSession

    def lead(self, *, timeout: Seconds | None = OWN) -> AsyncCandidacy:
        """What is taken like a lock, to lead for one term: `with election.lead() as term`."""
        return AsyncCandidacy(*self._as_candidate(timeout))

    async def leader(self) -> Holder | None:
        """Who leads now, also for those that take no part; None when there is no leader.

        Cost: at most two round trips, three on ZooKeeper.
        """
        return await self._session.run(self._leader())

    async def watch(self) -> AsyncGenerator[Holder | None]:
        """Who leads now, and then whoever leads next, each time that it is another; without end.

        Cost: that of `leader()` for each change, and every two seconds; on SQLite and in memory,
        where no observer is woken, five times a second; on Redlock twice a second.
        """
        known: str | None = None
        while True:
            leader = await self._session.run(self._next(known))
            known = "" if leader is None else leader.owner
            yield leader

    async def __aiter__(self) -> AsyncGenerator[AsyncTerm]:
        candidacy = AsyncLoopCandidacy(*self._as_candidate(OWN))
        while True:
            async with candidacy as term:
                yield term

    def __repr__(self) -> str:
        return f"<AsyncElection {self.name!r} on {self._session.backend.label}>"
