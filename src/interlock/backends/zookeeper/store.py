"""Every store of a ZooKeeper ensemble: see `stores.Backend`."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from ...stores import AsyncLink, Link
from .catalogue import ZkDirectory
from .ground import Ground
from .locks import ZkLocks
from .nodes import Nodes
from .settings import Settings
from .transport import Transport


class ZkBackend:
    """See `stores.Backend`.  A fair lock and a fenced lock are what every lock is here."""

    def __init__(self, settings: Settings) -> None:
        self._settings, self.label = settings, settings.label
        self._transport = Transport(settings)
        self.ground = Ground(self.label, settings.root, Nodes(), self._transport)
        self.locks = self.fair_locks = self.fenced_locks = ZkLocks(self.ground)
        self.directory = ZkDirectory(self.ground)
        self._permits: dict[Any, Any] = {}

    @cached_property
    def readers(self) -> Any:
        from .rw import ZkRw

        return ZkRw("read", self.ground)

    @cached_property
    def writers(self) -> Any:
        from .rw import ZkRw

        return ZkRw("write", self.ground)

    @cached_property
    def mutexes(self) -> Any:
        from .permits import ZkMutexes

        return ZkMutexes(self.ground)

    @cached_property
    def latches(self) -> Any:
        from .latches import ZkLatches

        return ZkLatches(self.ground)

    def semaphores(self, permits: int | None, weight: int) -> Any:
        from .permits import ZkSemaphores

        key = ("semaphore", permits, weight)
        return self._permits.setdefault(key, ZkSemaphores(permits, weight, self.ground))

    def leased_semaphores(self, permits: int | None) -> Any:
        from .permits import ZkLeasedSemaphores

        key = ("leased_semaphore", permits)
        return self._permits.setdefault(key, ZkLeasedSemaphores(permits, self.ground))

    def link(self) -> Link:
        from .blocking import ZkLink

        return ZkLink(self._settings, self._transport)

    def alink(self) -> AsyncLink:
        from .aio import ZkAsyncLink

        return ZkAsyncLink(self._settings, self._transport)
