"""How to reach a Redis Cluster: a reader of URLs such as `redis+cluster://h1:7000,h2:7000`.

Each host is read as `redis://` would be, with all that the URL says: so the same is accepted, and
`sharded_channels=off` besides, for a fleet whose Redisson was told to use plain channels.
"""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import parse_qsl, urlencode

from ....errors import UsageError
from ..url import RedisSettings, read_url, split_hosts, split_url
from .slot_map import Address

CLUSTER_SCHEMES = {
    **dict.fromkeys(("redis+cluster", "valkey+cluster"), "redis"),
    **dict.fromkeys(("rediss+cluster", "valkeys+cluster"), "rediss"),
}

_CHANNELS = "sharded_channels"


def read_cluster_url(url: str) -> tuple[RedisSettings, list[Address], str]:
    """Read a URL: the settings of every node, where to ask first, and what to call the cluster."""
    parts = split_url(url)
    scheme = CLUSTER_SCHEMES[parts.scheme.lower()]
    credentials, places = split_hosts(parts.netloc)
    sharded, query = _split_query(parts.query)
    rest = parts._replace(scheme="", netloc="", query=query).geturl()
    nodes = [read_url(f"{scheme}://{credentials}{place}{rest}", None) for place in places]
    if nodes[0].db != 0:
        raise UsageError("a cluster has only database 0: leave the database out of the URL")
    if nodes[0].restart_guard:
        raise UsageError(
            "a cluster has no restart guard, because slots move between its servers: leave "
            "restart_guard out of the URL; redis://, redis+sentinel:// and redlock:// have it"
        )
    seeds = list(dict.fromkeys(Address(node.host, node.port) for node in nodes))
    settings = replace(nodes[0], sharded_channels=sharded)
    return settings, seeds, f"{scheme}+cluster://{','.join(map(str, seeds))}"


def _split_query(query: str) -> tuple[bool, str]:
    """Whether channels of slots may be used, and the rest of the parameters."""
    if _CHANNELS not in query:
        return True, query
    pairs = parse_qsl(query, keep_blank_values=True)
    said = {value for word, value in pairs if word == _CHANNELS}
    if not said <= {"on", "off"}:
        raise UsageError(f"parameter {_CHANNELS!r} must be on or off")
    return "off" not in said, urlencode([pair for pair in pairs if pair[0] != _CHANNELS])
