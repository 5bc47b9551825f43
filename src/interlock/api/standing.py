"""How a hold stands: as the keeper sees it, and what is told when that changes."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from ..drive import now
from ..errors import LockLost
from ..events import Asked, Doubted, Lost, Renewed
from ..model import Grant, Terms, guard
from ..recipes.keep import NEVER
from ..stores import LockStore
from .lines import Key

if TYPE_CHECKING:
    from .session import BaseSession

log = logging.getLogger("interlock.hold")

#: Called once, in the keeper's thread or task, with the hold; it must be quick.
Callback: TypeAlias = Callable[[Any], object]

FORKED = "this process is a fork of the holder, and holds nothing itself"


class Standing:
    """The facts of a grant, and whether it still stands: see `recipes.keep.Kept`."""

    __slots__ = (
        "__weakref__",
        "_asked",
        "_askers",
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
        self.outer: Any = book.get(key)
        #: The lock whose block this hold was taken for, if it was.
        self.taker: object = None
        book[key] = self
        self._cause: str | None = None
        self._ended = 0.0
        self._callbacks: list[Callback] = []
        #: Whoever wants to know that somebody asks for the lock; and whether somebody has.
        self._askers: list[Callback] = []
        self._asked = False
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
        due = asked + min(self.lease / 3, (until - asked) / 2)
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

    def on_lost(self, callback: Callback) -> None:
        """Call `callback(hold)` once if the lock is lost; at once if it already is."""
        _plain("on_lost", callback)
        self._callbacks.append(callback)
        if self._cause is not None:
            self._call(self._callbacks)  # lost before, or just now: each is called by one of us

    def drop_callback(self, callback: Callback) -> None:
        """Whoever wanted to know does not any more."""
        with suppress(ValueError):
            self._callbacks.remove(callback)

    def lost_error(self, cause: str) -> LockLost:
        ended = self._ended if self._cause is not None else min(now(), self.until)
        return LockLost(self.name, self.token, ended - self.acquired, cause)

    def renewed(self, asked: float) -> None:
        """The store has set the lease anew, in answer to a question of `asked`.

        Two questions may be under way at once; the later one counts, whichever is answered last.
        """
        until = self.store.good_until(asked, self.lease)
        self.doubtful = False
        if until > self.until:
            self._stand(asked, until)
        elif self.renew_at != NEVER:
            self.renew_at = asked + self.lease / 12  # nothing was won by asking: ask again
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
        return self._asked

    def on_asked(self, callback: Callback) -> None:
        """Call `callback(hold)` once if somebody asks for the lock; at once if that was done.

        Only ZooKeeper knows how to ask; there Java can ask as well, and be asked.
        """
        _plain("on_asked", callback)
        self._askers.append(callback)
        if self._asked:
            self._call(self._askers)  # asked before, or just now: each is called by one of us
        else:
            self._client.way_changed(False)  # so that the keeper begins to listen now

    def wanted(self) -> None:
        """Somebody asks for the lock: tell everybody, once."""
        if not self._asked:
            self._asked = True
            self._client.tell(Asked(self.name, self.owner, self.token))
        self._call(self._askers)

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
        self._call(self._callbacks)

    def _call(self, callbacks: list[Callback]) -> None:
        """Call whoever wants to know, each once, whichever thread gets to it first."""
        with suppress(IndexError):
            while True:
                self._client.guarded(callbacks.pop(0), self)


def _plain(method: str, callback: Callback) -> None:
    if inspect.iscoroutinefunction(callback):
        raise TypeError(f"{method} takes a plain function: nobody would await this one")
