"""Every store of a Redis Cluster: see `spi.Backend`."""

from __future__ import annotations

from collections.abc import Sequence

from ....model import Finding
from ....spi import AsyncLink, Link
from ....steps import Steps
from ..backend import RedisBackend
from . import doctor
from .directory import ClusterDirectory
from .nodes import Nodes
from .slots import IN_SLOTS


class ClusterBackend(RedisBackend):
    """The stores of a single server, whose names lie in slots, and links to all nodes."""

    def __init__(self, nodes: Nodes) -> None:
        super().__init__(nodes, IN_SLOTS)
        self._nodes = nodes
        self.directory = ClusterDirectory()

    def examine(self, until: float, thorough: bool) -> Steps[Sequence[Finding]]:
        """See `spi.SelfExamining`.  All nodes side by side; replicas if it is thorough."""
        return doctor.examine(self._nodes, self.directory, until, thorough)

    def link(self) -> Link:
        from .link import ClusterLink

        self._nodes.check_world(is_asyncio=False)
        return ClusterLink(self._nodes)

    def alink(self) -> AsyncLink:
        from .aio import ClusterAsyncLink

        self._nodes.check_world(is_asyncio=True)
        return ClusterAsyncLink(self._nodes)
