"""Stores that several processes can share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import interlock

from .people import Worker


@pytest.fixture(params=["sqlite", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store."""
    if request.param == "redis":
        return str(request.getfixturevalue("redis_url"))
    return f"sqlite:///{tmp_path}/locks.db"


@pytest.fixture
def onlooker(url: str) -> Iterator[interlock.Client]:
    """A client of this process."""
    with interlock.connect(url) as client:
        yield client


@pytest.fixture
def worker(url: str) -> Iterator[Callable[[], Worker]]:
    """Starts processes; whatever they are doing, they end with the test."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(Worker(url))
