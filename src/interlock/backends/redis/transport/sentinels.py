"""The Sentinels of one service: asked, in both worlds, which server is its primary."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ....drive import now
from ....errors import StoreError
from ..errors import not_sent
from ..topology import (
    CHECK,
    PASSED_OVER,
    RESET,
    Primary,
    Questions,
    SentinelsBehind,
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
    What was heard earlier and is of an earlier failover is dropped.
    A connection to a Sentinel lives for one question, so a fork inherits none.  They are asked for
    the replicas in the same round trip, if they `count` them.
    """

    def __init__(
        self,
        service: str,
        label: str,
        factories: Sequence[ConnectionFactory],
        on_moved: Callable[[], None],
        counts: bool = False,
    ) -> None:
        self._label = label
        self._factories, self._on_moved = factories, on_moved
        about = ("MASTER", "REPLICAS") if counts else ("MASTER",)
        self._questions = [("SENTINEL", word, service) for word in about]
        self._service = service
        self.primary: Primary | None = None
        self.moves = 0
        #: When a Sentinel last named it, and when one was last asked.
        self._named_at = self._asked_at = -math.inf
        self._pause = CHECK
        #: Since when those that answer are behind what is known.
        self._behind_since = math.inf
        self._next, self._failed_at = 0, [-math.inf] * len(factories)

    @property
    def title(self) -> str:
        """See `confirmation.Witness`."""
        return f"the Sentinels of {'' if self.primary is None else self.primary.address}"

    def replicas_seen(self) -> int:
        """How many replicas of the primary they have last seen up."""
        return 0 if self.primary is None else self.primary.replicas

    def is_due(self) -> bool:
        """Whether it is time to ask whether the primary is still the same."""
        return now() - self._asked_at >= self._pause

    def suspect(self) -> None:
        """The primary did not answer, or is none any more: ask before the next use of it."""
        self._named_at = self._asked_at = -math.inf

    def find(self, until: float) -> None:
        """Know the primary, for a new connection; StoreError when it is not to be known.
        No question if a Sentinel has just named it."""
        steps, answer = self._find(until), None
        with suppress(StopIteration):
            while True:
                which, limit = steps.send(answer)  # type: ignore[arg-type]  # at first None
                answer = self._ask(which, limit)

    async def find_async(self, until: float) -> None:
        """The same for asyncio."""
        steps, answer = self._find(until), None
        with suppress(StopIteration):
            while True:
                which, limit = steps.send(answer)  # type: ignore[arg-type]  # at first None
                answer = await self._ask_async(which, limit)

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

    def _find(self, until: float) -> Questions:
        """Which Sentinels to ask, one after another; each is sent what it said."""
        if now() - self._named_at < CHECK:
            return
        known = self.primary
        newest = -1 if known is None else known.epoch
        reset = now() - self._behind_since >= RESET
        try:
            found = yield from search(self._order(), newest, now, until, self._label, reset)
        except SentinelsBehind:
            self._behind_since = min(self._behind_since, now())
            raise
        self._behind_since = math.inf
        heard = self.primary  # another thread may have asked, too
        if heard is None or heard == known or found.epoch >= heard.epoch:
            self._believe(found)

    def _order(self) -> list[int]:
        """Each search begins with another Sentinel, so that none that is cut off from the others
        is believed for long; those that did not answer come last."""
        count, first, at = len(self._factories), self._next, now()
        self._next = (first + 1) % count
        turns = [(first + step) % count for step in range(count)]
        return sorted(turns, key=lambda each: at - self._failed_at[each] < PASSED_OVER)

    def _believe(self, primary: Primary) -> None:
        self._named_at, self._asked_at, self._pause = now(), now(), CHECK
        former, self.primary = self.primary, primary
        if former is None or former.address != primary.address:
            self.moves += former is not None
            self._on_moved()  # only now: who sees the new generation finds the new primary

    # --- one question to one Sentinel ------------------------------------------------------------

    def _ask(self, which: int, until: float) -> Primary | StoreError:
        try:
            connection = open_blocking(self._factories[which], until)
            try:
                connection.send_packed_command(connection.pack_commands(self._questions))
                return self._named(which, [connection.read_response() for _ in self._questions])
            finally:
                connection.disconnect()
        except Exception as failure:
            return self._failed(which, failure)

    async def _ask_async(self, which: int, until: float) -> Primary | StoreError:
        connection = None
        try:
            async with asyncio.timeout(max(until - now(), 0.001)):
                connection = await open_asyncio(self._factories[which])
                await connection.send_packed_command(connection.pack_commands(self._questions))
                answers = [await connection.read_response() for _ in self._questions]
                return self._named(which, answers)
        except Exception as failure:
            return self._failed(which, failure)
        finally:
            if connection is not None:
                await connection.disconnect(nowait=True)

    def _named(self, which: int, answers: Sequence[Sequence[Any]]) -> Primary:
        self._failed_at[which] = -math.inf
        return read_primary(*answers)

    def _failed(self, which: int, failure: Exception) -> StoreError:
        self._failed_at[which], sentinel = now(), self._factories[which].label
        if isinstance(failure, StoreError):
            return failure
        if is_raised(failure, "ResponseError", "AuthenticationError"):
            return sentinel_refused(str(failure), sentinel, self._service, self._label)
        return not_sent(failure, sentinel)
