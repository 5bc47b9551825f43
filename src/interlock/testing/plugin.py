"""Fixtures for tests of programs that use Interlock.

Say `pytest_plugins = ["interlock.testing.plugin"]` in your conftest.py:

    def test_orders_are_shipped_once(memory_interlock: interlock.Client) -> None:
        assert ship_twice(memory_interlock) == 1

    def test_one_order(pretend_held: Callable[..., None]) -> None:
        pretend_held("orders:*")  # until the test ends
        ship(42)  # says interlock.assert_held("orders:42")
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from ..api.client import AsyncClient, Client
from ..api.connect import aconnect, connect
from .pretending import pretend_held

# Claims are functions of ours with plain asserts; pytest is to explain them as it does yours.
pytest.register_assert_rewrite("interlock.testing.contract")


@pytest.fixture
def memory_interlock_url() -> str:
    """The URL of an empty store in memory: clients of it exclude each other."""
    return f"memory://{uuid.uuid4()}"


@pytest.fixture
def memory_interlock(memory_interlock_url: str) -> Iterator[Client]:
    """A client for threads, of an empty store in memory; closed after the test."""
    with connect(memory_interlock_url) as client:
        yield client


@pytest.fixture
def memory_interlock_aio(memory_interlock_url: str) -> AsyncClient:
    """A client for tasks of the test's own event loop, of the same store in memory."""
    return aconnect(memory_interlock_url)


@pytest.fixture(name="pretend_held")
def _pretend_held() -> Iterator[Callable[..., None]]:
    """Lets `interlock.assert_held` pass for names that match patterns, until the test ends."""
    with ExitStack() as stack:
        yield lambda *patterns: stack.enter_context(pretend_held(*patterns))
