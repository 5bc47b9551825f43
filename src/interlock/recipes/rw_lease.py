"""A lease of a read/write lock: it knows how often it was entered to write."""

from __future__ import annotations

from typing import Any, cast

from ..errors import NotHeld, OutcomeUnknown, StoreError, StoreUnavailable, UsageError
from ..model import Grant, Terms
from ..spi import LockStore, RwStore
from ..steps import Steps
from .hosts import HoldingSession
from .lease import Lease, LeaseHost
from .local_queue import Key
from .renewal import BY_ANSWER, BY_CLOCK, NEVER
from .retry import retry


class RwLease(Lease):
    """A lease that writes, or reads.

    A writer may read as well; that is counted here and costs no round trip.  Once the last
    write is left and reads remain, the store makes it a reader.
    """

    __slots__ = ("known", "turned", "writes", "writing")

    def __init__(
        self, host: LeaseHost, store: LockStore, key: Key, grant: Grant, terms: Terms, holds: Any
    ) -> None:
        super().__init__(host, store, key, grant, terms, holds)
        #: Whether it may write; and whether the store may still know it as a writer.
        self.writing = self.known = not store.shared
        #: How often it was entered to write, and how many of these became reads.
        self.writes, self.turned = int(self.writing), 0

    def reenter(self, store: LockStore) -> None:
        self.ensure()
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
    def turns(self) -> bool:
        """Whether the store must be told that we only read from now on."""
        return self.known and self.writes == 0 and self.depth > 0

    def read_on(self) -> None:
        """Count as a reader from now on."""
        self.writing, self.turned, self.writes = False, self.turned + self.writes, 0

    def downgraded(self, until: float) -> Steps[bool]:
        """Tell the store that we only read from now on."""
        store = cast("RwStore", self.store)
        return store.downgrade(self.name, self.owner, self.lease, until)

    def undowngraded(self, failure: StoreError) -> StoreError:
        """What to say when it is not known whether the store lets others read."""
        return type(failure)(
            f"the store did not confirm that {self.name!r} is only read from now on ({failure}); "
            "it may keep readers out until downgrade() is called again, or the lock is released",
            failure.store,
        )


def downgrade(session: HoldingSession, lease: RwLease, limit: float = NEVER) -> Steps[None]:
    """Read on where we wrote, and let others read.  One round trip.

    From the question on we count as a reader, whatever becomes of the answer.
    """
    lease.read_on()
    session.queue.leave(lease.key, lease.owner)
    asked = session.clock()
    try:
        downgraded = yield from retry(lease.downgraded, session.clock, limit)
    except (OutcomeUnknown, StoreUnavailable) as failure:
        raise lease.undowngraded(failure) from failure
    lease.known = False
    if not downgraded or lease.lost:  # what has ended is not revived: another may have had it
        if session.schedule.drop(lease):
            lease.lose(BY_CLOCK if downgraded else BY_ANSWER)
        raise lease.lost_error(lease.cause or BY_ANSWER)
    lease.renewed(asked)
    session.schedule.settle(lease)
