"""A hold: what the user has while holding.  All state of an acquisition lives here."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias

from ..drive import now
from ..errors import LockLost, NotHeld, StoreError
from ..events import Asked, Doubted, Lost, Renewed
from ..model import Grant, Terms, guard, validity
from ..recipes.keep import NEVER
from ..steps import Steps, nothing
from ..stores import LockStore
from .body import Body
from .lines import Key

if TYPE_CHECKING:
    from .session import BaseSession
    from .worlds import AsyncSession, Session

log = logging.getLogger("interlock.hold")

#: Called once when a hold is lost, in the keeper's thread or task; it must be quick.
OnLost: TypeAlias = Callable[[Any], object]

RELEASED = "any longer: this hold was released before"
FORKED = "this process is a fork of the holder, and holds nothing itself"


class BaseHold:
    """What both worlds share: the facts of a grant, and whether it still stands."""

    __slots__ = (
        "__weakref__",
        "_asked",
        "_book",
        "_callbacks",
        "_cause",
        "_client",
        "_ended",
        "_generation",
        "_guard",
        "acquired",
        "depth",
        "doubtful",
        "grant",
        "kept",
        "key",
        "known",
        "lease",
        "lost_at",
        "max_at",
        "name",
        "outer",
        "owner",
        "renew_at",
        "store",
        "taker",
        "token",
        "turned",
        "until",
        "writes",
        "writing",
    )

    def __init__(
        self,
        client: BaseSession,
        store: LockStore,
        key: Key,
        grant: Grant,
        terms: Terms,
        book: dict[Key, Any],
    ) -> None:
        self._client, self._generation = client, client.generation
        self.store, self.key, self._book, self.grant = store, key, book, grant
        self.name, self.owner, self.token = grant.name, grant.owner, grant.token
        self.lease, self.kept, self._guard = terms.lease, terms.renew, terms.guard
        self.max_at = NEVER if terms.max_hold is None else grant.asked + terms.max_hold
        if (trusted := store.trusted(terms.lease)) < terms.lease:
            self._shorten(trusted)
        self.acquired, self.depth = grant.asked, 1
        # A lost hold may stand below ours until its block is left.
        self.outer: BaseHold | None = book.get(key)
        #: The lock whose block this hold was taken for, if it was.
        self.taker: object = None
        book[key] = self
        self._cause: str | None = None
        self._ended = 0.0
        self._callbacks: list[OnLost] = []
        #: Whoever wants to know that somebody asks for the lock; None once somebody has.
        self._asked: list[OnLost] | None = []
        #: Nobody knows at the moment whether the lease still stands.
        self.doubtful = False
        self._stand(grant.asked, grant.until)

    def _shorten(self, trusted: float) -> None:
        """The store stands for less than the lease: ask it again and again until that ends."""
        if not self.kept:
            self.kept, self.max_at = True, min(self.max_at, self.grant.asked + self.lease)
        self.lease, self._guard = trusted, guard(trusted)

    def _stand(self, asked: float, until: float) -> None:
        self.until = min(until, self.max_at)
        # At the ceiling the store still keeps others out, so there is no need to hurry.
        self.lost_at = min(until - self._guard, self.max_at)
        due = asked + self.lease / 3
        self.renew_at = due if self.kept and due < self.max_at else NEVER

    @property
    def lost(self) -> bool:
        """Whether the lease is over.  Computed from the clock at every read."""
        return self.loss is not None

    @property
    def loss(self) -> str | None:
        """Why the lease is over, in words; None while it stands."""
        if self._cause is not None:
            return self._cause
        if self.depth == 0:
            return None  # released, which is not lost
        if self._generation != self._client.generation:
            return FORKED
        if now() >= self.until:
            return "its validity has passed on this machine's clock"
        return None

    @property
    def cause(self) -> str | None:
        """Why the lease was declared over; None as long as it was not."""
        return self._cause

    @property
    def expires_in(self) -> float:
        """Seconds for which the lease may still be trusted without another renewal."""
        over = self.depth == 0 or self.lost
        return 0.0 if over else max(0.0, self.until - now())

    def ensure(self) -> None:
        """Raise LockLost unless the lease stands at this very moment.  No round trip.

        Raises NotHeld when the hold was released.
        """
        if self.depth == 0 and self._cause is None:
            raise NotHeld(self.name, self.owner, RELEASED)
        if (cause := self.loss) is not None:
            raise self.lost_error(cause)

    def on_lost(self, callback: OnLost) -> None:
        """Call `callback(hold)` once if the lock is lost; at once if it already is."""
        if inspect.iscoroutinefunction(callback):
            raise TypeError("on_lost takes a plain function: nobody would await this one")
        self._callbacks.append(callback)
        if self._cause is not None:
            self._call_back()  # lost before, or just now: each is called by one of us

    def drop_callback(self, callback: OnLost) -> None:
        """Whoever wanted to know does not any more."""
        with suppress(ValueError):
            self._callbacks.remove(callback)

    def lost_error(self, cause: str) -> LockLost:
        ended = self._ended if self._cause is not None else min(now(), self.until)
        return LockLost(self.name, self.token, ended - self.acquired, cause)

    def unconfirmed(self, failure: StoreError) -> StoreError:
        """What to say when nobody knows whether the store has heard of the release."""
        return type(failure)(
            f"the release of lock {self.name!r} was not confirmed ({failure}); it is tried again "
            f"in the background, and the lease ends by itself within {self.lease:.3g} s",
            failure.store,
        )

    def renewed(self, asked: float) -> None:
        """The store has set the lease anew, in answer to a question of `asked`.

        Two questions may be under way at once; the later one counts, whichever is answered last.
        """
        until = validity(asked, self.lease)
        self.doubtful = False
        if until > self.until:
            self._stand(asked, until)
        if self._client.observer is not None:
            self._client.tell(Renewed(self.name, self.owner, self.token, self.until))

    def doubted(self) -> None:
        """The store does not answer: say once that nobody knows how we stand."""
        if not self.doubtful:
            self.doubtful = True
            self._client.tell(Doubted(self.name, self.owner, self.token, self.until))

    @property
    def asked(self) -> bool:
        """Whether somebody else has asked for the lock: see `Client.ask_back`."""
        return self._asked is None

    def on_asked(self, callback: OnLost) -> None:
        """Call `callback(hold)` once if somebody asks for the lock; at once if that was done.

        Only ZooKeeper knows how to ask; there Java can ask as well, and be asked.
        """
        if self._asked is None:
            self._client.guarded(callback, self)
            return
        self._asked.append(callback)
        self._client.way_changed(False)  # so that the keeper begins to listen now

    def wanted(self) -> None:
        """Somebody asks for the lock: tell everybody, once."""
        callbacks, self._asked = self._asked, None
        if callbacks is not None:
            self._client.tell(Asked(self.name, self.owner, self.token))
            for callback in callbacks:
                self._client.guarded(callback, self)

    def end(self, cause: str) -> None:
        """The lease is over and the rota has let go of us: make room for the next."""
        self._cause, self._ended = cause, now()
        self._client.lines.leave(self.key, self.owner)

    def lose(self, cause: str) -> None:
        """The lease is over without our doing: make room, and tell everybody."""
        self.end(cause)
        log.error("%s", self.lost_error(cause))
        self._client.tell(Lost(self.name, self.owner, self.token, cause))
        if not self.store.mortal:
            self._client.owe(self.store, self.name, self.owner, NEVER)
        self._call_back()

    def _call_back(self) -> None:
        """Call whoever wants to know, each once, whichever thread gets to it first."""
        with suppress(IndexError):
            while True:
                self._client.guarded(self._callbacks.pop(0), self)

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
