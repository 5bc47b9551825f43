"""The keeper: the one inhabitant of the background, one for each client.

It runs the recipe `keep`; here is only its thread, or its task, and how it ends.
"""

from __future__ import annotations

import logging
import os
import threading
from typing import TYPE_CHECKING, Any

from ..drive import arun, now, run
from ..errors import InterlockError, StoreError
from ..model import Holder
from ..recipes.keep import Kept, Rota, keep
from ..steps import Steps, Wakes, park
from ..stores import AsyncLink, Directory, Link, LockStore
from .lines import Lines

if TYPE_CHECKING:
    from asyncio import Task

log = logging.getLogger("interlock.keeper")

#: Seconds that closing may spend on giving back what is still held.
FAREWELL = 1.0

CANCELLED = "its keeper was cancelled, as when the event loop is closing"

#: Seconds of these for questions that are on their way when a client is closed.
GRACE = 0.25


class BaseKeeper:
    """What both worlds share."""

    def __init__(
        self, rota: Rota, lines: Lines, link: Any, directory: Directory, introduction: Holder
    ) -> None:
        self.rota, self.link, self._lines = rota, link, lines
        self._directory, self._introduction = directory, introduction
        self._wakes: Wakes = link.local()

    def wake(self) -> None:
        """There may be something to do."""
        if not self.running():
            self.start()
        self._wakes.wake()

    def watch(self, hold: Kept) -> None:
        """Keep a hold from now on."""
        if self.rota.add(hold):
            self.wake()

    def running(self) -> bool:
        raise NotImplementedError

    def start(self) -> None:
        raise NotImplementedError

    def round(self) -> Steps[None]:
        """Keep every lease of the client, and now and then say who we are."""
        return keep(self.rota, self._wakes, now, self._introduce)

    def _introduce(self, until: float) -> Steps[float]:
        try:
            return (yield from self._directory.introduce(self._introduction, until))
        except StoreError as failure:
            log.debug("could not introduce this process: %s", failure)
            return 10.0

    def farewell(self, until: float) -> Steps[None]:
        """Give back everything that is still held, and pay what is owed."""
        yield from self.give_back(until)
        for owed in self.rota.debts():
            yield from self._let_go(owed.store, owed.name, owed.owner, until)

    def give_back(self, until: float) -> Steps[None]:
        """Give back everything that is still held, and what is granted meanwhile."""
        grace = min(until, now() + GRACE)
        yield from self._give_all_back(until)
        while not self._lines.idle() and now() < grace:
            # Somebody's question is on its way, and may be answered with a grant.
            yield from park(None, now() + 0.005)
            yield from self._give_all_back(until)
        yield from self._give_all_back(until)  # who was granted a share has left the line

    def _give_all_back(self, until: float) -> Steps[None]:
        for hold in self.rota.holds():
            if now() >= until or not self.rota.drop(hold):
                continue
            if self.rota.closed:
                hold.end("its client was closed")
            else:
                hold.lose(CANCELLED)
            yield from self._let_go(hold.store, hold.name, hold.owner, until)

    def _let_go(self, store: LockStore, name: str, owner: str, until: float) -> Steps[None]:
        if now() >= until:
            return
        try:
            yield from store.withdraw(name, owner, until)
        except InterlockError as failure:
            log.debug("could not release %r at the end: %s", name, failure)


class Keeper(BaseKeeper):
    """A thread that keeps the leases of a client."""

    link: Link
    _thread: threading.Thread | None = None
    _starting: threading.Lock

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._starting, self._pid = threading.Lock(), os.getpid()

    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        with self._starting:
            if not self.running() and not self.rota.closed:
                thread = threading.Thread(target=self._main, name="interlock-keeper", daemon=True)
                thread.start()
                self._thread = thread

    def _main(self) -> None:
        while not self.rota.closed:
            try:
                run(self.round(), self.link)
            except BaseException:  # sys.exit() in somebody's callback is no reason to go
                if not self.rota.closed:
                    log.exception("the keeper stumbled, and goes on")
                    self.link.park(None, now() + 0.1)

    def shut(self, link: Link) -> None:
        """Release what is held and end; also run by the interpreter's exit."""
        if self._pid != os.getpid():
            return  # a forked child inherits nothing, not even the end
        self.rota.closed = True
        self._wakes.wake()
        try:
            run(self.farewell(now() + FAREWELL), link)
        finally:
            link.close()


class AsyncKeeper(BaseKeeper):
    """A task that keeps the leases of a client."""

    link: AsyncLink
    _task: Task[None] | None = None

    def running(self) -> bool:
        return self._task is not None and not self._task.done()

    def start(self) -> None:
        from asyncio import create_task

        if not self.rota.closed:
            self._task = create_task(self._main(), name="interlock-keeper")
            self._task.add_done_callback(self._gone)

    def _gone(self, task: Task[None]) -> None:
        """Cancelled even before its first turn: then only this is left to say so."""
        self.rota.unattended()
        for hold in self.rota.holds():
            if self.rota.drop(hold):
                hold.lose(CANCELLED)

    async def _main(self) -> None:
        try:
            while not self.rota.closed:
                await self._round()
            await self._farewell()
        except BaseException:
            # The loop is closing: nothing may stay behind, and nobody awaits a longer farewell.
            await self._farewell()
            self.link.hang_up()
            raise

    async def _round(self) -> None:
        try:
            await arun(self.round(), self.link)
        except Exception:
            if not self.rota.closed:
                log.exception("the keeper stumbled, and goes on")
                await self.link.park(None, now() + 0.1)

    async def _farewell(self) -> None:
        await arun(self.farewell(now() + FAREWELL), self.link)

    async def shut(self) -> None:
        """Release what is held and end; whoever owes something had a keeper, which has paid."""
        self.rota.closed = True
        self._wakes.wake()
        try:
            await self._end()
            await arun(self.give_back(now() + FAREWELL), self.link)
        except BaseException:
            self._abandon()
            raise

    async def _end(self) -> None:
        if self._task is not None and not self._task.done():
            from asyncio import wait

            await wait((self._task,))

    def _abandon(self) -> None:
        """Closing was cancelled, so nobody will close the link."""
        if self._task is not None and not self._task.done():
            self._task.add_done_callback(lambda _: self.link.hang_up())
        else:
            self.link.hang_up()
