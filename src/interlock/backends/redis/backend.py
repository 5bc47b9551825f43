"""Every store of a Redis server: see `spi.Backend`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from ...model import Finding
from ...spi import AsyncLink, Link
from ...steps import Steps, together
from . import doctor
from .barriers import RedisBarriers
from .collisions import collisions
from .directory import RedisDirectory, raised
from .elections import RedisElections
from .fair_locks import RedisFairLocks
from .keys import ONE_SERVER, Layout
from .latches import RedisLatches
from .locks import RedisFencedLocks, RedisLocks, RedisMutexes
from .registers import RedisRegisters
from .restart_guard import RestartGuard
from .rwlocks import RedisRwLocks
from .semaphores import RedisLeasedSemaphores, RedisSemaphores
from .transport.handshakes import ConnectionFactory


class RedisBackend:
    """See `spi.Backend`."""

    directory: RedisDirectory

    def __init__(
        self, factory: Any, places: Layout = ONE_SERVER, guard: RestartGuard | None = None
    ) -> None:
        self._factory: ConnectionFactory = factory
        self._guard = guard
        label, self._places = factory.label, places
        self.label: str = label
        self.locks, self.mutexes = RedisLocks(label, places), RedisMutexes(label, places)
        self.fair_locks = RedisFairLocks(label, places=places)
        self.fenced_locks = RedisFencedLocks(label, places)
        self.readers = RedisRwLocks("read", label, places)
        self.writers = RedisRwLocks("write", label, places)
        self.latches, self.directory = RedisLatches(label, places), RedisDirectory()
        self.registers = RedisRegisters()
        self._semaphores, self._leased = cache(RedisSemaphores), cache(RedisLeasedSemaphores)
        self._elections, self._barriers = cache(RedisElections), cache(RedisBarriers)

    def semaphores(self, permits: int | None, weight: int) -> RedisSemaphores:
        return self._semaphores(permits, weight, self.label, self._places)

    def leased_semaphores(self, permits: int | None) -> RedisLeasedSemaphores:
        return self._leased(permits, self.label, self._places)

    def elections(self, participant: str) -> RedisElections:
        return self._elections(participant, self.label, self._places)

    def barriers(self, parties: int | None) -> RedisBarriers:
        return self._barriers(parties, self.label, self._places)

    def examine(self, until: float, thorough: bool) -> Steps[Sequence[Finding]]:
        """See `spi.SelfExamining`.  One round trip, and more for names if it is thorough."""
        expected = doctor.expected_of(self._factory, guarded=self._guard is not None)
        (reply,) = raised((yield from together([doctor.asked(until)])))
        found = doctor.of_servers([doctor.read(self.label, reply)], expected)
        if thorough:
            found += yield from collisions(self.label, self.directory.batches, until)
        return found

    def link(self) -> Link:
        from .guarded_link import GuardedLink
        from .link import RedisLink

        if self._guard is not None:
            return GuardedLink(self._factory, self._guard)
        return RedisLink(self._factory)

    def alink(self) -> AsyncLink:
        from .aio import GuardedAsyncLink, RedisAsyncLink

        if self._guard is not None:
            return GuardedAsyncLink(self._factory, self._guard)
        return RedisAsyncLink(self._factory)
