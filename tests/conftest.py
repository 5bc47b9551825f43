"""Servers and stores that the tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from interlock.testing.servers import RedisServer


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """One redis-server for every test that does not hurt it."""
    with RedisServer() as server:
        yield server


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """The URL of an empty database on the shared server."""
    with redis.Redis(port=redis_server.port) as client:
        client.flushall()
    return redis_server.url


@pytest.fixture
def own_redis() -> Iterator[RedisServer]:
    """A redis-server that a test may kill, pause or misconfigure."""
    with RedisServer() as server:
        yield server
