"""People of both sides who want the same thing, and what the tree shows of them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from itertools import takewhile
from typing import Any

import pytest
from kazoo.exceptions import NoNodeError

from interlock.events import Event, Parked
from tests.support.eventually import eventually
from tests.support.worlds import World
from tests.support.zookeepers import ZooKeeperServer

from ...harness.foreign import SOON
from ...harness.matrix import meets
from ...harness.peers import Actor, Cast
from ..people import Person

#: For what does not depend on the version of Curator.
newest = pytest.mark.parametrize("version", ["newest"], indirect=True)

#: How our client is asked for what Curator's peer calls by these names.
OURS: dict[str, Callable[..., Any]] = {
    "mutex": lambda client, path, **terms: client.lock(path, **terms),
    "fair": lambda client, path, **terms: client.fair_lock(path, **terms),
    "fenced": lambda client, path, **terms: client.fenced_lock(path, **terms),
    "read": lambda client, path, **terms: client.rwlock(path, **terms).read(),
    "write": lambda client, path, **terms: client.rwlock(path, **terms).write(),
    "smutex": lambda client, path, **terms: client.mutex(path, **terms),
    "semaphore": lambda client, path, max, **terms: client.semaphore(path, permits=max, **terms),
    "leased": lambda client, path, max, **terms: client.leased_semaphore(
        path, permits=max, **terms
    ),
}

#: Curator has one recipe where we have several.
CURATORS = {"fair": "mutex", "fenced": "mutex", "leased": "semaphore"}

#: Everything that one has and others wait for in order, with its terms.
EXCLUSIVE = [
    pytest.param("mutex", {}, marks=meets(primitive="InterProcessMutex", ours="lock()")),
    pytest.param("fair", {}, marks=meets(primitive="InterProcessMutex", ours="fair_lock()")),
    pytest.param("fenced", {}, marks=meets(primitive="InterProcessMutex", ours="fenced_lock()")),
    pytest.param("write", {}, marks=meets(primitive="InterProcessReadWriteLock", ours="rwlock()")),
    pytest.param(
        "smutex", {}, marks=meets(primitive="InterProcessSemaphoreMutex", ours="mutex()")
    ),
    pytest.param(
        *("semaphore", {"max": 1}),
        marks=meets(primitive="InterProcessSemaphoreV2", ours="semaphore()"),
    ),
    pytest.param(
        *("leased", {"max": 1}),
        marks=meets(primitive="InterProcessSemaphoreV2", ours="leased_semaphore()"),
    ),
]


class Javan(Person):
    """A thread of Java, with objects of its own."""

    def __init__(self, actor: Actor, kind: str, path: str, **terms: Any) -> None:
        self.actor, self.kind, self.path = actor, CURATORS.get(kind, kind), path
        self._terms = terms

    def seek(self, **terms: Any) -> Future[Any]:
        self.turn = self.actor.start(self.kind, "acquire", self.path, **self._terms, **terms)
        return self.turn

    def take(self) -> Any:
        assert super().take() is True

    def tries(self) -> bool:
        return bool(self.seek(ms=0).result(SOON))

    def give(self) -> None:
        self.actor.ask(self.kind, "release", self.path)

    @property
    def token(self) -> int:
        told = self.actor.ask(self.kind, "token", self.path)
        return int(told[0] if isinstance(told, list) else told)

    @property
    def parked(self) -> bool:
        return self.actor.parked


class Pythonist(Person):
    """A client of ours, in one of the two worlds, with a session of its own."""

    def __init__(self, world: World, url: str, kind: str, path: str, **terms: Any) -> None:
        self.events: list[Event] = []
        self.world, self.client = world, world.connect(url, observer=self.events.append)
        self.lock = OURS[kind](self.client, path, **terms)

    def seek(self) -> Future[Any]:
        self.events.clear()
        self.turn = self.world.start(self.lock.acquire)
        return self.turn

    def tries(self) -> bool:
        self.turn = self.world.start(lambda: self.lock.acquire(blocking=False))
        return self.turn.result(SOON) is not None

    def give(self) -> None:
        self.world.do(self.hold.release)

    @property
    def parked(self) -> bool:
        """Whether it was refused after it had begun to watch."""
        return any(isinstance(event, Parked) for event in self.events)

    @property
    def hold(self) -> Any:
        return self.turn.result(SOON)

    @property
    def token(self) -> int:
        return int(self.hold.token)


class Meeting:
    """Makes people of both sides who want the same thing, and sees who is there."""

    def __init__(
        self, cast: Cast, world: World, zookeeper: ZooKeeperServer, peek: Any, path: str
    ) -> None:
        self.cast, self.world, self.zookeeper = cast, world, zookeeper
        self.peek, self.path, self.url = peek, path, zookeeper.url()

    def java(self, kind: str, **terms: Any) -> Javan:
        return Javan(self.cast.actor(), kind, self.path, **terms)

    def ours(self, kind: str, **terms: Any) -> Pythonist:
        return Pythonist(self.world, self.url, kind, self.path, **terms)

    def person(self, side: str, kind: str, **terms: Any) -> Javan | Pythonist:
        """Java's for a J, ours for a P."""
        return self.java(kind, **terms) if side == "J" else self.ours(kind, **terms)

    def nodes(self) -> list[str]:
        """All who stand there, as paths below the name."""
        return [node for folder in ("", "/locks", "/leases") for node in self.inside(folder)]

    def inside(self, folder: str = "") -> list[str]:
        """Who stands in one directory, by number."""
        try:
            nodes = self.peek.get_children(self.path + folder)
        except NoNodeError:
            return []
        return sorted((each for each in nodes if each[:3] == "_c_"), key=lambda each: each[-10:])

    def watchers(self, node: str) -> set[int]:
        """The sessions that watch one of them: its own, and those that wait for its end."""
        lines = self.zookeeper.ask("wchp").partition(f"{self.path}/{node}\n")[2].splitlines()
        return {int(line, 16) for line in takewhile(lambda line: line[:1] == "\t", lines)}

    @property
    def javas_session(self) -> int:
        return int(self.cast.jvm.ask(kind="peer", verb="session"))

    def queue_up(self, person: Person) -> None:
        """Let somebody wait, until its place is taken and it watches the one before."""
        before = len(self.nodes())
        person.seek()
        eventually(lambda: person.parked and len(self.nodes()) > before, SOON)
        assert not person.turn.done()
