"""What the user has while holding several locks as one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any

from ..errors import LockLost, NotHeld, StoreError
from ..recipes.several import Member, give_all, standing
from ..steps import Steps
from .body import Body
from .hold import BaseHold
from .standing import Callback


class BaseBundle:
    """What both worlds share: the holds, and how many of them must stand."""

    def __init__(
        self, client: Any, members: Sequence[Member], holds: Sequence[Any], need: int, stack: Any
    ) -> None:
        self._client, self._members, self._need = client, members, need
        self._all, self._stack, self._released = holds, stack, False
        self._callbacks: list[Callback] = []
        self._body: Body | None = None
        #: Whether it was taken for a block.
        self.blocked = False
        for hold in self.holds:
            hold.on_lost(self._notice)
        stack.append(self)

    @property
    def name(self) -> str:
        """The names of the locks that are held."""
        return ", ".join(hold.name for hold in self.holds)

    @property
    def holds(self) -> tuple[Any, ...]:
        """The hold of each lock that was got, in the order in which they were taken."""
        return tuple(hold for hold in self._all if hold is not None)

    @property
    def tokens(self) -> tuple[int, ...]:
        """The fencing token of each hold: each grows for its own name."""
        return tuple(hold.token for hold in self.holds)

    @property
    def lost(self) -> bool:
        """Whether too many leases are over.  Computed from the clock at every read."""
        return not self._released and len(standing(self._all)) < self._need

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
            raise NotHeld(self.name, None, "any longer: these locks were released before")
        if self.lost:
            self._first_gone().ensure()

    def on_lost(self, callback: Callback) -> None:
        """Call `callback(hold)` once if too many locks are lost; at once if they already are."""
        self._callbacks.append(callback)
        self._notice(None)

    def lost_error(self) -> LockLost:
        """What to raise: the loss of the first member that is lost."""
        gone = self._first_gone()
        error: LockLost = gone.lost_error(gone.loss or "it was released by itself")
        return error

    def _first_gone(self) -> Any:
        return next(hold for hold in self.holds if hold.lost or not hold.depth)

    def _notice(self, hold: BaseHold | None) -> None:
        """A member was lost: if that is one too many, tell everybody."""
        if not self.lost:
            return
        if self._body is not None:
            self._body.strike(f"locks {self.name} were lost")
        with suppress(IndexError):
            while True:
                self._client.guarded(self._callbacks.pop(0), self)

    def _give(self) -> Steps[None]:
        """Release every member, last first."""
        if self._released:
            raise NotHeld(self.name, None, "any longer: these locks were released before")
        if any(hold.inherited for hold in self.holds):
            raise NotHeld(self.name, None, "here: this process is a fork of the holder")
        self._released = True
        if self in self._stack:
            self._stack.remove(self)
        for hold in self.holds:
            hold.drop_callback(self._notice)
        failures = yield from give_all(*self._in_order())
        if len(self.holds) - len(failures) < self._need:
            raise failures[0]

    def _in_order(self) -> tuple[Sequence[Member], Sequence[Any]]:
        """Who is given back last comes first: of a majority those whose stores were silent
        longest, so that the others are not kept waiting by them."""
        pairs = list(zip(self._members, self._all, strict=True))
        if self._need < len(pairs):
            pairs.sort(key=lambda pair: 0.0 if pair[1] is None else pair[1].expires_in)
        return [member for member, _ in pairs], [hold for _, hold in pairs]

    def _leave(self, error: BaseException | None) -> Steps[None]:
        """Leave a block: release, but never hide the exception that ends it.

        A forked child passes through its parent's block without a trace.
        """
        if any(hold.inherited for hold in self.holds):
            return
        struck = self._body is not None and self._body.left(error)
        lost = self.lost_error() if struck else None
        try:
            yield from self._give()
        except (LockLost, StoreError) as failure:
            if error is None:
                raise
            error.add_note(str(failure))
        finally:
            if lost is not None:
                raise lost from error

    def __repr__(self) -> str:
        state = "released" if self._released else "lost" if self.lost else "held"
        return f"<{type(self).__name__} of {self.name}: {state}>"


class Bundle(BaseBundle):
    """Several locks, held as one by a thread."""

    def release(self) -> None:
        """Give every lock back.  Cost: one round trip for each.

        Raises LockLost when a lease that was needed had ended before.
        """
        self._client.run(self._give())

    def __enter__(self) -> Bundle:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.run(self._leave(error))


class AsyncBundle(BaseBundle):
    """Several locks, held as one by a task."""

    async def release(self) -> None:
        """Give every lock back.  Cost: one round trip for each.

        Raises LockLost when a lease that was needed had ended before.
        """
        await self._client.run(self._give())

    def enter_block(self) -> None:
        """From now on a loss cancels the running task."""
        task = self._client.books.current_task()
        if self._body is None:
            self._body = Body()
        self._body.enter(task)
        if self.lost:
            self._body.strike(f"locks {self.name} were lost")

    async def __aenter__(self) -> AsyncBundle:
        self.enter_block()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._client.run(self._leave(error))
