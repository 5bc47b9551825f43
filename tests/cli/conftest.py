"""Stores to share with the program, and shells that start it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

import interlock

from ..support.stores import url_of  # noqa: F401
from .shell import Shell


@pytest.fixture
def url(tmp_path: Path) -> str:
    """The URL of an empty store."""
    return f"sqlite:///{tmp_path}/locks.db"


@pytest.fixture
def shell_of() -> Iterator[Callable[[str], Shell]]:
    """Makes shells; what they have started ends with the test."""
    with ExitStack() as stack:
        yield lambda url: stack.enter_context(closing(Shell(url)))


@pytest.fixture
def shell(url: str, shell_of: Callable[[str], Shell]) -> Shell:
    return shell_of(url)


@pytest.fixture
def client(url: str) -> Iterator[interlock.Client]:
    """A client of this process, on the same store."""
    with interlock.connect(url) as client:
        yield client


@pytest.fixture
def here(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The program can be called in this process, and leaves no trace in it."""
    monkeypatch.setenv("INTERLOCK_URL", url)
    monkeypatch.setattr("sys.argv", ["interlock"])
    log = logging.getLogger("interlock")
    before, level = list(log.handlers), log.level
    yield
    log.handlers[:] = before
    log.setLevel(level)
