"""How to reach a Redis Cluster: a reader of URLs such as `redis+cluster://h1:7000,h2:7000`.

Each host is read as `redis://` would be, with all that the URL says: so the same is accepted.
"""

from __future__ import annotations

from ....errors import UsageError
from ..url import RedisSettings, read_url, split_url
from .slot_map import Address

CLUSTER_SCHEMES = {"redis+cluster": "redis", "rediss+cluster": "rediss"}


def read_cluster_url(url: str) -> tuple[RedisSettings, list[Address], str]:
    """Read a URL: the settings of every node, where to ask first, and what to call the cluster."""
    parts = split_url(url)
    scheme = CLUSTER_SCHEMES[parts.scheme.lower()]
    credentials, at, hosts = parts.netloc.rpartition("@")
    rest = parts._replace(scheme="", netloc="").geturl()
    places = hosts.split(",")
    if not all(places) and len(places) > 1:
        raise UsageError("a host is missing between two commas in the URL")
    nodes = [read_url(f"{scheme}://{credentials}{at}{place}{rest}", None) for place in places]
    if nodes[0].db != 0:
        raise UsageError("a cluster has only database 0: leave the database out of the URL")
    if nodes[0].restart_guard:
        raise UsageError(
            "a cluster has no restart guard, because slots move between its servers: leave "
            "restart_guard out of the URL; redis://, redis+sentinel:// and redlock:// have it"
        )
    seeds = list(dict.fromkeys(Address(node.host, node.port) for node in nodes))
    return nodes[0], seeds, f"{parts.scheme.lower()}://{','.join(map(str, seeds))}"
