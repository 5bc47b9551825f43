"""What a client remembers: one identity towards one store, shared by a process.

Everything an acquisition needs besides the algorithm is here: who we are, who stands in
line, who holds what, the rota and its keeper.  `BaseSession` holds the steps; the two
worlds (`worlds.py`) differ in how they run them.
"""

from __future__ import annotations

import itertools
import os
import threading
import weakref
from typing import Any, Protocol, TypeVar

from ..drive import now
from ..errors import (
    LockLost,
    NotHeld,
    OutcomeUnknown,
    StoreError,
    StoreUnavailable,
    closed,
)
from ..events import (
    Granted,
    Observer,
    Parked,
    Released,
)
from ..ledger import OtherKind
from ..model import Terms
from ..recipes.insist import insist
from ..recipes.keep import BY_ANSWER, Owed, Rota
from ..recipes.lock import WITHDRAWAL, Seeking, acquire, give_up, release
from ..steps import Steps
from ..stores import Backend, LockStore
from .books import Book
from .hold import BaseHold
from .identity import new_identity
from .kinds import name_both
from .lines import Key, Lines, stand
from .telling import Teller

H = TypeVar("H", bound=BaseHold)
H_co = TypeVar("H_co", bound=BaseHold, covariant=True)

#: Multiples of it are spread evenly over [0, 1), whatever part of them is used: jitter that
#: needs no random numbers.
GOLDEN = 0.6180339887498949

#: Busy names that a client remembers, at most.
CROWDED = 10_000

#: Seconds for which a release may wait for the store's answer.
RELEASE = 5.0

_sessions: weakref.WeakSet[BaseSession] = weakref.WeakSet()


class Sought(Protocol[H_co]):
    """What somebody wants: a name of some kind, and on which terms."""

    @property
    def store(self) -> LockStore: ...
    @property
    def key(self) -> Key: ...
    @property
    def terms(self) -> Terms: ...
    @property
    def hold_class(self) -> type[H_co]: ...


class BaseSession(Teller):
    """What both worlds share."""

    # Each world has its own kind of these.
    books: Any
    keeper: Any
    link: Any

    def __init__(self, backend: Backend, observer: Observer | None = None) -> None:
        self.backend, self.observer = backend, observer
        self.generation = 0
        #: What a forked child may walk out of without having walked in.
        self.inherited: set[Key] = set()
        self._begin()
        _sessions.add(self)

    def _begin(self) -> None:
        """Start with a fresh identity and nothing held: at birth, and after a fork."""
        self.identity = new_identity()
        self._numbers, self._phase = itertools.count(1), os.urandom(1)[0] / 256
        self.lines = Lines()
        #: Names that were busy when they were last asked for.
        self.crowded: set[Key] = set()
        # Reentrant, as every mutex here: a signal handler may want a lock as well.
        self.rota = Rota(threading.RLock())

    def run(self, steps: Steps[Any]) -> Any:
        """Drive an algorithm, in the manner of one world."""
        raise NotImplementedError

    # --- the steps of an acquisition ---------------------------------------------------

    def take(
        self, sought: Sought[H], timeout: float, trial: bool = False, block: bool = False
    ) -> Steps[H]:
        """Take a lock for the running thread or task, perhaps for a block of its own."""
        store, key, terms = sought.store, sought.key, sought.terms
        book: Book[H] = self.books.mine
        if store.reentrant and (held := book.get(key)) is not None:
            held.reenter(store)
            if block:
                held.enter_block()
            return held
        seeking = self.seek(store.waiting(timeout), key[1], terms, timeout, trial)
        grant = None
        try:
            if not self.lines.enter(key, seeking.owner):
                yield from self._stand(key, seeking)
            if self.rota.closed:
                raise closed(self.backend.label)
            seeking.crowded = key in self.crowded and not seeking.expired
            grant = yield from acquire(seeking)
            hold = sought.hold_class(self, store, key, grant, terms, book)
            if block:
                hold.taker = sought
                hold.enter_block()
            return self._enter(hold, seeking)
        except BaseException as error:
            if (mine := book.get(key)) is not None and mine.owner == seeking.owner:
                self._disown(mine)
            if grant is not None:
                # Interrupted between the grant and its hold: nobody else knows of it.
                self.owe(store, grant.name, grant.owner, terms.lease)
            self.lines.leave(key, seeking.owner)
            if isinstance(error, OtherKind):
                yield from name_both(self.backend, store, key[1], error)
            raise

    def _stand(self, key: Key, seeking: Seeking) -> Steps[None]:
        """Wait in the local line until it is our turn to ask the store."""
        self.tell(Parked(seeking.name, seeking.owner, None, 0.0))
        place = (self.lines, key, seeking.owner, self.link.local)
        if not (yield from stand(*place, seeking.deadline, now)):
            raise (yield from give_up(seeking, None))

    def seek(
        self, store: LockStore, name: str, terms: Terms, timeout: float, trial: bool
    ) -> Seeking:
        began = now()
        number = next(self._numbers)
        return Seeking(
            store,
            name,
            f"{self.identity}:{number}{store.mark}",
            terms.lease,
            began,
            began + timeout,
            now,
            (self._phase + number * GOLDEN) % 1,
            trial,
            self,
        )

    def _enter(self, hold: H, seeking: Seeking) -> H:
        self.keeper.watch(hold)
        if hold.store.shared:
            self.lines.leave(hold.key, hold.owner)  # the next one may find room as well
        if seeking.parked or seeking.crowded:
            self._remember(hold.key, seeking.parked)
        if self.observer is not None:
            waited = now() - seeking.began
            self.tell(Granted(hold.name, hold.owner, hold.token, waited))
        return hold

    def _remember(self, key: Key, parked: bool) -> None:
        """Whether the next acquisition of this name had better listen at once."""
        if not parked:
            self.crowded.discard(key)
        elif len(self.crowded) < CROWDED:
            self.crowded.add(key)

    def give(self, hold: BaseHold, store: LockStore | None = None) -> Steps[None]:
        """Count one release of a hold; the last one talks to the store.

        `store` is told by a lock that is released: it may be one mode of two.
        """
        try:
            if not hold.leaves(store):
                hold.ensure()
                if hold.turns:
                    yield from self.downgrade_hold(hold)
                return
            hold.forget()
            self.lines.leaving.add(hold.owner)
            standing, late = self.rota.drop(hold), now() >= hold.until
            if not standing and self.rota.closed:
                raise hold.lost_error(hold.cause or "its client was closed")
            if hold.cause is not None and not hold.store.mortal:
                raise hold.lost_error(hold.cause)  # whoever lost it sees to its withdrawal
            if self.link.ordered:
                # The next in line may ask right behind our release, and will not overtake it.
                self.lines.leave(hold.key, hold.owner)
            released = yield from release(hold.store, hold.grant, now() + RELEASE)
            self.lines.leave(hold.key, hold.owner)
        except (NotHeld, LockLost, GeneratorExit):
            raise
        except (OutcomeUnknown, StoreUnavailable) as failure:
            if hold.depth:
                raise  # it is not the release that failed
            self._make_sure(hold)
            raise hold.unconfirmed(failure) from failure
        except BaseException:
            self._make_sure(hold)
            raise
        finally:
            self.lines.leaving.discard(hold.owner)
        if late or not standing or not released:
            raise hold.lost_error(hold.cause or "its lease ended before it was released")
        if self.observer is not None:
            held = now() - hold.acquired
            self.tell(Released(hold.name, hold.owner, hold.token, held))

    def _make_sure(self, hold: BaseHold) -> None:
        """A release was interrupted, who knows where, or not answered: let the keeper see."""
        if hold.depth == 0:
            self._disown(hold)
            self.owe(hold.store, hold.name, hold.owner, hold.lease)

    def _disown(self, hold: BaseHold) -> None:
        """Forget a hold here; what the store knows of it is another matter."""
        self.rota.drop(hold)
        hold.forget()
        self.lines.leave(hold.key, hold.owner)

    def downgrade_hold(self, hold: BaseHold) -> Steps[None]:
        """Read on where we wrote, and let others read.  One round trip.

        From the question on we count as a reader, whatever becomes of the answer.
        """
        hold.read_on()
        self.lines.leave(hold.key, hold.owner)
        asked = now()
        try:
            downgraded = yield from insist(hold.downgraded, now)
        except (OutcomeUnknown, StoreUnavailable) as failure:
            raise hold.undowngraded(failure) from failure
        hold.confirm_reading()
        if not downgraded:
            if self.rota.drop(hold):
                hold.lose(BY_ANSWER)
            raise hold.lost_error(hold.cause or BY_ANSWER)
        hold.renewed(asked)
        self.rota.settle(hold)

    def leave(
        self, hold: BaseHold, error: BaseException | None, store: LockStore | None = None
    ) -> Steps[None]:
        """Leave a block: release, but never hide the exception that ends it."""
        lost = hold.leave_block(error)
        if error is None:
            return self.give(hold, store)
        return self._give_amid(hold, error, lost, store)

    def _give_amid(
        self,
        hold: BaseHold,
        error: BaseException,
        lost: LockLost | None,
        store: LockStore | None,
    ) -> Steps[None]:
        try:
            yield from self.give(hold, store)
        except (LockLost, StoreError) as failure:
            error.add_note(str(failure))
        finally:
            if lost is not None:
                raise lost from error

    def new_owner(self, store: LockStore) -> str:
        """Somebody who asks the store for something once."""
        return f"{self.identity}:{next(self._numbers)}{store.mark}"

    def owe(self, store: LockStore, name: str, owner: str, lease: float) -> None:
        """Let the keeper withdraw an owner as soon as the store answers again."""
        at = now()
        self.rota.owe(Owed(store, name, owner, at + lease + WITHDRAWAL, at))
        self.keeper.wake()

    def way_changed(self, doubtful: bool) -> None:
        """The way to the store is cut (True), or something may have changed at its end.

        Called in any thread; whatever is to be told is told by the keeper.
        """
        if self.rota.hurry(now(), doubtful):
            self.keeper.wake()

    # --- life ------------------------------------------------------------------------------

    def after_fork(self) -> None:
        """Become a new client that inherits nothing but the settings."""
        self.generation += 1
        self.inherited |= self.books.keys()
        self._begin()
        self.link.after_fork()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.backend.label} holding {len(self.rota.holds())}>"


def _after_fork_in_child() -> None:
    for session in list(_sessions):
        session.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
