"""The stores on which tasks are cancelled; Redis stands behind a slow network."""

from __future__ import annotations

import asyncio
import signal
import uuid
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest

import interlock
from interlock import aio
from interlock.events import Event
from tests.support.faults import FaultProxy
from tests.support.servers import RedisServer

from ..support.stores import nothing_stumbles as nothing_stumbles
from ..support.stores import url_of as url_of

R = TypeVar("R")

#: Seconds that a message takes in each direction, so that a reply needs turns of the loop.
DELAY = 0.0005


@pytest.fixture(autouse=True)
def ctrl_c_interrupts() -> Iterator[None]:
    """Whoever runs the tests may have told this process to ignore a Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@dataclass
class Store:
    """A store, as the victim reaches it and as everybody else does."""

    slow_url: str
    url: str
    #: In how many turns of the loop any acquisition can be cancelled at least.
    turns: int = 1
    proxy: FaultProxy | None = None
    clients: list[aio.Client] = field(default_factory=list)
    name: str = ""

    def victim(self, observer: Callable[[Event], None] | None = None) -> aio.Client:
        self.clients.append(aio.connect(self.slow_url, observer=observer))
        return self.clients[-1]

    def bystander(self) -> aio.Client:
        self.clients.append(aio.connect(self.url))
        return self.clients[-1]

    async def tidily(self, scene: Coroutine[Any, Any, R]) -> R:
        """Play a scene; even one that fails leaves no connection open."""
        try:
            return await scene
        finally:
            while self.clients:
                await self.clients.pop().close()

    def blocking(self) -> interlock.Client:
        return interlock.connect(self.url)


def plain(request: pytest.FixtureRequest) -> Iterator[Store]:
    url = f"memory://{uuid.uuid4()}"
    yield Store(url, url, name="memory")


def file(request: pytest.FixtureRequest) -> Iterator[Store]:
    folder: Path = request.getfixturevalue("tmp_path")
    url = f"sqlite:///{folder}/locks.db"
    yield Store(url, url, name="sqlite")


def behind(protocol: int, request: pytest.FixtureRequest) -> Iterator[Store]:
    server: RedisServer = request.getfixturevalue("redis_server")
    url: str = request.getfixturevalue("redis_url")
    with FaultProxy(server.port) as proxy:
        proxy.delay(DELAY, DELAY)
        slow_url = f"redis://127.0.0.1:{proxy.port}?protocol={protocol}"
        yield Store(slow_url, url, 3, proxy, name="redis")


def nodes(request: pytest.FixtureRequest) -> Iterator[Store]:
    url: str = request.getfixturevalue("cluster_url")
    yield Store(url, url, name="cluster")


def voting(request: pytest.FixtureRequest) -> Iterator[Store]:
    url: str = request.getfixturevalue("redlock_url")
    yield Store(url, url, name="redlock")


STORES: dict[str, Callable[[pytest.FixtureRequest], Iterator[Store]]] = {
    "memory": plain,
    "sqlite": file,
    "redis": lambda request: behind(3, request),
    "redis-resp2": lambda request: behind(2, request),
    "cluster": nodes,
    "redlock": voting,
}


@pytest.fixture(params=[name for name in STORES if name != "redis-resp2"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    """An empty store of each backend."""
    with contextmanager(STORES[request.param])(request) as store:
        yield store


@pytest.fixture(params=STORES)
def any_store(request: pytest.FixtureRequest) -> Iterator[Store]:
    """The same, and once more where wakes have a connection of their own."""
    with contextmanager(STORES[request.param])(request) as store:
        yield store


@pytest.fixture
def slow_redis(request: pytest.FixtureRequest) -> Iterator[tuple[Store, FaultProxy]]:
    """An empty Redis, and the network before it."""
    with contextmanager(STORES["redis"])(request) as store:
        assert store.proxy is not None
        yield store, store.proxy


def listeners(client: Any) -> int:
    """How many places a client still listens at."""
    link = client._session.link
    if hasattr(link, "_links"):  # one for each node
        return sum(len(each._listeners) for each in link._links.values())
    if hasattr(link, "_nodes"):
        return sum(len(node._listeners) for node in link._nodes)
    for name in ("_listeners", "_topics"):
        if hasattr(link, name):
            return len(getattr(link, name))
    return len(link._store.records.listeners)


async def nothing_is_left(store: Store, client: aio.Client, name: str = "claim") -> None:
    """Assert that a client has left no trace, and that the next one gets the lock at once."""
    assert client._session.schedule.holds() == []
    assert client._session.queue.busy() == []
    assert listeners(client) == 0
    await client.close()
    async with store.bystander() as next_client, next_client.lock(name).attempt() as hold:
        assert hold is not None
        info = await next_client._session.run(hold._lease.store.look(name, hold._lease.until))
        assert info is not None
        assert info.waiters == 0
    assert asyncio.all_tasks() == {asyncio.current_task()}
