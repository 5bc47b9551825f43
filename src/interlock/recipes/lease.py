"""A lease: one grant, and what becomes of it until it is released or lost.

All state of an acquisition lives here; what users have in hand is a small `Hold` in front of it.
Whether a lease is lost is computed from `until` at every read, never kept in a flag.  The clock,
the log and the thread or task come from the session (`LeaseHost`), so that the simulation drives
the very same leases.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol, TypeAlias

from ..errors import LockLost, NotHeld, StoreError
from ..events import Event, Lost, ReleaseRequested, Renewed, Suspended
from ..model import Grant, Terms, guard
from ..spi import LockStore
from ..words import duration
from .local_queue import Key, LocalQueue
from .lock import Clock
from .renewal import NEVER

#: Called once with the hold, in the keeper's thread or task, or in the one that finds the loss; it
#: must be quick.
Callback: TypeAlias = Callable[[Any], object]

FORKED = "this process is a fork of the holder, and holds nothing itself"
RELEASED = "any longer: this hold was released before"


class LeaseHost(Protocol):
    """The session that a lease belongs to, as the lease sees it."""

    clock: Clock
    #: How often this process has been forked off another one since the session was made.
    generation: int
    queue: LocalQueue

    #: Whether the session has an observer.
    observed: bool

    def notify(self, event: Event) -> None:
        """Log an event, and hand it to the observer."""
        ...

    def report_loss(self, error: LockLost, event: Lost) -> None:
        """Log a loss, and hand it to the observer."""
        ...

    def call_safely(self, function: Callback, argument: object) -> None:
        """Call what the user gave us; what it raises goes no further."""
        ...

    def owe(self, store: LockStore, name: str, owner: str, lease: float) -> None:
        """Let the keeper withdraw an owner."""
        ...

    def forgotten(self, lease: Lease) -> None:
        """A lease that stands goes out of reach."""
        ...


class Scope(Protocol):
    """The block of a task that relies on a lease."""

    def cancel(self, message: str) -> None: ...
    def exit(self, error: BaseException | None) -> bool: ...


class Lease:
    """The facts of a grant, and whether it still stands: see `renewal.Kept`."""

    __slots__ = (
        "__weakref__",
        "_callbacks",
        "_guard",
        "_request_callbacks",
        "acquired",
        "blocks",
        "cause",
        "depth",
        "ended",
        "for_block",
        "generation",
        "grant",
        "hold",
        "holds",
        "host",
        "kept",
        "key",
        "lease",
        "lost_at",
        "max_at",
        "name",
        "origin",
        "outer",
        "owner",
        "reference",
        "release_requested",
        "renew_at",
        "scope",
        "store",
        "suspended",
        "token",
        "until",
        "wrap",
    )

    def __init__(
        self, host: LeaseHost, store: LockStore, key: Key, grant: Grant, terms: Terms, holds: Any
    ) -> None:
        # First: an interrupted constructor leaves a lease without its other parts.
        self.cause: str | None = None
        self.host, self.generation = host, host.generation
        #: `holds` finds what the thread or task holds that took the lease; None once it has ended.
        self.store, self.key, self.holds, self.grant = store, key, holds, grant
        self.name, self.owner, self.token = grant.name, grant.owner, grant.token
        self.lease, self.kept, self._guard = terms.lease, terms.renew, terms.guard
        self.max_at = NEVER if terms.max_hold is None else grant.asked + terms.max_hold
        if (effective := store.effective_lease(terms.lease)) < terms.lease:
            self._shorten(effective)
        self.acquired, self.depth = grant.asked, 1
        #: The lease of the same name below ours: another permit, or one that was lost.
        self.outer: Lease | None = None
        #: Whether it was taken for a block.
        self.for_block = False
        #: Where it was taken, if that is to be told.
        self.origin = ""
        #: How many open blocks rely on it; in asyncio they have a scope that a loss cancels.
        self.blocks = 0
        self.scope: Scope | None = None
        #: When it was declared over, for the reason in `cause`.
        self.ended = 0.0
        #: Finds the hold that the user has in hand, or makes another one, for callbacks.
        self.hold: Callable[[], Any] | None = None
        self.wrap: Callable[[Lease], Any] = _itself
        self._callbacks: list[Callback] = []
        self._request_callbacks: list[Callback] = []
        #: Whether another client has asked for the lock.
        self.release_requested = False
        #: The store does not answer, so that it is not known whether the lease still stands.
        self.suspended = False
        #: How the schedule finds this lease; it does not keep it alive.
        self.reference = weakref.ref(self)
        self._stand(grant.asked, grant.until)

    def _shorten(self, effective: float) -> None:
        """The store stands for less than the lease: ask it again and again until that ends."""
        if not self.kept:
            self.kept, self.max_at = True, min(self.max_at, self.grant.asked + self.lease)
        self.lease, self._guard = effective, guard(effective)

    def _stand(self, asked: float, until: float) -> None:
        ceiling, lost_at = self.max_at, until - self._guard
        # At the ceiling the store still keeps others out, so there is no need to hurry.
        self.lost_at = lost_at if lost_at < ceiling else ceiling
        self.until = until if until < ceiling else ceiling
        third, half = self.lease / 3, (until - asked) / 2
        due = asked + (third if third < half else half)
        self.renew_at = due if self.kept and due < ceiling else NEVER

    # --- how it stands ---------------------------------------------------------------------

    @property
    def inherited(self) -> bool:
        """Whether this process got the lease by forking, and so must not touch it."""
        return self.generation != self.host.generation

    def loss(self) -> str | None:
        """Why the lease is over, in words; None while it stands."""
        if self.cause is not None:
            return self.cause
        if self.depth == 0:
            return None  # released, which is not lost
        if self.generation != self.host.generation:
            return FORKED
        if self.host.clock() >= self.until:
            return "its validity has passed on this machine's clock"
        return None

    @property
    def lost(self) -> bool:
        """Whether the lease is over."""
        return self.loss() is not None

    @property
    def expires_in(self) -> float:
        """Seconds for which the lease may still be trusted without another renewal."""
        over = self.depth == 0 or self.loss() is not None
        return 0.0 if over else max(0.0, self.until - self.host.clock())

    @property
    def over(self) -> bool:
        """Whether it is lost, and no open block relies on it any more."""
        return self.blocks == 0 and self.loss() is not None

    @property
    def lasting(self) -> bool:
        """Whether it stands, and only a release ends it, as far as its terms are concerned."""
        kept = self.renew_at != NEVER and self.max_at == NEVER
        return kept and self.depth > 0 and self.loss() is None

    def ensure(self) -> None:
        """Raise LockLost unless the lease stands now, NotHeld when it was released."""
        if self.depth == 0 and self.cause is None:
            raise NotHeld(self.name, self.owner, RELEASED)
        if (cause := self.loss()) is not None:
            raise self.lost_error(cause)

    # --- how often it is held ----------------------------------------------------------------

    def reenter(self, store: LockStore) -> None:
        """Hold once more what is held, in the same thread or task.  No round trip."""
        if (cause := self.loss()) is not None:
            raise self.lost_error(cause)
        self.depth += 1

    def leaves(self, store: LockStore | None = None) -> bool:
        """Count one release; True when it is the last."""
        if self.generation != self.host.generation:
            raise NotHeld(self.name, self.owner, f"here: {FORKED}")
        if self.depth == 0:
            raise NotHeld(self.name, self.owner, RELEASED)
        self.depth -= 1
        return self.depth == 0

    def write_down(self, holds: Any) -> None:
        """Enter this lease, whole as it is now, into what its thread or task holds."""
        self.outer = holds.get(self.key)
        if self.outer is not None and self.outer.over:
            self.outer.outlive()
        holds[self.key] = self

    def forget(self) -> None:
        """Strike this lease out of what its thread or task holds."""
        if (holds := self.holds()) is None:
            return  # the thread or task has ended
        top = holds.get(self.key)
        if top is self:
            if self.outer is None:
                del holds[self.key]
            else:
                holds[self.key] = self.outer
            return
        while top is not None and top.outer is not self:
            top = top.outer
        if top is not None:
            top.outer = self.outer

    def outlive(self) -> None:
        """This lease is lost, no block relies on it, and its lock is taken anew: of such leases
        only the newest is remembered, for a release that comes late."""
        while self.outer is not None and self.outer.over:
            self.outer = self.outer.outer

    def exit_block(self, error: BaseException | None) -> LockLost | None:
        """A block ends, perhaps by `error`; LockLost if the loss is what has ended it."""
        self.blocks -= 1
        ours = self.scope is not None and self.scope.exit(error)
        return self.lost_error(self.cause or "lost") if ours else None

    # --- what the keeper tells it --------------------------------------------------------------

    def renewed(self, asked: float) -> None:
        """The store has set the lease anew, in answer to a question of `asked`.

        Two questions may be under way at once; the later one counts, whichever is answered last.
        """
        until = self.store.valid_until(asked, self.lease)
        self.suspended = False
        if until > self.until:
            self._stand(asked, until)
        elif self.renew_at != NEVER:
            self.renew_at = asked + self.lease / 12  # nothing was won by asking: ask again
        if self.host.observed:
            self.host.notify(Renewed(self.name, self.owner, self.token, self.until))

    def suspend(self) -> None:
        """The store does not answer: say so once."""
        if not self.suspended:
            self.suspended = True
            self.host.notify(Suspended(self.name, self.owner, self.token, self.until))

    def note_request(self) -> None:
        """Another client asks for the lock: say so once."""
        if not self.release_requested:
            self.release_requested = True
            self.host.notify(ReleaseRequested(self.name, self.owner, self.token))
        self._call(self._request_callbacks)

    def end(self, cause: str) -> None:
        """The lease is over and the schedule has let go of it: make room for the next."""
        self.cause, self.ended = cause, self.host.clock()
        self.host.queue.leave(self.key, self.owner)

    def lose(self, cause: str) -> None:
        """The lease is over without our doing: make room, and tell what relies on it."""
        self.end(cause)
        event = Lost(self.name, self.owner, self.token, cause)
        self.host.report_loss(self.lost_error(cause), event)
        if not self.store.leases_expire:
            self.host.owe(self.store, self.name, self.owner, NEVER)
        self._call(self._callbacks)
        if self.scope is not None:
            self.scope.cancel(f"lock {self.name!r} was lost")

    # --- what the user wants to be told ------------------------------------------------------

    def on_lost(self, callback: Callback) -> None:
        """Call `callback(hold)` once if the lock is lost; at once if it already is."""
        self._callbacks.append(callback)
        if self.cause is not None:
            self._call(self._callbacks)  # lost before, or just now: each is called by one of us

    def drop_callback(self, callback: Callback) -> None:
        """The user does not want to know any more."""
        with suppress(ValueError):
            self._callbacks.remove(callback)

    def on_release_requested(self, callback: Callback) -> bool:
        """Call `callback(hold)` once if the lock is asked for; True if that was done by now."""
        self._request_callbacks.append(callback)
        if self.release_requested:
            self._call(self._request_callbacks)  # each is called by one of us
        return self.release_requested

    def _call(self, callbacks: list[Callback]) -> None:
        """Call each callback once, whichever thread gets to it first."""
        with suppress(IndexError):
            while True:
                self.host.call_safely(callbacks.pop(0), self.wrap(self))

    # --- words -------------------------------------------------------------------------------

    def lost_error(self, cause: str) -> LockLost:
        ended = self.ended if self.cause is not None else min(self.host.clock(), self.until)
        return LockLost(self.name, self.token, ended - self.acquired, cause)

    def unconfirmed(self, failure: StoreError) -> StoreError:
        """What to say when it is not known whether the store has heard of the release."""
        return type(failure)(
            f"the release of lock {self.name!r} was not confirmed ({failure}); the keeper tries "
            f"it again, and the lease ends by itself within {duration(self.lease)}",
            failure.store,
        )

    def obituary(self) -> str:
        """What to say when the lease goes out of reach while the lock is held."""
        where = f"it was taken at {self.origin}" if self.origin else "python -X dev tells where"
        return (
            f"{self.key[0]} {self.name!r} (token {self.token}) was never released, and neither a "
            f"living thread or task nor a variable has its hold any more ({where}); it is "
            "released now: use a `with` block, or call release()"
        )

    @property
    def state(self) -> str:
        """How it stands, for people."""
        if self.depth == 0:
            return "released"
        if (cause := self.loss()) is not None:
            return f"lost: {cause}"
        return f"held, {duration(self.expires_in)} left"

    def __del__(self) -> None:
        # An interrupted constructor leaves a lease without some of its parts.
        if getattr(self, "depth", 0) and self.cause is None:
            self.host.forgotten(self)


def _itself(lease: Lease) -> Lease:
    return lease
