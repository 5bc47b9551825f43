"""An asyncio connection that is opened when it is needed, and again when it was lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from copy import copy
from typing import Any

from ....drive import now
from ....errors import InterlockError, StoreUnavailable, closed
from ....steps import Call
from ..errors import Unreached
from .handshakes import ConnectionFactory, open_asyncio
from .mux import Mux, PendingReply
from .openings import retire, transport_of

#: Seconds that closing waits for replies that are on their way.
CLOSING = 1.0


class LazyConnection:
    """A connection that is opened when it is needed, and again when it was lost."""

    def __init__(
        self,
        factory: ConnectionFactory,
        on_message: Callable[[str, str | None], None],
        on_lost: Callable[[LazyConnection], None],
        on_opened: Callable[[LazyConnection], None],
        only_subscribes: bool = False,
    ) -> None:
        self._factory, self._only_subscribes = factory, only_subscribes
        self._on_message, self._on_lost, self._on_opened = on_message, on_lost, on_opened
        self.mux: Mux | None = None
        self._opening: asyncio.Task[None] | None = None
        self._unsent: dict[PendingReply, Call] = {}
        self._connection: Any = None

    def call(self, pending: PendingReply, request: Call) -> None:
        if self.mux is not None:
            self.mux.call(pending, request)
        else:
            self._unsent[pending] = request
            self._limit(pending, request.until - now())
            self.opening()

    def _limit(self, pending: PendingReply, timeout: float) -> None:
        """Connecting is bounded; but a question may be worth less time than that."""
        if timeout < self._factory.connect_timeout:
            loop = asyncio.get_running_loop()
            timer = loop.call_later(max(timeout, 0.0), self._too_late, pending)
            pending.add_done_callback(lambda _: timer.cancel())

    def _too_late(self, pending: PendingReply) -> None:
        """Connecting took longer than the question was worth: it will never be sent."""
        if self._unsent.pop(pending, None) is not None:
            label = self._factory.label
            pending.set_exception(Unreached(f"cannot reach {label} in time", label))

    @property
    def waiting(self) -> bool:
        """Whether a call waits until it is open."""
        return bool(self._unsent)

    def opening(self) -> asyncio.Task[None]:
        """The task that opens the connection; one for all callers."""
        if self._opening is None:
            self._opening = asyncio.create_task(self._open(), name="interlock-connect")
            self._opening.add_done_callback(self._opening_ended)
        return self._opening

    def _opening_ended(self, opening: asyncio.Task[None]) -> None:
        """A task that is cancelled before its first step never runs, and tells its callers
        nothing."""
        if self._opening is opening:
            self._opening = None
            self._fail(StoreUnavailable("the event loop is closing", self._factory.label))

    async def _open(self) -> None:
        try:
            connection = await open_asyncio(self._factory)
        except InterlockError as failure:
            self._fail(failure)
        except asyncio.CancelledError:
            # The loop is closing.  Calls cannot be cancelled, so they must be told.
            self._fail(StoreUnavailable("the event loop is closing", self._factory.label))
            raise
        else:
            self._connection = connection
            self.mux = mux = Mux(
                transport_of(connection),
                self._factory,
                self._only_subscribes,
                self._on_message,
                self._lost,
            )
            mux.generation, mux.shown = connection.generation, connection.shown
            mux.recount_at = connection.recount_at
            self._on_opened(self)
            self._send_unsent(mux)
        finally:
            self._opening = None

    def _send_unsent(self, mux: Mux) -> None:
        unsent, self._unsent = self._unsent, {}
        for pending, request in unsent.items():
            mux.call(pending, request)

    def _fail(self, failure: InterlockError) -> None:
        unsent, self._unsent = self._unsent, {}
        for pending in unsent:
            if not pending.done():
                pending.set_exception(copy(failure))  # each may get notes of its own

    def _lost(self) -> None:
        retire(self._connection)
        self.mux = self._connection = None
        self._on_lost(self)

    async def close(self) -> None:
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait((self._opening,))
        self._fail(closed(self._factory.label))
        if self.mux is not None:
            await self.mux.drained(now() + CLOSING)
        if self.mux is not None:
            self.mux.abort("this client is closed")
