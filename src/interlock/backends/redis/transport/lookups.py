"""Where a node is: its name is looked up in a thread of its own.

`getaddrinfo` cannot be told how long it may take, and a name server that hangs would hold up who
asks it, and with it the questions to all other nodes.  So each node has at most one such thread,
which ends with its lookup; whoever needs the address waits for as long as it has time.
"""

from __future__ import annotations

import math
import socket
import threading
from concurrent.futures import Future
from typing import Any

from ....drive import now
from ..url import RedisSettings
from .polled_sockets import addresses_of, is_numeric

#: Seconds for which what was found is used without another lookup.
FOUND = 1.0

#: Seconds after which a lookup is taken to hang: then what was found before is used.
HANGS = 0.3


class Lookup:
    """The addresses of one node, for all connections of a link.

    Threads may begin at the same time: then it is looked up twice, and each of them is right.
    """

    def __init__(self, settings: RedisSettings) -> None:
        self._settings, self._numeric = settings, is_numeric(settings)
        self._under_way: Future[list[Any]] | None = None
        self._began_at, self._found_at = math.inf, -math.inf
        self._found: list[Any] = []

    def known(self, at: float) -> list[Any]:
        """Addresses that can be used at once; none where they have to be looked up first."""
        if self._numeric:
            return addresses_of(self._settings)
        hangs = self._under_way is not None and at - self._began_at > HANGS
        return list(self._found) if hangs or at - self._found_at < FOUND else []

    def begin(self) -> Future[list[Any]]:
        """Look it up, unless that is under way; it cannot be cancelled."""
        under_way = self._under_way
        if under_way is None:
            under_way = self._under_way = Future()
            under_way.set_running_or_notify_cancel()
            self._began_at = now()
            self._start(under_way)
        return under_way

    def _start(self, outcome: Future[list[Any]]) -> None:
        thread = threading.Thread(
            target=self._look_up, args=(outcome,), name="interlock-lookup", daemon=True
        )
        try:
            thread.start()
        except RuntimeError as ending:  # the interpreter ends, and starts no more threads
            self._settle(outcome, self._found or OSError(str(ending)))

    def _look_up(self, outcome: Future[list[Any]]) -> None:
        found: list[Any] | OSError
        try:
            found = self._found = addresses_of(self._settings)
            self._found_at = now()
        except OSError as failure:
            found = failure
        except Exception as failure:  # it cannot even be asked for: UnicodeError
            found = OSError(str(failure))
        self._settle(outcome, found)

    def _settle(self, outcome: Future[list[Any]], found: list[Any] | OSError) -> None:
        self._under_way = None
        if isinstance(found, OSError):
            outcome.set_exception(found)
        else:
            outcome.set_result(found)

    def find(self, until: float) -> None:
        """Wait until it was looked up; OSError when that fails, or takes longer."""
        if not self._numeric:
            self.begin().result(max(until - now(), 0.0))

    async def find_async(self) -> None:
        """The same in a task, which limits it."""
        from asyncio import wrap_future

        if not self._numeric:
            await wrap_future(self.begin())


def readable_when_done(outcome: Future[list[Any]]) -> socket.socket:
    """A socket that can be waited for together with others: it ends when there is an outcome."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    outcome.add_done_callback(lambda _: theirs.close())
    return ours
