"""The names of a whole cluster: see `spi.Directory`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....steps import Steps, call, side_by_side
from ..directory import RedisDirectory
from .routing import PRIMARIES
from .slots import fits


class ClusterDirectory(RedisDirectory):
    """Walks over every node, all of them side by side."""

    def names(self, until: float) -> Steps[Sequence[tuple[str, str]]]:
        nodes: Any = yield from call(PRIMARIES, (), (), until)
        walks = yield from side_by_side(*(self._walk(until, node) for node in nodes))
        found: dict[str, str] = {}
        for walked in walks:
            if isinstance(walked, BaseException):
                raise walked
            found.update(walked)  # while its slot moves, a name may be met twice
        return list(found.items())

    def batches(self, met: Sequence[str]) -> list[Sequence[str]]:
        """A name for itself: each has a slot.  Those that lie in two are no locks of ours."""
        return [(name,) for name in met if fits(name)]
