"""The read/write lock: any number of readers, or one writer."""

from __future__ import annotations

from ..model import Seconds, Terms, checked_timeout
from ..steps import Steps
from .lock import OWN, AsyncFace, Face, _Own
from .shares import AsyncRwHold, RwHold
from .worlds import AsyncSession, Session


class RwSide(Face[RwHold]):
    """One side of a read/write lock, for threads: reading, or writing."""

    __slots__ = ()
    hold_class = RwHold

    def _locked(self) -> Steps[bool]:
        return _in_use(self)


class AsyncRwSide(AsyncFace[AsyncRwHold]):
    """One side of a read/write lock, for tasks: reading, or writing."""

    __slots__ = ()
    hold_class = AsyncRwHold

    def _locked(self) -> Steps[bool]:
        return _in_use(self)


def _in_use(side: RwSide | AsyncRwSide) -> Steps[bool]:
    """Whether anybody holds this side."""
    mode = "read" if side.store.shared else "write"
    info = yield from side._look()
    return info is not None and any(holder.mode == mode for holder in info.holders)


class RwLock:
    """A read/write lock for threads.  One object may be shared by all of them.

    Any number may read at the same time, or one may write.  Whoever writes may read as well;
    whoever reads must leave before it can write.  Readers do not overtake a writer that waits.
    """

    __slots__ = ("_terms", "_timeout", "client", "name")

    def __init__(self, client: Session, name: str, terms: Terms, timeout: Seconds | None) -> None:
        checked_timeout(timeout)
        self.client, self.name, self._terms, self._timeout = client, name, terms, timeout

    def read(self, *, timeout: Seconds | _Own | None = OWN) -> RwSide:
        """The side to read; what it takes is shared with other readers."""
        wait = self._timeout if isinstance(timeout, _Own) else timeout
        return RwSide(self.client, self.client.backend.readers, self.name, self._terms, wait)

    def write(self, *, timeout: Seconds | _Own | None = OWN) -> RwSide:
        """The side to write; what it takes is for one alone."""
        wait = self._timeout if isinstance(timeout, _Own) else timeout
        return RwSide(self.client, self.client.backend.writers, self.name, self._terms, wait)

    def __repr__(self) -> str:
        return f"<RwLock {self.name!r} on {self.client.backend.label}>"


class AsyncRwLock:
    """A read/write lock for tasks.  One object may be shared by all of them.

    Any number may read at the same time, or one may write.  Whoever writes may read as well;
    whoever reads must leave before it can write.  Readers do not overtake a writer that waits.
    """

    __slots__ = ("_terms", "_timeout", "client", "name")

    def __init__(
        self, client: AsyncSession, name: str, terms: Terms, timeout: Seconds | None
    ) -> None:
        checked_timeout(timeout)
        self.client, self.name, self._terms, self._timeout = client, name, terms, timeout

    def read(self, *, timeout: Seconds | _Own | None = OWN) -> AsyncRwSide:
        """The side to read; what it takes is shared with other readers."""
        wait = self._timeout if isinstance(timeout, _Own) else timeout
        return AsyncRwSide(self.client, self.client.backend.readers, self.name, self._terms, wait)

    def write(self, *, timeout: Seconds | _Own | None = OWN) -> AsyncRwSide:
        """The side to write; what it takes is for one alone."""
        wait = self._timeout if isinstance(timeout, _Own) else timeout
        return AsyncRwSide(self.client, self.client.backend.writers, self.name, self._terms, wait)

    def __repr__(self) -> str:
        return f"<AsyncRwLock {self.name!r} on {self.client.backend.label}>"
