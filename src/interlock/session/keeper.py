"""The keeper: the one inhabitant of the background, one for each client.

It runs the recipe `keep`; here is only its thread, or its task, and how it ends.
"""

from __future__ import annotations

import logging
import math
import os
import threading
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from ..drive import arun, now, run
from ..errors import InterlockError, StoreError
from ..model import Holder
from ..parking import is_mine
from ..recipes.keeper_round import keep
from ..recipes.local_queue import LocalQueue
from ..recipes.renewal import RenewalSchedule
from ..spi import AsyncLink, Directory, Link, LockStore
from ..steps import Steps, Wakes, park, side_by_side
from .checkup import Checkup

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Task

    from ..tasks import TaskWakes

log = logging.getLogger("interlock.keeper")

#: Seconds that closing may spend on giving back what is still held.
FAREWELL = 1.0

#: Withdrawals in one round trip: long enough to be cheap, short enough to let others in.
BATCH = 250

CANCELLED = "its keeper was cancelled, as when the event loop is closing"

#: Seconds of these for questions that are on their way when a client is closed.
GRACE = 0.25


#: An owner, and of what.
Ownership: TypeAlias = tuple[LockStore, str, str]


class BaseKeeper:
    """What both worlds share."""

    #: Whether the client is just being closed, and gives back what it has.
    closing = False

    def __init__(
        self,
        schedule: RenewalSchedule,
        queue: LocalQueue,
        link: Any,
        directory: Directory,
        introduction: Holder,
        checkup: Checkup,
    ) -> None:
        self.schedule, self.link, self._queue = schedule, link, queue
        self._directory, self._introduction = directory, introduction
        self._checkup = checkup
        self._wakes: Wakes = link.local()

    def wake(self) -> None:
        """There may be something to do."""
        if not self.running():
            self.start()
        self._wakes.wake()

    def nudge(self) -> None:
        """There may be something to do, says a finalizer, in whatever thread."""
        self._wakes.wake()

    def running(self) -> bool:
        raise NotImplementedError

    def start(self) -> None:
        raise NotImplementedError

    def round(self) -> Steps[None]:
        """Keep every lease of the client, and now and then say who we are."""
        return keep(self.schedule, self._wakes, now, self._introduce)

    def _introduce(self, until: float) -> Steps[float]:
        yield from self._checkup.steps(until)
        try:
            return (yield from self._directory.introduce(self._introduction, until))
        except StoreError as failure:
            log.debug("the store was not told which process this is; again in 10 s: %s", failure)
            return 10.0

    def farewell(self, until: float) -> Steps[None]:
        """Give back everything that is still held, and withdraw what is owed."""
        yield from self.give_back(until)
        owed = self.schedule.pending()
        yield from self.let_all_go(((each.store, each.name, each.owner) for each in owed), until)

    def give_back(self, until: float) -> Steps[None]:
        """Give back everything that is still held, and what is granted meanwhile."""
        grace = min(until, now() + GRACE)
        yield from self._give_all_back(until)
        while not self._queue.idle() and now() < grace:
            # A question is on its way, and may be answered with a grant.
            yield from park(None, now() + 0.005)
            yield from self._give_all_back(until)
        yield from self._give_all_back(until)  # who was granted a share has left the queue
        yield from self._withdraw_waiters(until)

    def _withdraw_waiters(self, until: float) -> Steps[None]:
        """The waiters wait in threads that may never run again."""
        waiting = [each for each in list(self._queue.acquiring.values()) if each.maybe_known]
        for acquisition in waiting:
            acquisition.maybe_known = False  # whatever comes of it, it is not done again
        yield from self.let_all_go(((s.store, s.name, s.owner) for s in waiting), until)

    def _give_all_back(self, until: float) -> Steps[None]:
        self.schedule.sweep()
        dropped = [hold for hold in self.schedule.holds() if self.schedule.drop(hold)]
        for hold in dropped:
            if self.schedule.closed:
                hold.end("its client was closed")
            else:
                hold.lose(CANCELLED)
        yield from self.let_all_go(((h.store, h.name, h.owner) for h in dropped), until)

    def let_all_go(self, owners: Iterable[Ownership], until: float) -> Steps[list[Ownership]]:
        """Withdraw owners, many in one round trip; answers those that were not confirmed."""
        every, left = iter(owners), list[Ownership]()
        while some := list(islice(every, BATCH)):
            gone = yield from side_by_side(*(self._let_go(*each, until) for each in some))
            left += [each for each, went in zip(some, gone, strict=True) if went is not True]
        return left

    def _let_go(self, store: LockStore, name: str, owner: str, until: float) -> Steps[bool]:
        if now() >= until:
            return False
        try:
            yield from store.withdraw(name, owner, until)
        except InterlockError as failure:
            log.debug("lock %r was not released at the end; its lease ends it: %s", name, failure)
            return False
        return True


class Keeper(BaseKeeper):
    """A thread that keeps the leases of a client."""

    link: Link
    _thread: threading.Thread | None = None

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        # Reentrant, because a signal handler that takes a lock may want the keeper as well.
        self._mutex, self._starting = threading.RLock(), False
        self._pid = os.getpid()

    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def engaged(self) -> bool:
        """Whether this thread is just starting the keeper, and others wait for that."""
        return is_mine(self._mutex)

    def start(self) -> None:
        with self._mutex:
            if self._starting or self.running() or self.schedule.closed:
                return
            self._starting = True
            try:
                thread = threading.Thread(target=self._main, name="interlock-keeper", daemon=True)
                thread.start()
                self._thread = thread
            finally:
                self._starting = False

    def _main(self) -> None:
        while not self.schedule.closed:
            try:
                run(self.round(), self.link)
            except BaseException:  # sys.exit() in a user's callback is no reason to go
                if not self.schedule.closed:
                    log.exception("the keeper failed in a round; it tries again in 0.1 s")
                    self.link.park(None, now() + 0.1)

    def shut(self, link: Link) -> None:
        """Release what is held and end; also run by the interpreter's exit."""
        if self._pid != os.getpid():
            return  # a forked child inherits nothing, not even the end
        self.closing = self.schedule.closed = True
        self._wakes.wake()
        if link.engaged():
            # A finalizer has struck in the middle of a call of this thread, where the store
            # refuses every other one: another thread releases, when the call has ended.
            threading.Thread(target=self._part, args=(link,), daemon=True).start()
        else:
            self._part(link)

    def _part(self, link: Link) -> None:
        try:
            run(self.farewell(now() + FAREWELL), link)
        finally:
            self.closing = False
            link.close()


class AsyncKeeper(BaseKeeper):
    """A task that keeps the leases of a client."""

    link: AsyncLink
    #: The loop on which the client lives.
    loop: AbstractEventLoop | None = None
    _task: Task[None] | None = None
    _dismissed = False
    #: Until when closing may take.
    _until = math.inf

    def nudge(self) -> None:
        cast("TaskWakes", self._wakes).wake_from_afar()

    def running(self) -> bool:
        return self._task is not None and not self._task.done()

    def start(self) -> None:
        from asyncio import create_task

        if not self.schedule.closed:
            self._task = create_task(self._main(), name="interlock-keeper")
            self._task.add_done_callback(self._gone)

    def _gone(self, task: Task[None]) -> None:
        """Cancelled even before its first turn: then only this is left to say so."""
        self.schedule.unattended()
        for hold in self.schedule.holds():
            if self.schedule.drop(hold):
                hold.lose(CANCELLED)

    async def _main(self) -> None:
        try:
            while not self.schedule.closed:
                await self._round()
            await self._farewell()
            if self._dismissed:
                await self.link.close()
        except BaseException:
            # The loop is closing: nothing may stay behind, and it grants no longer farewell.
            await self._farewell()
            self.link.hang_up()
            raise

    async def _round(self) -> None:
        try:
            await arun(self.round(), self.link)
        except Exception:
            if not self.schedule.closed:
                log.exception("the keeper failed in a round; it tries again in 0.1 s")
                await self.link.park(None, now() + 0.1)

    async def _farewell(self) -> None:
        await arun(self.farewell(min(self._until, now() + FAREWELL)), self.link)

    async def shut(self) -> None:
        """Release what is held and end; what was owed, the keeper has withdrawn before."""
        self.closing = self.schedule.closed = True
        self._until = now() + FAREWELL
        self._wakes.wake()
        try:
            await self._end()
            await arun(self.give_back(self._until), self.link)
        except BaseException:
            self._abandon()
            raise
        finally:
            self.closing = False

    def dismiss(self) -> None:
        """The client was dropped: let go of everything, in the loop that has it.

        Called wherever garbage is collected.
        """
        self.schedule.closed = self._dismissed = True
        with suppress(RuntimeError):  # the loop is closed, and took with it what was open
            if self.running():
                self.nudge()
            elif self.loop is None or self.loop.is_closed():
                self.link.hang_up()
            else:
                self.loop.call_soon_threadsafe(self.link.hang_up)

    async def _end(self) -> None:
        if self._task is not None and not self._task.done():
            from asyncio import wait

            await wait((self._task,))

    def _abandon(self) -> None:
        """Closing was cancelled, so its caller will not close the link."""
        if self._task is not None and not self._task.done():
            self._task.add_done_callback(lambda _: self.link.hang_up())
        else:
            self.link.hang_up()
