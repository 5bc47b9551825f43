"""How to reach the nodes: a reader of `redlock://host1,host2,host3/db`.

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

_OWN = ("longest_lease", "restart_guard")

#: What a URL of one server may say, and here would change nothing.
_WITHOUT_EFFECT = {
    "replicas": "a majority of the nodes confirms each grant, and no replica does",
    **dict.fromkeys(("ca_certs", "certfile", "keyfile"), "there is no TLS"),
}


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
        places = ",".join(node.label.partition("://")[2].rpartition("/")[0] for node in self.nodes)
        return f"redlock://{places}/{self.nodes[0].db}"


def read_url(url: str) -> RedlockSettings:
    """Read a URL, or say which part of it is wrong; the password is never repeated."""
    _, _, rest = url.partition("://")
    ends = min((place for place in map(rest.find, "/?#") if place >= 0), default=len(rest))
    credentials, places = split_hosts(rest[:ends])
    own, query = _split_query(url)
    tail = rest[ends:].partition("?")[0] + (f"?{query}" if query else "")
    if places == [""]:
        places = []
    nodes = tuple(read_node(f"redis://{credentials}{host}{tail}") for host in places)
    _check_nodes(nodes)
    return RedlockSettings(nodes, **own)


def _split_query(url: str) -> tuple[dict[str, Any], str]:
    """What is said for all nodes together, and the rest of the parameters."""
    try:
        pairs = parse_qsl(urlsplit(url).query, keep_blank_values=True)
    except ValueError:
        raise UsageError("the host in the URL is not a host name or address") from None
    for word, _ in pairs:
        if word in _WITHOUT_EFFECT:
            raise UsageError(f"redlock:// has no {word!r}: {_WITHOUT_EFFECT[word]}; leave it out")
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
        place = (_address(node.host), node.port)
        if place in seen:
            raise UsageError(
                f"redlock:// names {node.host}:{node.port} twice: a server has one vote"
            )
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
