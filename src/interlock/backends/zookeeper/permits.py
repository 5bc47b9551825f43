"""Semaphores and mutexes: Curator's InterProcessSemaphoreV2 and InterProcessSemaphoreMutex.

How many permits a semaphore has is written beside its leases (see `permits_count`); a mutex has
one, which is nowhere written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...model import LockInfo
from ...steps import Steps
from . import names
from .folder import Spot, Standing
from .ground import Ground
from .kinds import in_use, use_of
from .permits_base import ZkPermits, no
from .permits_count import Count, begin, put
from .wire import Answer, Ask, Children, Get


class ZkMutexes(ZkPermits):
    """There is one lease, and who has it does not get another: see `stores.LockStore`."""

    kind = "mutex"

    def _facts(self, name: str, topic: Any) -> Ask:
        return Children(self.ground.path_of(name))

    def _number(self, name: str, told: Answer) -> int:
        return 1

    def _check(self, spot: Spot, standing: Standing, until: float) -> Steps[None]:
        for told in standing.beside:
            self._refuse(spot.name, [] if no(told) else told.value)
        yield from ()

    def _room(self, name: str, told: Answer, until: float) -> Steps[int]:
        """Who comes now, and takes the name for something else, is told so and goes again."""
        lasting = [] if no(told) else [each for each in told.value if not names.is_node(each)]
        self._refuse(name, lasting)
        yield from ()
        return 1

    def _refuse(self, name: str, children: Sequence[str]) -> None:
        if (use := use_of(children)) is not None:
            raise in_use(name, use, self.kind, self.label)


class ZkSemaphores(ZkPermits):
    """As many leases as there are permits: see `stores.PermitStore`."""

    kind, shared = "semaphore", True

    def __init__(self, permits: int | None, weight: int, ground: Ground) -> None:
        self.permits, self.weight = permits, weight
        super().__init__(ground)

    def _count(self, name: str) -> Count:
        return Count(name, self.ground.path_of(name), self.kind, self.label)

    def _facts(self, name: str, topic: Any) -> Ask:
        return Get(self._count(name).place, topic)

    def _number(self, name: str, told: Answer) -> int | None:
        return None if no(told) else self._count(name).read(told.value)

    def _room(self, name: str, told: Answer, until: float) -> Steps[int]:
        room = self._number(name, told)
        if room is None:
            room = yield from begin(self._count(name), self.permits, until)
        return room

    def set_permits(self, name: str, permits: int, until: float) -> Steps[None]:
        """Whoever waits watches the number, and is woken."""
        return put(self._count(name), permits, until)

    def _told(self, info: LockInfo, room: int | None) -> LockInfo | None:
        if room is None:
            return super()._told(info, room)
        used = sum(each.weight for each in info.holders)
        return replace(info, permits=room, available=max(0, room - used))


class ZkLeasedSemaphores(ZkSemaphores):
    """The same; their permits have ids: see `stores.PermitStore`."""

    kind = "leased_semaphore"

    def __init__(self, permits: int | None, ground: Ground) -> None:
        super().__init__(permits, 1, ground)
