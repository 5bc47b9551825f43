"""Both worlds, each with its `fence`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

import interlock
from interlock import aio
from tests.support.worlds import WORLDS, World


class Fencing(NamedTuple):
    """A world, and the module with its checks."""

    world: World
    fence: Any

    def __call__(self, check: str, *args: Any, **options: Any) -> Any:
        """Make a check, and wait for what comes of it."""
        return self.world.do(lambda: getattr(self.fence, check)(*args, **options))


@pytest.fixture(params=WORLDS)
def fencing(request: pytest.FixtureRequest) -> Iterator[Fencing]:
    world = WORLDS[request.param]()
    yield Fencing(world, interlock.fence if request.param == "threads" else aio.fence)
    world.close()
