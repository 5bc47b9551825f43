"""A client's memory: one identity towards one store, shared by a process.

Who we are, what waits, what is held, the schedule and its keeper, and what is still to be
withdrawn.  The steps of taking and giving back are in `recipes.holding`; here is what they need
of threads, tasks, forks and the clock.
"""

from __future__ import annotations

import itertools
import os
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from ..drive import arun, now, run
from ..errors import InterlockError, UsageError, interrupted
from ..events import Event, Observer, Parked
from ..model import Terms
from ..parking import is_mine
from ..recipes.lease import Lease
from ..recipes.local_queue import Key, LocalQueue
from ..recipes.lock import WITHDRAWAL, Acquisition, Clock, Silence
from ..recipes.renewal import PendingWithdrawal, RenewalSchedule
from ..spi import AsyncLink, Backend, Link, LockStore
from ..steps import Steps, Wakes
from .cancel_scope import CancelScope
from .checkup import Checkup
from .holds import TaskHolds, ThreadHolds
from .identity import introduction, new_identity
from .keeper import AsyncKeeper, Keeper
from .lifetimes import rest_at_exit, sessions, weakly
from .notify import Forgetting, Notifier
from .origin import origin

R = TypeVar("R")
T = TypeVar("T")

#: Multiples of it are spread evenly over [0, 1), whatever part of them is used: jitter that
#: needs no random numbers.
GOLDEN = 0.6180339887498949

#: Busy names that a client remembers, at most.
BUSY_NAMES = 10_000

OTHER_LOOP = (
    "this client belongs to another event loop, which is still open: "
    "make a client for each loop by interlock.aio.connect()"
)

NO_LOOP = (
    "an asyncio client needs a running event loop, and this thread has none: "
    "await it inside of asyncio.run(), or make a client for threads by interlock.connect()"
)


class BaseSession(Notifier):
    """The memory of a client, in whatever world: see `recipes.hosts.HoldingSession`."""

    # Each world has its own kind of these.
    holds: Any
    keeper: Any
    link: Any
    ordered: bool

    def __init__(self, backend: Backend, observer: Observer | None = None) -> None:
        self.backend, self.observer, self.observed = backend, observer, observer is not None
        self.clock: Clock = now
        #: Jobs by their names: see `api.jobs`.
        self.jobs: dict[str, Any] = {}
        self.tells_origin = bool(sys.flags.dev_mode)
        self.generation = 0
        #: What a forked child may walk out of without having walked in.
        self.inherited: set[Key] = set()
        #: Of the first client alone: a forked child has the same store.
        self._checkup = Checkup(backend)
        self._begin()

    def _begin(self) -> None:
        """Start with a fresh identity and nothing held: at birth, and after a fork."""
        self.identity = new_identity()
        self._numbers, self._phase = itertools.count(1), os.urandom(1)[0] / 256
        # Reentrant, as every mutex here: a signal handler may want a lock as well.
        self._mutexes = threading.RLock(), threading.RLock()
        self.queue = LocalQueue(self._mutexes[0])
        self.silence = Silence()
        #: The loops that run jobs now.
        self.loops: list[Any] = []
        self.busy_names: set[Key] = set()
        self.schedule = RenewalSchedule(self._mutexes[1], Forgetting(self.queue, self.observer))

    def here(self) -> None:
        """Raise UsageError unless this client may be used where it is just being used."""
        raise NotImplementedError

    def run(self, steps: Steps[Any]) -> Any:
        """Drive an algorithm, in the manner of one world."""
        raise NotImplementedError

    def engaged(self) -> bool:
        """Whether a signal handler has interrupted its own thread where others wait for it."""
        queue, schedule = self._mutexes
        return is_mine(queue) or is_mine(schedule)

    def _check_parking(self) -> None:
        """Raise StoreUnavailable in a signal handler that would wait, and has interrupted the
        very thread that others wait for."""
        raise NotImplementedError

    def exit_link(self) -> Link:
        """A blocking link, for a signal handler that gives everything back."""
        raise NotImplementedError

    def soon(self, function: Callable[..., object], *args: Any) -> None:
        """Call a function where this client is at home, or not at all if that has ended."""
        raise NotImplementedError

    def _connect(self) -> None:
        """Make a link: at birth, and after a fork."""
        raise NotImplementedError

    def local(self) -> Wakes:
        wakes: Wakes = self.link.local()
        return wakes

    def notify(self, event: Event) -> None:
        if isinstance(event, Parked):
            self._check_parking()  # in the local queue or at the store, this is where all wait
        super().notify(event)
        if isinstance(event, Parked):
            self.queue.told_to_wait(event.owner)

    # --- taking ------------------------------------------------------------------------------

    def acquisition(
        self, store: LockStore, name: str, terms: Terms, timeout: float, try_once: bool
    ) -> Acquisition:
        began = now()
        number = next(self._numbers)
        return Acquisition(
            store,
            name,
            f"{self.identity}:{number}{store.kind_code}",
            terms.lease,
            began,
            began + timeout,
            now,
            (self._phase + number * GOLDEN) % 1,
            try_once,
            self,
        )

    def new_owner(self, store: LockStore) -> str:
        """An owner that asks the store for something once."""
        return f"{self.identity}:{next(self._numbers)}{store.kind_code}"

    def note_busy(self, key: Key, busy: bool) -> None:
        if not busy:
            self.busy_names.discard(key)
        elif len(self.busy_names) < BUSY_NAMES:
            self.busy_names.add(key)

    def origin(self) -> str:
        return origin()

    #: Whether a signal is just ending the process.
    ending = False

    #: Whether a loss cancels the blocks that rely on a lease; see `enter_scope`.
    cancels = False

    def enter_scope(self, lease: Lease) -> None:
        """From now on a loss cancels the running task."""
        raise NotImplementedError

    # --- what becomes of leases ----------------------------------------------------------------

    def drop(self, lease: Lease) -> None:
        self.schedule.drop(lease)
        lease.forget()
        self.queue.leave(lease.key, lease.owner)

    def owe(self, store: LockStore, name: str, owner: str, lease: float) -> None:
        """Let the keeper withdraw an owner as soon as the store answers again.

        An owner of another identity is its parent's, or was of a loop that has ended.
        """
        if not owner.startswith(self.identity):
            return
        at = now()
        self.schedule.owe(PendingWithdrawal(store, name, owner, at + lease + WITHDRAWAL, at))
        self.keeper.wake()

    def forgotten(self, lease: Lease) -> None:
        """A lease that stands goes out of reach: say so, and let the keeper withdraw it.

        Called wherever garbage is collected.
        """
        dropped = self.schedule.closed  # with its client, whose keeper has seen to it
        if lease.inherited or not (dropped or self.schedule.knows(lease)):
            return
        words = lease.obituary()
        self.schedule.forget(lease, words)
        self.keeper.nudge()  # which logs it: this may be a thread that is just ending
        warnings.warn(words, ResourceWarning, source=lease, stacklevel=3)

    def on_connection(self, suspended: bool) -> None:
        """The way to the store is cut (True), or something may have changed at its end.

        Called in any thread; whatever is to be told is told by the keeper.
        """
        if self.schedule.make_all_due(now(), suspended):
            self.keeper.wake()

    # --- life ------------------------------------------------------------------------------

    def _complete(self) -> None:
        """Everything is there: from now on a forked child is told."""
        sessions.add(self)

    def after_fork(self) -> None:
        """Become a new client that inherits nothing but the settings; or stay a closed one."""
        closed = self.schedule.closed
        self.generation += 1
        self.inherited |= self.holds.keys()
        self.queue.abandon(threading.RLock())
        self._begin()
        self.schedule.closed = closed
        if not closed:
            self.link.after_fork()
            self._connect()

    def _keeper_parts(self) -> tuple[Any, ...]:
        who = introduction(self.identity)
        return self.schedule, self.queue, self.link, self.backend.directory, who, self._checkup


class Session(BaseSession):
    """The memory of a client for threads."""

    link: Link

    def __init__(self, backend: Backend, observer: Observer | None = None) -> None:
        super().__init__(backend, observer)
        self._connect()
        self._equip()
        self._finalizer = weakref.finalize(self, Keeper.shut, self.keeper, self.link)
        self._complete()

    def _connect(self) -> None:
        self.link = self.backend.link()
        self.ordered = self.link.ordered
        self.link.observe(weakly(self.on_connection))

    def _equip(self) -> None:
        self.holds: ThreadHolds = ThreadHolds()
        self.keeper: Keeper = Keeper(*self._keeper_parts())

    def here(self) -> None:
        """Threads are at home everywhere."""

    def engaged(self) -> bool:
        return super().engaged() or self.keeper.engaged() or self.link.engaged()

    def _check_parking(self) -> None:
        if self.engaged():
            raise interrupted("this client", self.backend.label)

    def exit_link(self) -> Link:
        return self.link

    def soon(self, function: Callable[..., object], *args: Any) -> None:
        function(*args)

    def run(self, steps: Steps[R]) -> R:
        """Drive an algorithm in this thread."""
        try:
            return run(steps, self.link)
        except InterlockError:
            if self.schedule.closed:
                rest_at_exit(self.ending)
            raise

    def after_fork(self) -> None:
        super().after_fork()
        self._equip()
        if self._finalizer.detach() is not None:  # else it is closed
            self._finalizer = weakref.finalize(self, Keeper.shut, self.keeper, self.link)

    def close(self) -> None:
        """Release what is still held and close every connection."""
        self._finalizer()


class AsyncSession(BaseSession):
    """The memory of a client for tasks."""

    link: AsyncLink
    _loop: Any
    _finalizer: weakref.finalize[..., Any] | None = None

    def __init__(self, backend: Backend, observer: Observer | None = None) -> None:
        from asyncio import get_running_loop  # here, so that threads need not import it

        super().__init__(backend, observer)
        self._running_loop, self._loop = get_running_loop, None
        self._moving = threading.RLock()
        self._connect()
        self._equip()
        self._complete()

    def _connect(self) -> None:
        self.link = self.backend.alink()
        self.ordered = self.link.ordered
        self.link.observe(weakly(self.on_connection))

    def _equip(self) -> None:
        self.holds: TaskHolds = TaskHolds()
        self.keeper: AsyncKeeper = AsyncKeeper(*self._keeper_parts())
        self.keeper.loop = self._loop
        if self._finalizer is not None:
            self._finalizer.detach()
        self._finalizer = weakref.finalize(self, AsyncKeeper.dismiss, self.keeper)
        self._finalizer.atexit = False  # the loop has ended, and with it whatever was open

    def here(self) -> None:
        """Refuse every event loop but the one that this client lives on."""
        try:
            loop = self._running_loop()
        except RuntimeError:
            raise UsageError(NO_LOOP) from None
        if loop is not self._loop:
            self._follow(loop)

    def _check_parking(self) -> None:
        """A task is not interrupted: a signal handler cannot wait for what it would await."""

    def exit_link(self) -> Link:
        # The loop does not go on while the handler runs, and its own link neither.
        return self.backend.link()

    def soon(self, function: Callable[..., object], *args: Any) -> None:
        with suppress(RuntimeError):  # the loop has ended, and with it what was held there
            if self._loop is not None:
                self._loop.call_soon_threadsafe(function, *args)

    def run(self, steps: Steps[R]) -> Coroutine[Any, Any, R]:
        """Drive an algorithm in this task; in a wrong place not even its first step is taken."""
        self.here()
        return arun(steps, self.link)

    cancels = True

    def enter_scope(self, lease: Lease) -> None:
        scope = lease.scope
        if scope is None:
            scope = lease.scope = CancelScope()
        assert isinstance(scope, CancelScope)
        scope.enter(self.holds.current_task())

    def _follow(self, loop: Any) -> None:
        """Move to the first loop that comes, and from one that has ended, with nothing held.

        Of several that come at once, each in its thread, one gets the client.
        """
        with self._moving:
            if self._loop is not None:
                if not self._loop.is_closed():
                    raise UsageError(OTHER_LOOP)
                self._begin()
                self._equip()
            self._loop = loop
            self.keeper.loop = loop

    def after_fork(self) -> None:
        super().after_fork()
        # The child has none of the parent's threads: what they hold here stays held.
        self._loop, self._moving = None, threading.RLock()
        self._equip()

    async def close(self) -> None:
        """Release what is still held and close every connection."""
        self.here()
        if self._finalizer is not None:
            self._finalizer.detach()
        await self.keeper.shut()
        await self.link.close()
