"""What makes locks in a cluster unsafe: each primary, and each of its replicas, is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....drive import now
from ....model import Finding
from ....steps import Call, Steps, call, side_by_side, together
from ..collisions import collisions
from ..directory import RedisDirectory, raised
from ..doctor import (
    Expected,
    ServerFacts,
    asked,
    eviction,
    of_servers,
    read,
    replica_clocks,
)
from .nodes import Nodes
from .routing import PRIMARIES
from .slot_map import CLUSTER_MAP, Address


def examine(
    nodes: Nodes, directory: RedisDirectory, until: float, thorough: bool
) -> Steps[list[Finding]]:
    """Look at the primaries; if it is thorough, also at their replicas and at names."""
    primaries: list[Address] = yield from call(PRIMARIES, (), (), until)
    expected = Expected(nodes.factory(primaries[0]).replicas, chosen=True)
    if not thorough:
        servers, _ = yield from _asked(nodes, primaries, until)
        return of_servers(servers, expected)
    followed = yield from _followed(nodes, primaries, until)
    several = [*primaries, *followed]
    servers, took = yield from _asked(nodes, several, until)
    found = of_servers(servers[: len(primaries)], expected)
    seen = dict(zip(several, servers, strict=True))
    for replica, primary in followed.items():
        found += _of_replica(seen[primary], seen[replica], took)
    return found + (yield from _names(nodes, primaries, directory, until))


def _asked(
    nodes: Nodes, addresses: Sequence[Address], until: float
) -> Steps[tuple[list[ServerFacts | Finding], float]]:
    """What some nodes say of themselves, and within how many seconds.  One round trip."""
    began = now()
    replies = yield from together([asked(until, address) for address in addresses])
    labels = [nodes.factory(address).label for address in addresses]
    return [read(*each) for each in zip(labels, replies, strict=True)], now() - began


def _followed(
    nodes: Nodes, primaries: Sequence[Address], until: float
) -> Steps[dict[Address, Address]]:
    """The replicas, and whom each of them follows.  One round trip."""
    (answer,) = raised((yield from together([Call(CLUSTER_MAP, (), (), until, primaries[0])])))
    followed = nodes.slots.replicas(answer, primaries[0])
    # The map may have changed since the primaries were told.
    return {each: primary for each, primary in followed.items() if primary in primaries}


def _of_replica(
    primary: ServerFacts | Finding, replica: ServerFacts | Finding, took: float
) -> list[Finding]:
    if isinstance(replica, Finding):
        return [replica]
    evicting = eviction(replica)
    found = [] if evicting is None else [evicting]
    if isinstance(primary, ServerFacts):
        found += replica_clocks(primary, replica, took)
    return found


def _names(
    nodes: Nodes, primaries: Sequence[Address], directory: RedisDirectory, until: float
) -> Steps[list[Finding]]:
    looks: Any = yield from side_by_side(
        *(collisions(nodes.label, directory.batches, until, each) for each in primaries)
    )
    found: list[Finding] = []
    for outcome in raised(looks):
        found += outcome
    return list(dict.fromkeys(found))
