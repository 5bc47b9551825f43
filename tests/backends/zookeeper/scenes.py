"""What the tests of faults share: who stands where, who was told what, and how a session ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from kazoo.client import KazooClient

from interlock.backends.zookeeper import layout
from interlock.drive import now
from interlock.events import Event, Parked
from tests.support.zookeepers import awaited

from ...support.worlds import World

E = TypeVar("E", bound=Event)

#: Seconds for everything that should take none, on a busy machine.
SOON = 20.0

#: What only the request that makes the node of a lock has in it.
NEW_NODE = b"-lock-\x00"


class Recorder:
    """An observer whose news can be awaited."""

    def __init__(self) -> None:
        self._told: list[tuple[Event, float]] = []
        self._news = threading.Condition()

    def __call__(self, event: Event) -> None:
        with self._news:
            self._told.append((event, now()))
            self._news.notify_all()

    def hear(self, kind: type[E], count: int = 1, within: float = SOON) -> E:
        """The event of a kind that makes it so many."""
        with self._news:
            self._news.wait_for(lambda: len(self._of(kind)) >= count, within)
            heard = self._of(kind)
            assert len(heard) >= count, f"{len(heard)} times {kind.__name__}: {self._told}"
            return heard[count - 1]

    def count(self, kind: type[E]) -> int:
        with self._news:
            return len(self._of(kind))

    def _of(self, kind: type[E]) -> list[E]:
        return [event for event, _ in self._told if isinstance(event, kind)]


class Waiter:
    """Somebody who waits for a lock; made when it stands in the queue."""

    def __init__(self, world: World, url: str, name: str = "k", **options: Any) -> None:
        self._world, self.recorder = world, Recorder()
        self.client = world.connect(url, observer=self.recorder, **options)
        self.outcome: Future[Any] = world.start(self.client.lock(name).acquire)
        self.owner = self.recorder.hear(Parked).owner

    @property
    def granted(self) -> bool:
        return self.outcome.done()

    def hold(self) -> Any:
        """What it has in the end."""
        return self.outcome.result(SOON)

    def leave(self) -> None:
        self._world.do(self.hold().release)


def queue(peek: Any, name: str = "k") -> list[str]:
    """The nodes of a lock in their order."""
    if not peek.exists(f"/{name}"):
        return []
    return sorted(peek.get_children(f"/{name}"), key=lambda node: node[-10:])


def owners(peek: Any, name: str = "k") -> list[str]:
    """Who stands in the queue of a lock, in their order."""
    return [layout.owner_of(node) for node in queue(peek, name)]


def stands(peek: Any, who: list[str], name: str = "k", within: float = SOON) -> None:
    """Wait until just these stand in the queue."""
    awaited(lambda: owners(peek, name) == who, within, lambda: f"{owners(peek, name)}, not {who}")


def introduced(peek: Any, count: int = 1) -> None:
    """Wait until so many clients have said who they are, which they do in their own time."""
    clients = "/interlock:clients"
    awaited(
        lambda: peek.exists(clients) and len(peek.get_children(clients)) >= count,
        SOON,
        lambda: "nobody was introduced",
    )


class Departure:
    """Notes when a node goes, as another client of the servers sees it."""

    def __init__(self, peek: Any, path: str) -> None:
        self._gone, self.at = threading.Event(), 0.0
        assert peek.exists(path, watch=self._note) is not None

    def _note(self, event: Any) -> None:
        self.at = now()
        self._gone.set()

    def wait(self) -> float:
        """The instant when it was seen to be gone."""
        assert self._gone.wait(SOON), "the node is still there"
        return self.at


def kazoo_of(client: Any) -> Any:
    """The kazoo below a client of ours."""
    return transport_of(client)._client


def transport_of(client: Any) -> Any:
    """The transport below a client of ours."""
    return client._session.link._transport


def expire(client: Any, hosts: str) -> None:
    """End the session of a client at the servers, as if nobody had heard of it for long."""
    thief = KazooClient(hosts, client_id=kazoo_of(client).client_id)
    thief.start(timeout=20)
    thief.stop()
    thief.close()


def forget_session(client: Any) -> None:
    """Let a client that is cut off begin another session while the servers keep the first."""
    kazoo = kazoo_of(client)
    assert not kazoo.connected
    kazoo._reset_session()


def cut_off(proxy: Any, client: Any) -> None:
    """Cut a client off from the servers; it knows that when this returns."""
    proxy.refuse()
    proxy.cut()
    transport = transport_of(client)
    eventually(lambda: not transport.connected, "still connected")


def eventually(question: Callable[[], Any], complaint: str, within: float = SOON) -> Any:
    """The first answer that is true."""
    return awaited(question, within, lambda: complaint)
