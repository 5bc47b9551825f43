"""Holds of what several may hold: readers and writers, and permits."""

from __future__ import annotations

from typing import Any, cast

from ..errors import NotHeld, UsageError
from ..model import permit_id
from ..steps import Steps, nothing
from ..stores import LockStore, RwStore
from .hold import AsyncHold, BaseHold, Hold


class ReadWrite(BaseHold):
    """A hold of a read/write lock: it knows how often it was entered to write.

    A writer may read as well; that is counted here and costs no round trip.  Once the last
    write is left and reads remain, the store makes it a reader.
    """

    __slots__ = ()
    #: How often it was entered to write, and how many of these became reads.
    writes: int
    turned: int
    #: Whether it may write; and whether the store may still know it as a writer.
    writing: bool
    known: bool

    def __init__(self, *facts: Any) -> None:
        super().__init__(*facts)
        self.writing = not self.store.shared
        self.writes, self.turned, self.known = int(self.writing), 0, self.writing

    @property
    def mode(self) -> str:
        """Either "read" or "write"."""
        return "write" if self.writing else "read"

    def reenter(self, store: LockStore) -> None:
        if not store.shared and not self.writing:
            raise UsageError(
                f"this thread or task already reads {self.name!r}, and to write it would wait "
                "for itself: leave the read first"
            )
        super().reenter(store)
        self.writes += not store.shared

    def leaves(self, store: LockStore | None = None) -> bool:
        reads = self.depth - self.writes - self.turned
        as_writer = reads == 0 if store is None else not store.shared
        if self.depth > 0 and (self.writes + self.turned if as_writer else reads) == 0:
            raise NotHeld(self.name, self.owner, "in this mode")
        last = super().leaves()
        if as_writer and self.turned:
            self.turned -= 1
        elif as_writer:
            self.writes -= 1
        return last

    @property
    def turns(self) -> bool:  # type: ignore[override]
        return self.known and self.writes == 0 and self.depth > 0

    def read_on(self) -> None:
        self.writing, self.turned, self.writes = False, self.turned + self.writes, 0

    def confirm_reading(self) -> None:
        self.known = False

    def downgraded(self, until: float) -> Steps[bool]:
        store = cast("RwStore", self.store)
        return store.downgrade(self.name, self.owner, self.lease, until)

    def _downgrade(self) -> Steps[None]:
        self.ensure()
        return self._client.downgrade_hold(self) if self.known else nothing()


class RwHold(ReadWrite, Hold):
    """A read/write lock held by a thread."""

    __slots__ = ()

    def downgrade(self) -> None:
        """Go on as a reader; others may read from now on.

        Raises LockLost when the lease had ended before.
        Cost: one round trip; none for a hold that reads already.
        """
        self._client.run(self._downgrade())

    def __enter__(self) -> RwHold:
        return self


class AsyncRwHold(ReadWrite, AsyncHold):
    """A read/write lock held by a task."""

    __slots__ = ()

    async def downgrade(self) -> None:
        """Go on as a reader; others may read from now on.

        Raises LockLost when the lease had ended before.
        Cost: one round trip; none for a hold that reads already.
        """
        await self._client.run(self._downgrade())

    async def __aenter__(self) -> AsyncRwHold:
        self.enter_block()
        return self


class Permit(Hold):
    """Permits of a semaphore, held by a thread."""

    __slots__ = ()

    @property
    def id(self) -> str:
        """The permit's id; on Redis the one that Redisson knows a leased permit by."""
        return permit_id(self.owner).hex()


class AsyncPermit(AsyncHold):
    """Permits of a semaphore, held by a task."""

    __slots__ = ()

    @property
    def id(self) -> str:
        """The permit's id; on Redis the one that Redisson knows a leased permit by."""
        return permit_id(self.owner).hex()
