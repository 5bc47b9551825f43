"""Every store of a Redis server: see `stores.Backend`."""

from __future__ import annotations

from ...stores import AsyncLink, Link
from .catalogue import RedisDirectory
from .connections import Door
from .locks import HashLocks, StringLocks


class RedisBackend:
    """See `stores.Backend`."""

    def __init__(self, door: Door) -> None:
        self._door, self.label = door, door.label
        self.locks, self.mutexes = HashLocks(self.label), StringLocks(self.label)
        self.directory = RedisDirectory()

    def link(self) -> Link:
        from .blocking import RedisLink

        return RedisLink(self._door)

    def alink(self) -> AsyncLink:
        from .aio import RedisAsyncLink

        return RedisAsyncLink(self._door)
