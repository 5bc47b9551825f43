"""Both worlds, and an empty store of each backend that has registers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.support.stores import STORES
from tests.support.stores import nothing_stumbles as nothing_stumbles
from tests.support.stores import url_of as url_of
from tests.support.worlds import Tasks, Threads, World


@pytest.fixture(params=[Threads, Tasks], ids=lambda world: str(world.name))
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    world: World = request.param()
    yield world
    world.close()


@pytest.fixture(params=sorted(STORES))
def url(request: pytest.FixtureRequest, url_of: Callable[[str], str]) -> str:
    """The URL of an empty store of each backend."""
    return url_of(request.param)
