"""The read/write lock: any number of readers, or one writer."""

from __future__ import annotations

from ..model import Seconds, Terms, checked_timeout
from ..recipes.rw_lease import RwLease
from ..session.session import AsyncSession, Session
from ..steps import Steps
from .copying import Described
from .hold import AsyncRwHold, RwHold
from .lock import Acquirable, AsyncAcquirable
from .timeouts import OWN, OwnTimeout


class RwSide(Acquirable[RwHold]):
    """One side of a read/write lock, for threads: reading, or writing."""

    __slots__ = ()
    _hold_class, _lease_class = RwHold, RwLease

    def _locked(self) -> Steps[bool]:
        return _in_use(self)


class AsyncRwSide(AsyncAcquirable[AsyncRwHold]):
    """One side of a read/write lock, for tasks: reading, or writing."""

    __slots__ = ()
    _hold_class, _lease_class = AsyncRwHold, RwLease

    def _locked(self) -> Steps[bool]:
        return _in_use(self)


def _in_use(side: RwSide | AsyncRwSide) -> Steps[bool]:
    """Whether this side is held."""
    mode = "read" if side._store.shared else "write"
    info = yield from side._look()
    return info is not None and any(holder.mode == mode for holder in info.holders)


class RwLock(Described):
    """A read/write lock for threads.  One object may be shared by all of them.

    Any number may read at the same time, or one may write.  The writer may read as well; a
    reader must leave before it can write.  Readers do not overtake a writer that waits.
    """

    __slots__ = ("__weakref__", "_name", "_session", "_terms", "_timeout")

    def __init__(self, session: Session, name: str, terms: Terms, timeout: Seconds | None) -> None:
        checked_timeout(timeout)
        self._session, self._name, self._terms, self._timeout = session, name, terms, timeout

    @property
    def name(self) -> str:
        """What the user calls this lock."""
        return self._name

    def read(self, *, timeout: Seconds | None = OWN) -> RwSide:
        """The side to read; what it takes is shared with other readers."""
        wait = self._timeout if isinstance(timeout, OwnTimeout) else timeout
        return RwSide(self._session, self._session.backend.readers, self.name, self._terms, wait)

    def write(self, *, timeout: Seconds | None = OWN) -> RwSide:
        """The side to write; what it takes is for one alone."""
        wait = self._timeout if isinstance(timeout, OwnTimeout) else timeout
        return RwSide(self._session, self._session.backend.writers, self.name, self._terms, wait)

    def __repr__(self) -> str:
        return f"<RwLock {self.name!r} on {self._session.backend.label}>"


class AsyncRwLock(Described):
    """A read/write lock for tasks.  One object may be shared by all of them.

    Any number may read at the same time, or one may write.  The writer may read as well; a
    reader must leave before it can write.  Readers do not overtake a writer that waits.
    """

    __slots__ = ("__weakref__", "_name", "_session", "_terms", "_timeout")

    def __init__(
        self, session: AsyncSession, name: str, terms: Terms, timeout: Seconds | None
    ) -> None:
        checked_timeout(timeout)
        self._session, self._name, self._terms, self._timeout = session, name, terms, timeout

    @property
    def name(self) -> str:
        """What the user calls this lock."""
        return self._name

    def read(self, *, timeout: Seconds | None = OWN) -> AsyncRwSide:
        """The side to read; what it takes is shared with other readers."""
        wait = self._timeout if isinstance(timeout, OwnTimeout) else timeout
        return AsyncRwSide(
            self._session, self._session.backend.readers, self.name, self._terms, wait
        )

    def write(self, *, timeout: Seconds | None = OWN) -> AsyncRwSide:
        """The side to write; what it takes is for one alone."""
        wait = self._timeout if isinstance(timeout, OwnTimeout) else timeout
        return AsyncRwSide(
            self._session, self._session.backend.writers, self.name, self._terms, wait
        )

    def __repr__(self) -> str:
        return f"<AsyncRwLock {self.name!r} on {self._session.backend.label}>"
