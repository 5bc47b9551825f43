"""Every store of a ZooKeeper ensemble: see `spi.Backend`."""

from __future__ import annotations

from functools import cache, partial

from ...spi import AsyncLink, Link
from .barriers import ZkBarriers
from .directory import ZkDirectory
from .elections import ZkElections
from .latches import ZkLatches
from .locks import ZkFairLocks, ZkLocks
from .namespace import Namespace
from .registers import ZkRegisters
from .rwlocks import ZkRwLocks
from .semaphores import ZkSemaphores
from .transport.transport import Transport
from .url import ZkSettings


class ZkBackend:
    """See `spi.Backend`.  A fair lock and a fenced lock are what every lock is here, and a mutex
    is a semaphore of one permit."""

    def __init__(self, settings: ZkSettings) -> None:
        self._settings, self.label = settings, settings.label
        self._transport = Transport(settings)
        self.namespace = namespace = Namespace(
            self.label, settings.root, {}, self._transport.clock
        )
        self.locks = self.fenced_locks = ZkLocks(namespace)
        self.fair_locks = ZkFairLocks(namespace)
        self.mutexes = ZkSemaphores("mutex", 1, 1, namespace)
        self.readers, self.writers = ZkRwLocks("read", namespace), ZkRwLocks("write", namespace)
        self.latches, self.directory = ZkLatches(namespace), ZkDirectory(namespace)
        self.registers = ZkRegisters(namespace)
        self._semaphores = cache(partial(ZkSemaphores, namespace=namespace))
        self._elections = cache(partial(ZkElections, namespace=namespace))
        self._barriers = cache(partial(ZkBarriers, namespace=namespace))

    def semaphores(self, permits: int | None, weight: int) -> ZkSemaphores:
        return self._semaphores("semaphore", permits, weight)

    def leased_semaphores(self, permits: int | None) -> ZkSemaphores:
        return self._semaphores("leased_semaphore", permits, 1)

    def elections(self, participant: str) -> ZkElections:
        return self._elections(participant)

    def barriers(self, parties: int | None) -> ZkBarriers:
        return self._barriers(parties)

    def link(self) -> Link:
        from .link import ZkLink

        return ZkLink(self._settings, self._transport)

    def alink(self) -> AsyncLink:
        from .aio import ZkAsyncLink

        return ZkAsyncLink(self._settings, self._transport)
