"""Where both sides meet: on one server, behind Sentinels, or in a cluster.

A test, or a module, says in which modes it is run; one that says nothing is run on one server:

    pytestmark = [meets("Redisson", "RLock", "lock()"), everywhere]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, Self

import pytest
import redis

from tests.backends.redis.watching import raw
from tests.support.clusters import RedisCluster
from tests.support.sentinels import SentinelFleet
from tests.support.servers import RedisServer

everywhere = pytest.mark.modes("single", "sentinel", "cluster")


class Servers(NamedTuple):
    """What both sides meet on."""

    #: Read by our clients, and by Redisson's: see Modes.java.
    url: str
    #: A plain look at all of it.
    peek: Callable[[], Any]
    #: The port of the server that has a name.
    port_of: Callable[[str], int]


@contextmanager
def single() -> Iterator[Servers]:
    with RedisServer() as server:
        yield Servers(server.url, partial(raw, server.port), lambda name: server.port)


@contextmanager
def sentinel() -> Iterator[Servers]:
    """Its Sentinels are patient, so that a busy machine is no reason for a failover."""
    with SentinelFleet(down_after=20_000) as fleet:
        port = fleet.servers[0].port
        yield Servers(fleet.url, partial(raw, port), lambda name: port)


@contextmanager
def cluster() -> Iterator[Servers]:
    with RedisCluster() as nodes:
        look = partial(ClusterView, nodes)
        yield Servers(nodes.url, look, lambda name: nodes.primary_of(name).port)


MODES: dict[str, Callable[[], AbstractContextManager[Servers]]] = {
    "single": single,
    "sentinel": sentinel,
    "cluster": cluster,
}


class ClusterView:
    """A look at all nodes of a cluster as if they were one server.

    A channel counts as listened to whether it is plain or one of its slot.
    """

    def __init__(self, cluster: RedisCluster) -> None:
        self._ports = [node.port for node in cluster.nodes]
        self._client: Any = redis.RedisCluster("127.0.0.1", self._ports[0], decode_responses=True)

    def __getattr__(self, command: str) -> Any:
        """What concerns one key, asked where it is."""
        return getattr(self._client, command)

    def keys(self, pattern: str) -> list[str]:
        found: list[str] = self._client.keys(pattern, target_nodes=self._client.PRIMARIES)
        return found

    def pubsub_numsub(self, channel: str) -> list[tuple[str, int]]:
        words = ("NUMSUB", "SHARDNUMSUB")
        return [(channel, sum(int(heard) for _, heard in self._asked(words, channel)))]

    def pubsub_channels(self, pattern: str) -> list[str]:
        return sorted({*chain(*self._asked(("CHANNELS", "SHARDCHANNELS"), pattern))})

    def _asked(self, words: tuple[str, ...], about: str) -> Iterator[list[str]]:
        for port in self._ports:
            with raw(port) as node:
                for word in words:
                    yield node.execute_command("PUBSUB", word, about)

    def client_kill_filter(self, **which: Any) -> int:
        total = 0
        for port in self._ports:
            with raw(port) as node:
                total += node.client_kill_filter(**which)
        return total

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exit: object) -> None:
        self._client.close()
