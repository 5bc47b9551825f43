"""An empty store of each backend, for claims that hold on all of them."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

#: Loggers that say when a task or a keeper went wrong with no caller to tell.
BACKGROUND = ("asyncio", "interlock.keeper")

Fixture = Callable[[str], Any]

#: How to get the URL of an empty store.
STORES: dict[str, Callable[[Fixture], str]] = {
    "memory": lambda fixture: f"memory://{uuid.uuid4()}",
    "sqlite": lambda fixture: f"sqlite:///{_folder(fixture)}/locks.db",
    "redis": lambda fixture: str(fixture("redis_url")),
    "sentinel": lambda fixture: str(fixture("sentinel_url")),
    "cluster": lambda fixture: str(fixture("cluster_url")),
    # Sessions outlast every lease of the claims, so that these are what ends.
    "zookeeper": lambda fixture: f"{fixture('zk_url')}?session_timeout=100s",
}

#: What a store adds to the parts of another one that it is made of, as the beginnings of files.
#: Where handlers strike and fork at every place, it is enough to do so in these: the recipes are
#: the same code on each store, and the links to a primary or a node are those of Redis, struck
#: there; while they are under way nothing changes in what called them.
ADDED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(STORES, ("",)),
    "sentinel": (
        "backends/redis/topology",
        "backends/redis/confirmation",
        "backends/redis/transport/factories",
        "backends/redis/transport/sentinels",
    ),
    "cluster": ("backends/redis/cluster",),
}


def _folder(fixture: Fixture) -> Path:
    folder: Path = fixture("tmp_path")
    return folder


@pytest.fixture
def url_of(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """The URL of an empty store of a backend."""
    return lambda backend: STORES[backend](request.getfixturevalue)


@pytest.fixture(autouse=True)
def nothing_stumbles(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail where the background failed: its exceptions are only ever logged."""
    yield
    for record in caplog.get_records("call"):
        fatal = record.levelno >= logging.ERROR and record.name in BACKGROUND
        assert not fatal, record.getMessage()
