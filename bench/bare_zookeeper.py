"""ZooKeeper's locks by kazoo: its own, and the least that could be one.

The limit asks for a node and for the list in one breath, as we do, and deletes the node; it does
not look at the answers, and survives nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from kazoo.client import KazooClient

import interlock

from .peers import Entrant, Guard

LIMIT, LOCK, SEMAPHORE = "bare kazoo, pipelined", "interlock lock()", "interlock semaphore()"
KAZOO, KAZOO_SEMAPHORE = "kazoo Lock", "kazoo Semaphore"
CURATOR = "Curator InterProcessMutex"
PERMITS = 4


#: How to close whatever this process has opened.
_opened: list[Callable[[], object]] = []


def hang_up() -> None:
    """Close every client, so that none disturbs what comes next."""
    while _opened:
        _opened.pop()()


def started(hosts: str) -> KazooClient:
    client = KazooClient(hosts)
    client.start(timeout=30)
    _opened.append(client.stop)
    return client


def _connected(hosts: str) -> interlock.Client:
    client = interlock.connect(f"zk://{hosts}")
    _opened.append(client.close)
    return client


class Pipelined:
    """The shortest lock, in one directory, for one at a time."""

    def __init__(self, client: KazooClient, name: str) -> None:
        self._client, self._folder, self._node = client, f"/{name}", ""
        client.ensure_path(self._folder)

    def ask(self) -> tuple[Any, Any]:
        """Ask without waiting."""
        made = self._client.create_async(
            f"{self._folder}/lock-", ephemeral=True, sequence=True, include_data=True
        )
        return made, self._client.get_children_async(self._folder)

    def heard(self, asked: tuple[Any, Any]) -> None:
        made, listed = asked
        (self._node, _), _ = made.get(), listed.get()

    def leave(self) -> Any:
        """Give back without waiting."""
        return self._client.delete_async(self._node)

    def __enter__(self) -> None:
        self.heard(self.ask())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.leave().get()


def _lock(hosts: str, name: str) -> Guard:
    return _connected(hosts).lock(name)


def _semaphore(hosts: str, name: str) -> Guard:
    return _connected(hosts).semaphore(name, permits=PERMITS)


def _pipelined(hosts: str, name: str) -> Guard:
    return Pipelined(started(hosts), name)


def _kazoo(hosts: str, name: str) -> Guard:
    lock: Guard = started(hosts).Lock(f"/{name}")
    return lock


def _kazoo_semaphore(hosts: str, name: str) -> Guard:
    semaphore: Guard = started(hosts).Semaphore(f"/{name}", max_leases=PERMITS)
    return semaphore


OURS, PEER = Entrant(LOCK, _lock), Entrant(KAZOO, _kazoo)
ENTRANTS = (
    Entrant(LIMIT, _pipelined),
    OURS,
    PEER,
    Entrant(SEMAPHORE, _semaphore),
    Entrant(KAZOO_SEMAPHORE, _kazoo_semaphore),
)
