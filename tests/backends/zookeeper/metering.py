"""What clients send, counted on the wire."""

from __future__ import annotations

from typing import Any

from tests.support.frames import ZkProxy

from ...support.eventually import eventually
from ...support.worlds import World

#: Seconds of delay on the wire, to and fro: requests that go together are told apart by it.
DELAY = 0.01

ACQUIRE, RELEASE = ["create2", "getChildren"], ["delete"]


class Meter:
    """Makes clients, and counts what they send from one look to the next."""

    def __init__(self, world: World, proxy: ZkProxy, path: str, peek: Any) -> None:
        self._world, self._proxy, self._path, self._peek = world, proxy, path, peek
        proxy.delay(up=DELAY, down=DELAY)

    def client(self, session: float = 60.0, **options: Any) -> Any:
        """A client that has said who it is, and whose keeper has nothing to do for a while."""
        url = f"{self._proxy.url(self._path)}?session_timeout={session}"
        client = self._world.connect(url, **options)
        self.used(client.lock("warm"))
        eventually(lambda: self._peek.exists(f"/interlock:clients/{client._session.identity}"))
        self._proxy.mark()
        return client

    def used(self, face: Any) -> Any:
        """Make the directories of a name, as whoever comes first does."""
        self._world.do(self._world.do(face.acquire).release)
        self._proxy.mark()
        return face

    @property
    def requests(self) -> list[str]:
        """What was sent since the last look."""
        return self._proxy.requests

    def spent(self) -> tuple[list[str], int]:
        """The requests since the last look, and how many round trips they were."""
        seen = self._proxy.requests, self._proxy.round_trips()
        self._proxy.mark()
        return seen
