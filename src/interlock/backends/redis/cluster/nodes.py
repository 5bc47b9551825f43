"""How to reach the nodes of a cluster: all of them in the same way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..transport.factories import UrlFactory
from ..url import RedisSettings
from .slot_map import Address, SlotMap


class Nodes:
    """Makes the connections to each node, and knows which node serves what."""

    def __init__(self, settings: RedisSettings, seeds: Sequence[Address], label: str) -> None:
        self._settings, self.label, self.timeout = settings, label, settings.timeout
        self.slots = SlotMap(seeds, label, settings.sharded_channels)

    def factory(self, address: Address) -> UrlFactory:
        """The connections to one node; what its errors call it."""
        factory = UrlFactory(replace(self._settings, host=address.host, port=address.port))
        factory.label = f"node {address} of {self.label}"
        return factory
