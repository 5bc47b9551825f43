"""A hold: what the user has while holding.  All state of an acquisition lives here."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..errors import LockLost, NotHeld, StoreError
from ..steps import Steps, nothing
from ..stores import LockStore
from .body import Body
from .standing import FORKED, Standing

if TYPE_CHECKING:
    from .worlds import AsyncSession, Session

RELEASED = "any longer: this hold was released before"


class BaseHold(Standing):
    """What both worlds share: how a hold is used, and given back."""

    __slots__ = ()

    def ensure(self) -> None:
        """Raise LockLost unless the lease stands at this very moment.  No round trip.

        Raises NotHeld when the hold was released.
        """
        if self.depth == 0 and self._cause is None:
            raise NotHeld(self.name, self.owner, RELEASED)
        if (cause := self.loss) is not None:
            raise self.lost_error(cause)

    def unconfirmed(self, failure: StoreError) -> StoreError:
        """What to say when nobody knows whether the store has heard of the release."""
        return type(failure)(
            f"the release of lock {self.name!r} was not confirmed ({failure}); it is tried again "
            f"in the background, and the lease ends by itself within {self.lease:.3g} s",
            failure.store,
        )

    def reenter(self, store: LockStore) -> None:
        """Hold once more, in the same thread or task.  No round trip."""
        self.ensure()
        self.depth += 1

    #: Whether the store must be told that we only read from now on.
    turns = False

    def leaves(self, store: LockStore | None = None) -> bool:
        """Count one release; True when it is the last."""
        if self._generation != self._client.generation:
            raise NotHeld(self.name, self.owner, f"here: {FORKED}")
        if self.depth == 0:
            raise NotHeld(self.name, self.owner, RELEASED)
        self.depth -= 1
        return self.depth == 0

    def forget(self) -> None:
        """Strike this hold out of its thread's or task's book."""
        top = self._book.get(self.key)
        if top is self:
            if self.outer is None:
                del self._book[self.key]
            else:
                self._book[self.key] = self.outer
            return
        while top is not None and top.outer is not self:
            top = top.outer
        if top is not None:
            top.outer = self.outer

    def read_on(self) -> None:
        """Count as a reader from now on."""
        raise NotImplementedError

    def downgraded(self, until: float) -> Steps[bool]:
        """Tell the store that we only read from now on."""
        raise NotImplementedError

    def confirm_reading(self) -> None:
        """The store knows that we only read."""
        raise NotImplementedError

    def undowngraded(self, failure: StoreError) -> StoreError:
        """What to say when nobody knows whether the store lets others read."""
        return type(failure)(
            f"that {self.name!r} is only read from now on was not confirmed ({failure}); others "
            "may be kept out until downgrade() is called again, or the lock is released",
            failure.store,
        )

    def enter_block(self) -> None:
        """A block begins that relies on this hold."""

    def leave_block(self, error: BaseException | None) -> LockLost | None:
        """A block ends, perhaps by `error`; LockLost if that was our way to say so."""
        return None

    def _leave(self, error: BaseException | None) -> Steps[None]:
        """Leave a block; a forked child passes through its parent's without a trace."""
        return nothing() if self.inherited else self._client.leave(self, error)

    @property
    def inherited(self) -> bool:
        """Whether this process got the hold by forking, and so must not touch it."""
        return self._generation != self._client.generation

    def __repr__(self) -> str:
        if self.depth == 0:
            state = "released"
        elif (cause := self.loss) is not None:
            state = f"lost: {cause}"
        else:
            state = f"held, {self.expires_in:.3g} s left"
        kind = type(self).__name__
        return f"<{kind} {self.key[0]} {self.name!r} token={self.token} {state}>"


class Hold(BaseHold):
    """A lock held by a thread."""

    __slots__ = ()
    _client: Session

    def release(self) -> None:
        """Give the lock back; the last of several releases talks to the store.

        Raises LockLost when the lease had ended before, NotHeld when it was released.
        Cost: one round trip.
        """
        self._client.run(self._client.give(self))

    def __enter__(self) -> Hold:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.run(self._leave(error))


class AsyncHold(BaseHold):
    """A lock held by a task."""

    __slots__ = ("_body",)
    _client: AsyncSession

    def __init__(self, *facts: Any) -> None:
        super().__init__(*facts)
        self._body: Body | None = None

    async def release(self) -> None:
        """Give the lock back; the last of several releases talks to the store.

        Raises LockLost when the lease had ended before, NotHeld when it was released.
        Cost: one round trip.
        """
        await self._client.run(self._client.give(self))

    async def __aenter__(self) -> AsyncHold:
        self.enter_block()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._client.run(self._leave(error))

    def enter_block(self) -> None:
        """From now on a loss cancels the running task."""
        task = self._client.books.current_task()
        if self._body is None:
            self._body = Body()
        self._body.enter(task)

    def lose(self, cause: str) -> None:
        """The lease is over: tell everybody, and cancel the block that relies on it."""
        super().lose(cause)
        if self._body is not None:
            self._body.strike(f"lock {self.name!r} was lost")

    def leave_block(self, error: BaseException | None) -> LockLost | None:
        """A block ends; LockLost if the cancellation that ends it is the one of `lose`."""
        struck = self._body is not None and self._body.left(error)
        return self.lost_error(self._cause or "lost") if struck else None
