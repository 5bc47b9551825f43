"""How to reach the nodes: a reader of `redlock://host1,host2,host3/db`, `redlocks://` where they
speak TLS, and `redlock+unix:///path1,/path2,/path3` for sockets of this machine.

User, password, database and parameters are those of every node; what they may be is what a URL of
one server may say.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from ....errors import UsageError
from ..url import LONGEST_LEASE, RedisSettings, guarding_parameter, split_hosts
from ..url import read_url as read_node

#: How each node is spelled by itself.
SCHEMES = {"redlock": "redis", "redlocks": "rediss", "redlock+unix": "unix"}

_OWN = ("longest_lease", "restart_guard")

#: What a URL of one server may say, and here would change nothing.
_WITHOUT_EFFECT = {
    "replicas": "a majority of the nodes confirms each grant, and no replica does; leave it out",
}
_WITHOUT_TLS = dict.fromkeys(("ca_certs", "certfile", "keyfile"), "only redlocks:// uses TLS")


@dataclass(frozen=True)
class RedlockSettings:
    """The settings of each node, and what all clients of these nodes agree on."""

    nodes: tuple[RedisSettings, ...]
    longest_lease: float = LONGEST_LEASE
    #: Whether a node that has restarted votes only when the longest lease is over.
    restart_guard: bool = True

    @property
    def label(self) -> str:
        """How to name these servers to people."""
        first = self.nodes[0]
        if first.transport == "unix":
            return f"redlock+unix://{','.join(node.path for node in self.nodes)}?db={first.db}"
        places = ",".join(node.label.partition("://")[2].rpartition("/")[0] for node in self.nodes)
        return f"{'redlocks' if first.transport == 'tls' else 'redlock'}://{places}/{first.db}"


def read_url(url: str) -> RedlockSettings:
    """Read a URL, or say which part of it is wrong; the password is never repeated."""
    word, _, rest = url.partition("://")
    scheme = SCHEMES[word.lower()]
    ends = min((place for place in map(rest.find, "/?#") if place >= 0), default=len(rest))
    credentials, places = split_hosts(rest[:ends])
    own, query = _split_query(url)
    path, query = rest[ends:].partition("?")[0], f"?{query}" if query else ""
    if scheme == "unix":
        each = [f"{places[0]}{part}{query}" for part in path.split(",") if part]
    else:
        each = [f"{place}{path}{query}" for place in places if place]
    nodes = tuple(read_node(f"{scheme}://{credentials}{place}") for place in each)
    _check_nodes(nodes)
    return RedlockSettings(nodes, **own)


def _split_query(url: str) -> tuple[dict[str, Any], str]:
    """What is said for all nodes together, and the rest of the parameters."""
    try:
        pairs = parse_qsl(urlsplit(url).query, keep_blank_values=True)
    except ValueError:
        raise UsageError("the host in the URL is not a host name or address") from None
    scheme = url.partition("://")[0].lower()
    useless = _WITHOUT_EFFECT if scheme == "redlocks" else _WITHOUT_EFFECT | _WITHOUT_TLS
    for word, _ in pairs:
        if word in useless:
            raise UsageError(f"{scheme}:// has no {word!r}: {useless[word]}")
    own = {word: guarding_parameter(word, value) for word, value in pairs if word in _OWN}
    return own, urlencode([pair for pair in pairs if pair[0] not in _OWN])


def _check_nodes(nodes: tuple[RedisSettings, ...]) -> None:
    count = len(nodes)
    if count < 3 or count % 2 == 0:
        raise UsageError(
            f"redlock:// needs an odd number of servers, three or more, and not {count}: an even "
            "number survives no more failures than one server less"
        )
    seen: set[tuple[str, int]] = set()
    for node in nodes:
        place = (node.path or _address(node.host), node.port)
        if place in seen:
            named = node.path or f"{node.host}:{node.port}"
            raise UsageError(f"redlock:// names {named} twice: a server has one vote")
        seen.add(place)


def _address(host: str) -> str:
    """One spelling for one address; names are not looked up."""
    if host.lower() == "localhost":
        return "127.0.0.1"
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            return socket.inet_ntop(family, socket.inet_pton(family, host))
        except (OSError, ValueError):
            continue
    return host.lower()
