"""The blocking link to a server with a restart guard."""

from __future__ import annotations

from ...steps import Call, Flight, Reply
from .link import RedisLink
from .restart_guard import RestartGuard
from .transport.handshakes import ConnectionFactory


class GuardedLink(RedisLink):
    """See `spi.Link`: every call asks the guard first."""

    def __init__(self, factory: ConnectionFactory, guard: RestartGuard) -> None:
        super().__init__(factory)
        self._guard = guard

    def call(self, request: Call) -> Reply:
        return super().call(self._guard.guarded(request))

    def together(self, requests: tuple[Call, ...]) -> list[Reply]:
        return super().together(tuple(map(self._guard.guarded, requests)))

    def begin(self, requests: tuple[Call, ...]) -> Flight | None:
        return super().begin(tuple(map(self._guard.guarded, requests)))
