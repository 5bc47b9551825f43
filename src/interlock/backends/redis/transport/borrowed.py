"""Connections like those of a client that the user has brought along.

redis-py's and valkey-py's clients are told apart by what they have, not by their classes: one of
them need not be installed.  What is read of a client is documented, or at least without an
underscore; which of it is the latter is named here and nowhere else:

a pool          `connection_class`, `connection_kwargs`
by Sentinels    its pool's `service_name`, `sentinel_manager`, `is_master`, and the `sentinels`
                of the manager; a connection asks what it takes for its pool for the primary
of a cluster    `nodes_manager.startup_nodes` until the client knows the nodes, `address_remap`
                there, and in asyncio `connection_class`, `connection_kwargs` of a node
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from redis.asyncio.retry import Retry as AsyncRetry
from redis.retry import Retry

from ....errors import UsageError
from ..confirmation import Replicas
from ..topology import Primary
from ..url import SENTINEL_TIMEOUT, spelled_address
from .factories import FoundServer, KnownServer, made
from .openings import RecordedOpening, TimedOpening

#: What a cluster client puts there for its own connections: they would be its own to manage, and
#: one that asks replicas would be answered by a primary that was replaced.
_OF_CLUSTERS = ("connect_func", "himport_registry", "maint_notifications", "oss_cluster")

#: Where a client is told that a node is, and where it reaches it.
Remap: TypeAlias = "Callable[[tuple[str, int]], tuple[str, int]]"


class ClientFactory(KnownServer):
    """Connections like those of a pool: see `ConnectionFactory`."""

    def __init__(self, pool: Any, is_asyncio: bool, replicas: Replicas = 0) -> None:
        self._class, self._asyncio = pool.connection_class, is_asyncio
        self.replicas: Replicas = replicas
        # What is read is read by links: as it comes.
        self._options = {**pool.connection_kwargs, "decode_responses": False}
        self.timeout = self._options.get("socket_timeout") or self.usual_timeout
        self.connect_timeout = self._options.get("socket_connect_timeout") or self.timeout
        self.protocol = int(self._options.get("protocol") or 2)
        self.label = _label_of(self._options)

    usual_timeout = 5.0

    def blocking(self) -> Any:
        check_world(self._asyncio, wanted=False)
        return made(self._class, {**self._placed(), "protocol": 2}, Retry, TimedOpening)

    def asyncio(self) -> Any:
        check_world(self._asyncio, wanted=True)
        return made(self._class, self._placed(), AsyncRetry, RecordedOpening)

    def _placed(self) -> dict[str, Any]:
        """The options of a connection that is opened now."""
        return self._options


def check_world(is_asyncio: bool, wanted: bool) -> None:
    """Refuse a client of the other world."""
    if is_asyncio and not wanted:
        raise UsageError("this is an asyncio client: use interlock.aio.connect(client)")
    if wanted and not is_asyncio:
        raise UsageError("this is a blocking client: use interlock.connect(client)")


def _of_asyncio(client: Any) -> bool:
    return hasattr(client, "__aenter__")


def _label_of(options: dict[str, Any]) -> str:
    """How to name the server of a client to people."""
    where = options.get("path") or spelled_address(*_address_of(options))
    return f"redis://{where}/{options.get('db') or 0}"


def _address_of(options: dict[str, Any]) -> tuple[str, int]:
    return str(options.get("host", "localhost")), int(options.get("port", 6379))


def factory_of_client(client: Any, replicas: Replicas) -> ClientFactory:
    """How to open connections like those of a client of one server, or of Sentinels."""
    pool = client.connection_pool
    if hasattr(pool, "sentinel_manager"):
        return SentinelClientFactory(pool, _of_asyncio(client), replicas)
    return ClientFactory(pool, _of_asyncio(client), replicas or 0)


# --- by Sentinels --------------------------------------------------------------------------------


class SentinelClientFactory(FoundServer, ClientFactory):
    """Connections like those of a client of `Sentinel.master_for(…)`, to the primary that its
    Sentinels name: see `ConnectionFactory`."""

    usual_timeout = SENTINEL_TIMEOUT

    def __init__(self, pool: Any, is_asyncio: bool, replicas: Replicas) -> None:
        if not pool.is_master:
            raise UsageError("this client is of replicas, which keep no locks: use master_for()")
        super().__init__(pool, is_asyncio, replicas)
        watchers = [_watcher(each, is_asyncio) for each in pool.sentinel_manager.sentinels]
        hosts = ",".join(spelled_address(*_address_of(each._options)) for each in watchers)
        db = self._options.get("db") or 0
        self.label = f"redis+sentinel://{hosts}/{pool.service_name}/{db}"
        self._watch(pool.service_name, watchers)

    def _placed(self) -> dict[str, Any]:
        kind = AsyncNamedPrimary if self._asyncio else NamedPrimary
        return {**super()._placed(), "connection_pool": kind(self._primary())}


def _watcher(client: Any, is_asyncio: bool) -> ClientFactory:
    """How one Sentinel is reached, which is asked in the protocol that is read there."""
    factory = ClientFactory(client.connection_pool, is_asyncio)
    factory._options["protocol"] = 2
    factory.label = f"Sentinel {spelled_address(*_address_of(factory._options))}"
    return factory


class NamedPrimary:
    """What a connection of theirs takes for its pool, which it asks for the primary's address."""

    is_master, check_connection, service_name = True, False, ""

    def __init__(self, primary: Primary) -> None:
        self._address = (primary.host, primary.port)

    def get_master_address(self) -> Any:
        return self._address


class AsyncNamedPrimary(NamedPrimary):
    """The same for asyncio."""

    async def get_master_address(self) -> Any:
        return self._address


# --- of a cluster --------------------------------------------------------------------------------


class NodePool(NamedTuple):
    """How a cluster client reaches its nodes, in the words of a pool."""

    connection_class: Any
    connection_kwargs: dict[str, Any]

    def at(self, host: str, port: int) -> NodePool:
        return self._replace(
            connection_kwargs={**self.connection_kwargs, "host": host, "port": port}
        )


class ClusterClient(NamedTuple):
    """What a cluster client says of its cluster."""

    pool: NodePool
    seeds: list[tuple[str, int]]
    remap: Remap | None
    is_asyncio: bool


def is_cluster(client: Any) -> bool:
    return hasattr(client, "nodes_manager") and hasattr(client, "get_nodes")


def _pool_of(client: Any, node: Any) -> Any:
    """The pool of a node that a blocking client knows."""
    connection_to = getattr(client, "get_redis_connection", None) or client.get_valkey_connection
    return connection_to(node).connection_pool


def read_cluster(client: Any) -> ClusterClient:
    """Read a cluster client; nothing is asked of it, and it may not know its nodes yet."""
    manager = client.nodes_manager
    nodes = list(client.get_nodes() or manager.startup_nodes.values())
    is_asyncio = _of_asyncio(client)
    source = nodes[0] if is_asyncio else _pool_of(client, nodes[0])
    kept = {
        word: value
        for word, value in source.connection_kwargs.items()
        if not any(part in word for part in _OF_CLUSTERS)
    }
    seeds = [(str(node.host), int(node.port)) for node in nodes]
    remap = getattr(manager, "address_remap", None)
    return ClusterClient(NodePool(source.connection_class, kept), seeds, remap, is_asyncio)
