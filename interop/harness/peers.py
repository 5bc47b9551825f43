"""The programs that meet here, and how each is started."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from .foreign import SOON, Foreign

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "build"

#: A JVM that lives for a minute starts sooner without its best compiler.
JAVA = ("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", "-jar")


def redisson(url: str, watchdog: float = 30.0) -> Foreign:
    """A JVM with Redisson, whose watchdog keeps leases of so many seconds; see Modes.java."""
    jar = str(BUILD / "java" / "redisson-peer.jar")
    return Foreign([*JAVA, jar, url, str(int(watchdog * 1000))])


def redsync(*ports: int) -> Foreign:
    """On one server, or on several that vote."""
    return Foreign([str(BUILD / "go" / "redsync-peer"), *_addresses(ports)])


def node_redlock(*ports: int) -> Foreign:
    """On one server, or on several that vote."""
    return Foreign(["node", str(ROOT / "node" / "main.js"), *_addresses(ports)])


def _addresses(ports: Iterable[int]) -> list[str]:
    return [f"127.0.0.1:{port}" for port in ports]


def redis_py(port: int) -> Foreign:
    return Foreign([sys.executable, "-m", "interop.python.redis_py", str(port)])


def ours(url: str) -> Foreign:
    """Interlock itself in a process of its own, to be killed or to work hard."""
    return Foreign([sys.executable, "-m", "interop.python.ours", url])


#: Clients of the plain SET NX PX layout, by the name they have in the matrix.
MUTEX_PEERS: dict[str, Callable[..., Foreign]] = {
    "redsync": redsync,
    "node-redlock": node_redlock,
    "redis-py": redis_py,
}


class Actor:
    """One thread of a JVM: locks belong to it."""

    def __init__(self, jvm: Foreign, name: str, client: str = "") -> None:
        self._jvm, self.name, self._client = jvm, name, client

    def start(self, kind: str, verb: str, name: str | None = None, **more: Any) -> Future[Any]:
        who = {"actor": self.name, "client": self._client}
        return self._jvm.start(**who, kind=kind, verb=verb, name=name, **more)

    def ask(
        self, kind: str, verb: str, name: str | None = None, within: float = SOON, **more: Any
    ) -> Any:
        return self.start(kind, verb, name, **more).result(within)

    @property
    def owner(self) -> str:
        """What Redisson writes into a lock that this thread holds."""
        return str(self.ask("peer", "owner"))

    @property
    def parked(self) -> bool:
        """Whether it was refused and sleeps: now only a message, or the time, can wake it."""
        return bool(self._jvm.ask(kind="peer", verb="parked", whom=self.name))


class Cast:
    """The actors of one test in a JVM that many tests share."""

    _numbers = itertools.count()

    def __init__(self, jvm: Foreign) -> None:
        self.jvm = jvm
        self._actors: list[Actor] = []

    def actor(self, client: str = "") -> Actor:
        """A thread of its own, of the named Redisson client."""
        actor = Actor(self.jvm, f"actor-{next(self._numbers)}", client)
        self._actors.append(actor)
        return actor

    def client(self, name: str, **settings: Any) -> str:
        """Another Redisson client in the same JVM, with other settings."""
        self.jvm.ask(kind="peer", verb="connect", client=name, **settings)
        return name

    def close(self) -> None:
        for actor in self._actors:
            self.jvm.ask(kind="peer", verb="dismiss", whom=actor.name)
