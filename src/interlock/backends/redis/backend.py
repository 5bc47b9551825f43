"""Every store of a Redis server: see `spi.Backend`."""

from __future__ import annotations

from functools import cache
from typing import Any

from ...spi import AsyncLink, Link
from .directory import RedisDirectory
from .fair_locks import RedisFairLocks
from .keys import ONE_SERVER, Layout
from .latches import RedisLatches
from .locks import RedisFencedLocks, RedisLocks, RedisMutexes
from .rwlocks import RedisRwLocks
from .semaphores import RedisLeasedSemaphores, RedisSemaphores
from .transport.handshakes import ConnectionFactory


class RedisBackend:
    """See `spi.Backend`."""

    directory: RedisDirectory

    def __init__(self, factory: Any, places: Layout = ONE_SERVER) -> None:
        self._factory: ConnectionFactory = factory
        label, self._places = factory.label, places
        self.label: str = label
        self.locks, self.mutexes = RedisLocks(label, places), RedisMutexes(label, places)
        self.fair_locks = RedisFairLocks(label, places=places)
        self.fenced_locks = RedisFencedLocks(label, places)
        self.readers = RedisRwLocks("read", label, places)
        self.writers = RedisRwLocks("write", label, places)
        self.latches, self.directory = RedisLatches(label, places), RedisDirectory()
        self._semaphores, self._leased = cache(RedisSemaphores), cache(RedisLeasedSemaphores)

    def semaphores(self, permits: int | None, weight: int) -> RedisSemaphores:
        return self._semaphores(permits, weight, self.label, self._places)

    def leased_semaphores(self, permits: int | None) -> RedisLeasedSemaphores:
        return self._leased(permits, self.label, self._places)

    def link(self) -> Link:
        from .link import RedisLink

        return RedisLink(self._factory)

    def alink(self) -> AsyncLink:
        from .aio import RedisAsyncLink

        return RedisAsyncLink(self._factory)
