"""Every store of a set of Redis servers that vote: see `spi.Backend`."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from functools import cache, partial

from ....drive import now
from ....errors import Unsupported
from ....model import Finding
from ....spi import AsyncLink, BarrierStore, BaseBackend, Link, PermitStore
from ....steps import Steps
from . import doctor
from .directory import QuorumDirectory
from .elections import QuorumElections
from .locks import Quorum, QuorumLocks
from .proposal import Proposal
from .rwlocks import QuorumRwLocks
from .url import RedlockSettings

_INSTEAD = "redis://, zk://, sqlite: and memory:// have"


class RedlockBackend(BaseBackend):
    """See `spi.Backend`: locks, mutexes, read/write locks and elections.  What needs an order, or
    a count, needs one place where it is kept, and a quorum has none."""

    def __init__(self, settings: RedlockSettings) -> None:
        super().__init__(settings.label)
        self._settings = settings
        labels = tuple(node.label for node in settings.nodes)
        quorum = Quorum(
            labels,
            settings.label,
            settings.longest_lease,
            settings.restart_guard,
            now,
            random.random,
            Proposal(time.time() - now()),
        )
        self.locks, self.mutexes = QuorumLocks("lock", quorum), QuorumLocks("mutex", quorum)
        self.readers, self.writers = QuorumRwLocks("read", quorum), QuorumRwLocks("write", quorum)
        self._elections = cache(partial(QuorumElections, quorum=quorum))
        self.directory = QuorumDirectory(len(labels), settings.label)

    def semaphores(self, permits: int | None, weight: int) -> PermitStore:
        raise _uncounted(self.label, "semaphore")

    def leased_semaphores(self, permits: int | None) -> PermitStore:
        raise _uncounted(self.label, "leased_semaphore")

    def elections(self, participant: str) -> QuorumElections:
        return self._elections(participant)

    def barriers(self, parties: int | None) -> BarrierStore:
        raise _uncounted(self.label, "barrier")

    def examine(self, until: float, thorough: bool) -> Steps[Sequence[Finding]]:
        """See `spi.SelfExamining`.  All nodes side by side."""
        return doctor.examine(self._settings, until, thorough)

    def link(self) -> Link:
        from .link import QuorumLink

        return QuorumLink(self._settings.nodes, self.label)

    def alink(self) -> AsyncLink:
        from .aio import QuorumAsyncLink

        return QuorumAsyncLink(self._settings.nodes, self.label)


def _uncounted(label: str, primitive: str) -> Unsupported:
    return Unsupported(
        f"{label} has no {primitive}(): nodes that know nothing of each other cannot count "
        f"together; {_INSTEAD}"
    )
