"""Every store of a Redis server: see `spi.Backend`."""

from __future__ import annotations

from functools import cache

from ...spi import AsyncLink, Link
from .directory import RedisDirectory
from .fair_locks import RedisFairLocks
from .latches import RedisLatches
from .locks import RedisFencedLocks, RedisLocks, RedisMutexes
from .rwlocks import RedisRwLocks
from .semaphores import RedisLeasedSemaphores, RedisSemaphores
from .transport.handshakes import ConnectionFactory


class RedisBackend:
    """See `spi.Backend`."""

    def __init__(self, factory: ConnectionFactory) -> None:
        self._factory, self.label = factory, factory.label
        label = self.label
        self.locks, self.mutexes = RedisLocks(label), RedisMutexes(label)
        self.fair_locks, self.fenced_locks = RedisFairLocks(label), RedisFencedLocks(label)
        self.readers, self.writers = RedisRwLocks("read", label), RedisRwLocks("write", label)
        self.latches, self.directory = RedisLatches(label), RedisDirectory()
        self._semaphores, self._leased = cache(RedisSemaphores), cache(RedisLeasedSemaphores)

    def semaphores(self, permits: int | None, weight: int) -> RedisSemaphores:
        return self._semaphores(permits, weight, self.label)

    def leased_semaphores(self, permits: int | None) -> RedisLeasedSemaphores:
        return self._leased(permits, self.label)

    def link(self) -> Link:
        from .link import RedisLink

        return RedisLink(self._factory)

    def alink(self) -> AsyncLink:
        from .aio import RedisAsyncLink

        return RedisAsyncLink(self._factory)
