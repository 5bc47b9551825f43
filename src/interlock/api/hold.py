"""A hold: what the user has in hand while holding.

It is a small object in front of a lease (`recipes.lease`), where all state lives.  A lock that is
taken again by the thread or task that holds it answers with the same hold.
"""

from __future__ import annotations

import weakref
from types import TracebackType
from typing import Any, Self

from ..model import checked_callback, permit_id
from ..recipes import blocks, holding
from ..recipes.lease import Callback, Lease
from ..recipes.rw_lease import RwLease, downgrade
from ..steps import Steps, nothing
from .copying import Single, one_acquisition


class BaseHold(Single):
    """What both worlds share."""

    __slots__ = ("__weakref__", "_lease")

    def __init__(self, lease: Lease) -> None:
        self._lease = lease
        lease.hold = weakref.ref(self)

    @classmethod
    def _of(cls, lease: Lease) -> Self:
        """The hold of a lease: the one that the user has in hand, if there is one."""
        hold: Self | None = None if lease.hold is None else lease.hold()
        return cls(lease) if hold is None else hold

    @property
    def name(self) -> str:
        """What the user calls the lock."""
        return self._lease.name

    @property
    def owner(self) -> str:
        """The identity of this acquisition; unique, never used again."""
        return self._lease.owner

    @property
    def token(self) -> int:
        """The fencing token of this grant: it only grows, from one grant of a name to the next."""
        return self._lease.token

    @property
    def lost(self) -> bool:
        """Whether the lease is over.  Computed from the clock at every read."""
        return self._lease.loss() is not None

    @property
    def expires_in(self) -> float:
        """Seconds for which the lease may still be trusted without another renewal."""
        return self._lease.expires_in

    @property
    def suspended(self) -> bool:
        """Whether the store does not answer, so that it is not known whether the lease stands."""
        return self._lease.suspended

    @property
    def release_requested(self) -> bool:
        """Whether another client has asked for the lock: see `Client.request_release`."""
        return self._lease.release_requested

    def ensure(self) -> None:
        """Raise LockLost unless the lease stands at this very moment.  No round trip.

        Raises NotHeld when the hold was released.
        """
        self._lease.ensure()

    def on_lost(self, callback: Callback) -> None:
        """Call `callback(hold)` once if the lock is lost; at once if it already is.

        It is called in the keeper's thread or task, or in the one that finds the loss, and must
        be quick.
        """
        checked_callback("on_lost", callback)
        self._lease.on_lost(callback)

    def on_release_requested(self, callback: Callback) -> None:
        """Call `callback(hold)` once if another client asks for the lock; at once if it has.

        Only ZooKeeper knows how to ask; there Java can ask as well, and be asked.
        """
        checked_callback("on_release_requested", callback)
        session: Any = self._lease.host
        session.here()  # the keeper of tasks is woken on its own loop
        if not self._lease.on_release_requested(callback):
            session.on_connection(False)  # so that the keeper begins to listen now

    def _enter_block(self) -> None:
        session: Any = self._lease.host
        self._lease.blocks += 1
        if session.cancels:
            session.enter_scope(self._lease)

    def _why_not(self) -> str:
        return one_acquisition("hold", self.name)

    def __repr__(self) -> str:
        lease = self._lease
        kind = type(self).__name__
        return f"<{kind} {lease.key[0]} {lease.name!r} token={lease.token} {lease.state}>"


class Hold(BaseHold):
    """A lock held by a thread."""

    __slots__ = ()

    def release(self) -> None:
        """Give the lock back; the last of several releases talks to the store.

        Raises LockLost when the lease had ended before, NotHeld when it was released.
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
    ) -> None:
        session: Any = self._lease.host
        session.run(blocks.leave_block(session, self._lease, error))


class AsyncHold(BaseHold):
    """A lock held by a task."""

    __slots__ = ()

    async def release(self) -> None:
        """Give the lock back; the last of several releases talks to the store.

        Raises LockLost when the lease had ended before, NotHeld when it was released.
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
    ) -> None:
        session: Any = self._lease.host
        await session.run(blocks.leave_block(session, self._lease, error))


# --- read/write locks -----------------------------------------------------------------------


def _rw(hold: BaseHold) -> RwLease:
    assert isinstance(hold._lease, RwLease)
    return hold._lease


def _downgrade(hold: BaseHold, session: Any) -> Steps[None]:
    lease = _rw(hold)
    lease.ensure()
    return downgrade(session, lease) if lease.known else nothing()


class RwHold(Hold):
    """A read/write lock held by a thread."""

    __slots__ = ()

    @property
    def mode(self) -> str:
        """Either "read" or "write"."""
        return "write" if _rw(self).writing else "read"

    def downgrade(self) -> None:
        """Go on as a reader; others may read from now on.

        Raises LockLost when the lease had ended before.
        Cost: one round trip; none for a hold that reads already.
        """
        session: Any = self._lease.host
        session.run(_downgrade(self, session))


class AsyncRwHold(AsyncHold):
    """A read/write lock held by a task."""

    __slots__ = ()

    @property
    def mode(self) -> str:
        """Either "read" or "write"."""
        return "write" if _rw(self).writing else "read"

    async def downgrade(self) -> None:
        """Go on as a reader; others may read from now on.

        Raises LockLost when the lease had ended before.
        Cost: one round trip; none for a hold that reads already.
        """
        session: Any = self._lease.host
        await session.run(_downgrade(self, session))


# --- semaphores -----------------------------------------------------------------------------


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
