"""Lock files, both worlds, and processes that share a file."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import interlock

from ...processes.people import Worker
from ...support.worlds import WORLDS, World
from .lockfile import LockFile

NOBODY = 65534


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a lock file will be."""
    return tmp_path / "locks.db"


@pytest.fixture
def url(path: Path) -> str:
    return f"sqlite://{path}"


@pytest.fixture
def client(url: str) -> Iterator[interlock.Client]:
    with interlock.connect(url) as client:
        yield client


@pytest.fixture
def file(path: Path) -> Iterator[LockFile]:
    """The records of a new lock file."""
    file = LockFile(path)
    yield file
    file.close()


@pytest.fixture(params=sorted(WORLDS))
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """Threads, then tasks; whatever a test connects is closed with it."""
    world = WORLDS[request.param]()
    yield world
    world.close()


@pytest.fixture
def worker(url: str) -> Iterator[Callable[[], Worker]]:
    """Starts processes; whatever they are doing, they end with the test."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(Worker(url))


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """An attempt waits for its answer no longer than this."""
    monkeypatch.setattr("interlock.recipes.lock.ANSWER", 0.2)


@pytest.fixture
def plain_user() -> Iterator[Path]:
    """A folder of a user who is subject to permissions, which root is not."""
    folder = Path(tempfile.mkdtemp())
    root = os.geteuid() == 0
    if root:
        os.chown(folder, NOBODY, NOBODY)
        os.seteuid(NOBODY)
    try:
        yield folder
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o700)
        shutil.rmtree(folder)
