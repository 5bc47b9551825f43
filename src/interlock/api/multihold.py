"""What the user has while holding several locks as one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from ..drive import now
from ..errors import LockLost, NotHeld, StoreError
from ..model import checked_callback
from ..recipes.holding import RELEASE
from ..recipes.lease import Callback
from ..recipes.multilock import Member, give_all, standing
from ..session.cancel_scope import CancelScope
from ..session.holds import HoldsRef
from ..session.lifetimes import weakly
from ..session.session import AsyncSession, BaseSession, Session
from ..steps import Steps
from .copying import Single, one_acquisition
from .hold import AsyncHold, Hold

#: How many members are named when their release fails, at most.
TOLD = 10

RELEASED = "any longer: these locks were released before"
FORK = "here: this process is a fork of the holder"


class BaseMultiHold(Single):
    """What both worlds share: the holds, and how many of them must stand."""

    __slots__ = (
        "__weakref__",
        "_callbacks",
        "_for_block",
        "_holds",
        "_leases",
        "_members",
        "_need",
        "_notice_loss",
        "_released",
        "_scope",
        "_session",
        "_taken_by",
    )

    def __init__(
        self,
        session: BaseSession,
        members: Sequence[Member],
        leases: Sequence[Any],
        need: int,
        taken_by: HoldsRef,
    ) -> None:
        self._session: Any = session
        self._members, self._need = members, need
        self._leases, self._released = leases, False
        got = [lease for lease in leases if lease is not None]
        self._holds = tuple(lease.wrap(lease) for lease in got)
        #: The thread or task that took it, and whether it did so for a block.
        self._taken_by, self._for_block = taken_by, False
        self._callbacks: list[Callback] = []
        self._scope: CancelScope | None = None
        # Weakly: the members must not keep what has them, or it would never be forgotten.
        self._notice_loss = weakly(self._notice)
        for lease in got:
            lease.on_lost(self._notice_loss)

    @property
    def name(self) -> str:
        """The names of the locks that are held."""
        return ", ".join(hold.name for hold in self.holds)

    @property
    def holds(self) -> tuple[Any, ...]:
        """The hold of each lock that was got, in the order in which they were taken."""
        return self._holds

    @property
    def tokens(self) -> tuple[int, ...]:
        """The fencing token of each hold: each grows for its own name."""
        return tuple(hold.token for hold in self.holds)

    @property
    def lost(self) -> bool:
        """Whether too many leases are over.  Computed from the clock at every read."""
        return not self._released and len(standing(self._leases)) < self._need

    @property
    def expires_in(self) -> float:
        """Seconds for which enough leases may be trusted without another renewal."""
        if self._released:
            return 0.0
        left = sorted((hold.expires_in for hold in self.holds), reverse=True)
        return float(left[self._need - 1]) if len(left) >= self._need else 0.0

    def ensure(self) -> None:
        """Raise LockLost unless enough leases stand at this very moment.  No round trip.

        Raises NotHeld when the locks were released.
        """
        if self._released:
            raise NotHeld(self.name, None, RELEASED)
        if self.lost:
            self._first_gone().ensure()

    def on_lost(self, callback: Callback) -> None:
        """Call `callback(hold)` once if too many locks are lost; at once if they already are."""
        checked_callback("on_lost", callback)
        self._callbacks.append(callback)
        self._notice(None)

    def _why_not(self) -> str:
        return one_acquisition("hold", self.name)

    def _lost_error(self) -> LockLost:
        """What to raise: the loss of the first member that is lost."""
        gone = self._first_gone()
        error: LockLost = gone.lost_error(gone.loss() or "it was released by itself")
        return error

    def _first_gone(self) -> Any:
        leases = (lease for lease in self._leases if lease is not None)
        return next(lease for lease in leases if lease.lost or not lease.depth)

    def _notice(self, hold: object) -> None:
        """A member was lost: if that is one too many, say so."""
        if not self.lost:
            return
        if self._scope is not None:
            self._scope.cancel(f"locks {self.name} were lost")
        self._call_back()

    def _call_back(self) -> None:
        """Call each callback once, whichever thread gets to it first."""
        with suppress(IndexError):
            while True:
                self._session.call_safely(self._callbacks.pop(0), self)

    def _enter_block(self) -> None:
        for hold in self.holds:
            hold._lease.blocks += 1

    def _release(self) -> Steps[None]:
        """Release every member, in the time that one lock has for it."""
        if self._released:
            raise NotHeld(self.name, None, RELEASED)
        if any(hold._lease.inherited for hold in self.holds):
            raise NotHeld(self.name, None, FORK)
        self._released = True
        self._forget()
        for hold in self.holds:
            hold._lease.drop_callback(self._notice_loss)
        enough = self._need if self._need < len(self._members) else math.inf
        failures = yield from give_all(*self._in_order(), now() + RELEASE, now, enough)
        if len(self.holds) - len(failures) < self._need:
            for other in failures[1:TOLD]:
                failures[0].add_note(str(other))
            if any(isinstance(failure, LockLost) for failure in failures):
                self._call_back()
            raise failures[0]

    def _forget(self) -> None:
        """Strike it out of what its thread or task holds."""
        taken = self._taken_by()
        if taken is not None and self in taken.multiholds:
            taken.multiholds.remove(self)

    def _in_order(self) -> tuple[Sequence[Member], Sequence[Any]]:
        """What is given back last comes first: those whose stores were silent longest, so that
        the others are not kept waiting by them."""
        pairs = list(zip(self._members, self._leases, strict=True))
        pairs.sort(key=lambda pair: 0.0 if pair[1] is None else pair[1].expires_in)
        return [member for member, _ in pairs], [lease for _, lease in pairs]

    def _leave(self, error: BaseException | None) -> Steps[None]:
        """Leave a block: release, but never hide the exception that ends it.

        A forked child passes through its parent's block without a trace.
        """
        if any(hold._lease.inherited for hold in self.holds):
            return
        ours = self._exit_scope(error)
        for hold in self.holds:
            hold._lease.blocks -= 1
        lost = self._lost_error() if ours else None
        try:
            yield from self._release()
        except (LockLost, NotHeld, StoreError) as failure:
            if error is None:
                raise
            error.add_note(str(failure))
        if lost is not None:
            raise lost from error

    def _exit_scope(self, error: BaseException | None) -> bool:
        """A block ends; True if a loss has ended it."""
        return self._scope is not None and self._scope.exit(error)

    def __repr__(self) -> str:
        state = "released" if self._released else "lost" if self.lost else "held"
        return f"<{type(self).__name__} of {self.name}: {state}>"


class MultiHold(BaseMultiHold):
    """Several locks, held as one by a thread."""

    __slots__ = ()
    _session: Session

    @property
    def holds(self) -> tuple[Hold, ...]:
        """The hold of each lock that was got, in the order in which they were taken."""
        return self._holds

    def release(self) -> None:
        """Give every lock back, in the time that one lock has for it.

        Raises LockLost when a lease that was needed had ended before.
        Cost: one round trip for all that are of one client; on SQLite a transaction for each.
        """
        self._session.run(self._release())

    def __enter__(self) -> Self:
        self._enter_block()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._session.run(self._leave(error))


class AsyncMultiHold(BaseMultiHold):
    """Several locks, held as one by a task."""

    __slots__ = ()
    _session: AsyncSession

    @property
    def holds(self) -> tuple[AsyncHold, ...]:
        """The hold of each lock that was got, in the order in which they were taken."""
        return self._holds

    async def release(self) -> None:
        """Give every lock back, in the time that one lock has for it.

        Raises LockLost when a lease that was needed had ended before.
        Cost: one round trip for all that are of one client; on SQLite a transaction for each.
        """
        await self._session.run(self._release())

    def _enter_block(self) -> None:
        """From now on a loss cancels the running task."""
        super()._enter_block()
        if self._scope is None:
            self._scope = CancelScope()
        self._scope.enter(self._session.holds.current_task())
        if self.lost:
            self._scope.cancel(f"locks {self.name} were lost")

    async def __aenter__(self) -> Self:
        self._session.here()
        self._enter_block()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._session.run(self._leave(error))
