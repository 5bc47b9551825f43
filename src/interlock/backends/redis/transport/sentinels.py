"""The Sentinels of one service: asked, in both worlds, which server is its primary."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from ....drive import now
from ....errors import StoreError
from ..errors import not_sent
from ..topology import (
    CHECK,
    PASSED_OVER,
    Primary,
    Search,
    read_primary,
    search,
    sentinel_refused,
)
from ..url import RedisSettings
from .handshakes import ConnectionFactory, is_raised, open_asyncio, open_blocking


def sentinel_settings(settings: RedisSettings) -> list[RedisSettings]:
    """How to reach each Sentinel; its user and password are apart from the server's."""
    own = replace(
        settings,
        username=settings.sentinel_username,
        password=settings.sentinel_password,
        client_name=None,
        protocol=2,
        db=0,
        replicas=0,
        sentinels=(),
    )
    return [replace(own, host=host, port=port) for host, port in settings.sentinels]


class Sentinels:
    """What is known of the primary, and how to ask for it.

    Threads may ask at the same time: each believes the newest, whichever of them heard it.
    A connection to a Sentinel lives for one question, so a fork inherits none.
    """

    def __init__(
        self,
        service: str,
        label: str,
        factories: Sequence[ConnectionFactory],
        on_moved: Callable[[], None],
    ) -> None:
        self._service, self._label = service, label
        self._factories, self._on_moved = factories, on_moved
        self.primary: Primary | None = None
        self.moves = 0
        #: When a Sentinel last named it, and when one was last asked.
        self._named_at = self._asked_at = -math.inf
        self._pause = CHECK
        self._next, self._failed_at = 0, [-math.inf] * len(factories)

    def is_due(self) -> bool:
        """Whether it is time to ask whether the primary is still the same."""
        return now() - self._asked_at >= self._pause

    def suspect(self) -> None:
        """The primary did not answer, or is none any more: ask before the next use of it."""
        self._named_at = self._asked_at = -math.inf

    def find(self, until: float) -> None:
        """Know the primary, for a new connection; StoreError when it is not to be known.
        No question if a Sentinel has just named it."""
        if now() - self._named_at >= CHECK:
            steps, answer = self._search(until), None
            try:
                while True:
                    which, limit = steps.send(answer)  # type: ignore[arg-type]  # at first None
                    answer = self._noted(which, self._ask(which, limit))
            except StopIteration as found:
                self._believe(found.value)

    async def find_async(self, until: float) -> None:
        """The same for asyncio."""
        if now() - self._named_at >= CHECK:
            steps, answer = self._search(until), None
            try:
                while True:
                    which, limit = steps.send(answer)  # type: ignore[arg-type]  # at first None
                    answer = self._noted(which, await self._ask_async(which, limit))
            except StopIteration as found:
                self._believe(found.value)

    def check(self, until: float) -> None:
        """Ask whether the primary is another one by now; silence changes nothing."""
        self._before_check()
        with suppress(StoreError):
            self.find(until)

    async def check_async(self, until: float) -> None:
        """The same for asyncio."""
        self._before_check()
        with suppress(StoreError):
            await self.find_async(until)

    def _before_check(self) -> None:
        """At once, because one thread asks for all; and Sentinels that are silent are asked less
        often, because each time costs a caller."""
        self._asked_at, self._pause = now(), min(2 * self._pause, 8 * CHECK)

    # --- what is decided -----------------------------------------------------------------------

    def _search(self, until: float) -> Search:
        newest = -1 if self.primary is None else self.primary.epoch
        return search(self._order(), newest, now, until, self._label)

    def _order(self) -> list[int]:
        """Each search begins with another Sentinel, so that none that is cut off from the others
        is believed for long; those that did not answer come last."""
        count, first, at = len(self._factories), self._next, now()
        self._next = (first + 1) % count
        turns = [(first + step) % count for step in range(count)]
        return sorted(turns, key=lambda each: at - self._failed_at[each] < PASSED_OVER)

    def _noted(self, which: int, answer: Primary | StoreError) -> Primary | StoreError:
        self._failed_at[which] = now() if isinstance(answer, StoreError) else -math.inf
        return answer

    def _believe(self, primary: Primary) -> None:
        self._named_at, self._asked_at, self._pause = now(), now(), CHECK
        former, self.primary = self.primary, primary
        if former is None or former.address != primary.address:
            self.moves += former is not None
            self._on_moved()  # only now: who sees the new generation finds the new primary

    # --- one question to one Sentinel ------------------------------------------------------------

    def _ask(self, which: int, until: float) -> Primary | StoreError:
        factory = self._factories[which]
        try:
            connection = open_blocking(factory, until)
            try:
                connection.send_command("SENTINEL", "MASTER", self._service)
                return read_primary(connection.read_response())
            finally:
                connection.disconnect()
        except Exception as failure:
            return self._explained(failure, factory.label)

    async def _ask_async(self, which: int, until: float) -> Primary | StoreError:
        factory, connection = self._factories[which], None
        try:
            async with asyncio.timeout(max(until - now(), 0.001)):
                connection = await open_asyncio(factory)
                await connection.send_command("SENTINEL", "MASTER", self._service)
                return read_primary(await connection.read_response())
        except Exception as failure:
            return self._explained(failure, factory.label)
        finally:
            if connection is not None:
                await connection.disconnect(nowait=True)

    def _explained(self, failure: Exception, sentinel: str) -> StoreError:
        if isinstance(failure, StoreError):
            return failure
        if is_raised(failure, "ResponseError", "AuthenticationError"):
            return sentinel_refused(str(failure), sentinel, self._service, self._label)
        return not_sent(failure, sentinel)
