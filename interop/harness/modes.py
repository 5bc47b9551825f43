"""Where both sides meet: on one server, behind Sentinels, or in a cluster.

A test, or a module, says in which modes it is run; one that says nothing is run on one server:

    pytestmark = [meets("Redisson", "RLock", "lock()"), everywhere]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, NamedTuple

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
        yield Servers(
            nodes.url,
            lambda: ClusterView("127.0.0.1", nodes.nodes[0].port, decode_responses=True),
            lambda name: nodes.primary_of(name).port,
        )


MODES: dict[str, Callable[[], AbstractContextManager[Servers]]] = {
    "single": single,
    "sentinel": sentinel,
    "cluster": cluster,
}


class ClusterView(redis.RedisCluster):  # type: ignore[type-arg,misc,unused-ignore]
    """A look at all nodes of a cluster as if they were one server.

    A channel counts as listened to whether it is plain or one of its slot.
    """

    def keys(self, *patterns: Any, **_: Any) -> Any:
        return super().keys(*patterns, target_nodes=self.PRIMARIES)

    def pubsub_numsub(self, *channels: Any, **_: Any) -> Any:
        heard: Counter[str] = Counter()
        for node in self.get_nodes():
            for word in ("NUMSUB", "SHARDNUMSUB"):
                heard += self._heard(node, word, channels)
        return [(channel, heard[channel]) for channel in channels]

    def _heard(self, node: Any, word: str, channels: Any) -> Counter[str]:
        with raw(node.port) as client:
            said = client.execute_command("PUBSUB", word, *channels)
        return Counter(dict(zip(said[::2], map(int, said[1::2]), strict=True)))

    def client_kill_filter(self, **which: Any) -> Any:
        total = 0
        for node in self.get_nodes():
            with raw(node.port) as client:
                total += client.client_kill_filter(**which)
        return total

    def pubsub_channels(self, *patterns: Any, **_: Any) -> Any:
        found: set[str] = set()
        for node in self.get_nodes():
            with raw(node.port) as client:
                for word in ("CHANNELS", "SHARDCHANNELS"):
                    found |= set(client.execute_command("PUBSUB", word, *patterns))
        return sorted(found)
