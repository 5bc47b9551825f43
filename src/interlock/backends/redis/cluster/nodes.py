"""How to reach the nodes of a cluster: all of them in the same way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from ..confirmation import Replicas
from ..transport.borrowed import ClientFactory, check_world, read_cluster
from ..transport.factories import UrlFactory
from ..transport.handshakes import ConnectionFactory
from ..url import RedisSettings
from .slot_map import Address, SlotMap


class Nodes(Protocol):
    """Makes the connections to each node, and knows which node serves what."""

    label: str
    timeout: float
    slots: SlotMap

    def factory(self, address: Address) -> ConnectionFactory:
        """The connections to one node; what its errors call it."""
        ...

    def check_world(self, is_asyncio: bool) -> None:
        """Refuse a world whose connections cannot be made."""
        ...


class UrlNodes:
    """Nodes that are reached as a URL says."""

    def __init__(self, settings: RedisSettings, seeds: Sequence[Address], label: str) -> None:
        self._settings, self.label, self.timeout = settings, label, settings.timeout
        self.slots = SlotMap(seeds, label, may_shard=settings.sharded_channels)

    def factory(self, address: Address) -> ConnectionFactory:
        settings = replace(self._settings, host=address.host, port=address.port)
        return _node(UrlFactory(settings), address, self)

    def check_world(self, is_asyncio: bool) -> None:
        """Both can."""


class ClientNodes:
    """Nodes that are reached as a cluster client of the user's reaches them."""

    def __init__(self, client: Any, replicas: Replicas) -> None:
        self._read = read_cluster(client)
        self._replicas: Replicas = replicas
        seeds = [Address(*each) for each in self._read.seeds]
        self.label = f"redis+cluster://{','.join(map(str, seeds))}"
        self.slots = SlotMap(seeds, self.label, self._read.remap)
        self.timeout = self.factory(seeds[0]).timeout

    def factory(self, address: Address) -> ConnectionFactory:
        pool = self._read.pool.at(*address)
        factory = ClientFactory(pool, self._read.is_asyncio, self._replicas)
        return _node(factory, address, self)

    def check_world(self, is_asyncio: bool) -> None:
        check_world(self._read.is_asyncio, wanted=is_asyncio)


def _node(
    factory: UrlFactory | ClientFactory, address: Address, nodes: Nodes
) -> ConnectionFactory:
    """The factory of a node: a replica is of use as well, because it knows the map."""
    factory.label, factory.any_role = f"node {address} of {nodes.label}", True
    factory.witness = MapWitness(nodes.slots, address)
    return factory


class MapWitness:
    """See `confirmation.Witness`: a map names the replicas of a node that have not failed."""

    title = "the map of the cluster"

    def __init__(self, slots: SlotMap, address: Address) -> None:
        self._slots, self._address = slots, address

    def replicas_seen(self) -> int:
        return self._slots.replicas_of(self._address)
