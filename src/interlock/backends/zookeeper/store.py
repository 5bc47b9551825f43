"""Every store of a ZooKeeper ensemble: see `stores.Backend`."""

from __future__ import annotations

from functools import cache

from ...stores import AsyncLink, Link
from .catalogue import ZkDirectory
from .ground import Ground
from .latches import ZkLatches
from .locks import ZkLocks
from .nodes import Nodes
from .permits import ZkLeasedSemaphores, ZkMutexes, ZkSemaphores
from .rw import ZkRw
from .settings import Settings
from .transport import Transport


class ZkBackend:
    """See `stores.Backend`.  A fair lock and a fenced lock are what every lock is here."""

    def __init__(self, settings: Settings) -> None:
        self._settings, self.label = settings, settings.label
        self._transport = Transport(settings)
        self.ground = ground = Ground(self.label, settings.root, Nodes(), self._transport.pulse)
        self.locks = self.fair_locks = self.fenced_locks = ZkLocks(ground)
        self.mutexes, self.latches = ZkMutexes(ground), ZkLatches(ground)
        self.readers, self.writers = ZkRw("read", ground), ZkRw("write", ground)
        self.directory = ZkDirectory(ground)
        self._semaphores, self._leased = cache(ZkSemaphores), cache(ZkLeasedSemaphores)

    def semaphores(self, permits: int | None, weight: int) -> ZkSemaphores:
        return self._semaphores(permits, weight, self.ground)

    def leased_semaphores(self, permits: int | None) -> ZkLeasedSemaphores:
        return self._leased(permits, self.ground)

    def link(self) -> Link:
        from .blocking import ZkLink

        return ZkLink(self._settings, self._transport)

    def alink(self) -> AsyncLink:
        from .aio import ZkAsyncLink

        return ZkAsyncLink(self._settings, self._transport)
