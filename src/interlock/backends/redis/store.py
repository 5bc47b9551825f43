"""Every store of a Redis server: see `stores.Backend`."""

from __future__ import annotations

from functools import cache

from ...stores import AsyncLink, Link
from .catalogue import RedisDirectory
from .connections import Door
from .fair import FairLocks
from .fenced import FencedLocks
from .latches import Latches
from .locks import HashLocks, StringLocks
from .permits import LeasedSemaphores, Semaphores
from .rw import RwLocks


class RedisBackend:
    """See `stores.Backend`."""

    def __init__(self, door: Door) -> None:
        self._door, self.label = door, door.label
        self.locks, self.mutexes = HashLocks(self.label), StringLocks(self.label)
        self.fair_locks, self.fenced_locks = FairLocks(self.label), FencedLocks(self.label)
        self.readers, self.writers = RwLocks("read", self.label), RwLocks("write", self.label)
        self.latches, self.directory = Latches(self.label), RedisDirectory()
        self._semaphores, self._leased = cache(Semaphores), cache(LeasedSemaphores)

    def semaphores(self, permits: int | None, weight: int) -> Semaphores:
        return self._semaphores(permits, weight, self.label)

    def leased_semaphores(self, permits: int | None) -> LeasedSemaphores:
        return self._leased(permits, self.label)

    def link(self) -> Link:
        from .blocking import RedisLink

        return RedisLink(self._door)

    def alink(self) -> AsyncLink:
        from .aio import RedisAsyncLink

        return RedisAsyncLink(self._door)
