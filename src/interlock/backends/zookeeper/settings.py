"""How to reach ZooKeeper servers: our own reader of URLs, and what kazoo is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kazoo.security import OPEN_ACL_UNSAFE


@dataclass(frozen=True)
class Settings:
    """Everything needed to open a session.  Its repr never shows a secret."""

    hosts: str = "localhost:2181"
    root: str = ""
    #: Seconds that the servers are asked to keep a silent session; they may say otherwise.
    session_timeout: float = 10.0
    #: Seconds for a connection.
    connect_timeout: float = 5.0
    acl: Any = field(default=tuple(OPEN_ACL_UNSAFE), repr=False)

    @property
    def label(self) -> str:
        """How to name these servers to people."""
        return f"zk://{self.hosts}{self.root or '/'}"


def read_url(url: str) -> Settings:
    """Read a URL."""
    rest = url.partition("://")[2]
    hosts, slash, root = rest.partition("/")
    path, _, query = root.partition("?")
    given: dict[str, Any] = {}
    for pair in filter(None, query.split("&")):
        word, _, value = pair.partition("=")
        given[word] = float(value)
    return Settings(hosts=hosts, root=(slash + path).rstrip("/"), **given)


def client_options(settings: Settings) -> dict[str, Any]:
    """What kazoo is told."""
    return {"hosts": settings.hosts, "timeout": settings.session_timeout}
