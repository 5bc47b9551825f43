"""Every primitive by its sort, and a meter for what it costs the server."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import Any, NamedTuple

from interlock.backends.redis import scripts

from ...support.eventually import eventually
from ...support.worlds import World
from .watching import Monitor, Seen, sha


class Sort(NamedTuple):
    """One thing to hold: how it is made, and which scripts do what to it."""

    #: From a client and a name.
    make: Callable[[Any, str], Any]
    #: What keeps others from having it.
    rival: str
    attempt: str
    release: str
    withdraw: str
    look: str


def _sort(make: Callable[[Any, str], Any], rival: str, layout: str, **others: str) -> Sort:
    verbs = {verb: f"{layout}_{verb}" for verb in ("attempt", "release", "look")}
    verbs.update(others)
    return Sort(make, rival, **verbs, withdraw=verbs["release"])


SORTS = {
    "lock": _sort(lambda il, name: il.lock(name), "lock", "lock"),
    "mutex": _sort(lambda il, name: il.mutex(name), "mutex", "mutex"),
    "fair_lock": _sort(lambda il, name: il.fair_lock(name), "fair_lock", "fair", look="lock_look"),
    "fenced_lock": _sort(lambda il, name: il.fenced_lock(name), "fenced_lock", "lock"),
    "read": _sort(
        lambda il, name: il.rwlock(name).read(), "write", "rwlock", release="rwlock_leave"
    ),
    "write": _sort(lambda il, name: il.rwlock(name).write(), "write", "rwlock"),
    "semaphore": _sort(lambda il, name: il.semaphore(name, permits=1), "semaphore", "permits"),
    "leased_semaphore": _sort(
        lambda il, name: il.leased_semaphore(name, permits=1), "leased_semaphore", "permits"
    ),
}
SEMAPHORES = ("semaphore", "leased_semaphore")
REENTRANT = ("lock", "fair_lock", "fenced_lock", "read", "write")

#: What a connection costs, not an operation: opening it, and seeing that it lives.
UPKEEP = {"HELLO", "CLIENT", "PING"}


class Meter:
    """Names what clients of ours have sent since it was last asked: scripts by their names."""

    def __init__(self, monitor: Monitor, peek: Any) -> None:
        self._monitor, self._peek, self._read = monitor, peek.client_info()["addr"], 0
        self._names = {sha(name).decode(): name for name in script_names()}

    def spent(self) -> list[str]:
        new = self.seen()
        self._read += len(new)
        return new

    def seen(self) -> list[str]:
        """The same, without forgetting it."""
        named = [self._name(seen) for seen in self._monitor.sent() if seen.client != self._peek]
        # Leases are renewed in the background, whatever else happens.
        costs = [name for name in named if name not in UPKEEP and not name.endswith("_renew")]
        return costs[self._read :]

    def _name(self, seen: Seen) -> str:
        return self._names[seen.words[1]] if seen.verb == "EVALSHA" else seen.verb


def script_names() -> list[str]:
    """The name of every script there is."""
    found = (each.name for each in files(scripts.__name__).iterdir())
    return [name.removesuffix(".lua") for name in found if name.endswith(".lua")]


def introduced(world: World, url: str, peek: Any, meter: Meter) -> Any:
    """A client that has introduced itself, so that this costs nothing later."""
    client = world.connect(url)
    world.do(world.do(client.lock("warm").acquire).release)
    eventually(lambda: peek.exists(f"interlock:client:{client._session.identity}"))
    meter.spent()
    return client
