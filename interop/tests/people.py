"""Somebody of either side who wants to hold something, so that a test can mix them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from tests.support.worlds import World

from ..harness.foreign import SOON
from ..harness.peers import Actor, Cast

#: How our client is asked for what Java calls by these names.
OURS: dict[str, Callable[..., Any]] = {
    "lock": lambda client, name, **terms: client.lock(name, **terms),
    "fair": lambda client, name, **terms: client.fair_lock(name, **terms),
    "fenced": lambda client, name, **terms: client.fenced_lock(name, **terms),
    "read": lambda client, name, **terms: client.rwlock(name, **terms).read(),
    "write": lambda client, name, **terms: client.rwlock(name, **terms).write(),
}


class Person:
    """One who seeks, may get, and gives back."""

    turn: Future[Any]

    def seek(self) -> Future[Any]:
        """Begin to wait for it."""
        raise NotImplementedError

    def take(self) -> Any:
        """Take what is free."""
        return self.seek().result(SOON)

    def give(self) -> None:
        raise NotImplementedError

    def tries(self) -> bool:
        """Try once; what was got is kept."""
        raise NotImplementedError

    @property
    def owner(self) -> str:
        """What is written down while it holds."""
        raise NotImplementedError

    @property
    def parked(self) -> bool:
        """Whether nothing but a message will wake it; ours listen before they ask."""
        return True


class Javan(Person):
    """A thread of Java."""

    def __init__(self, actor: Actor, kind: str, name: str, **terms: int) -> None:
        self.actor, self._kind, self._name, self._terms = actor, kind, name, terms
        self._owner = actor.owner

    def seek(self) -> Future[Any]:
        verb = "tryLock" if "wait_ms" in self._terms else "lock"
        self.turn = self.actor.start(self._kind, verb, self._name, **self._terms)
        return self.turn

    def give(self) -> None:
        self.actor.ask(self._kind, "unlock", self._name)

    def tries(self) -> bool:
        return bool(self.actor.ask(self._kind, "tryLock", self._name))

    @property
    def owner(self) -> str:
        return self._owner

    @property
    def parked(self) -> bool:
        return self.actor.parked


class Pythonist(Person):
    """A client of ours, in one of the two worlds."""

    def __init__(
        self, world: World, url: str, kind: str, name: str, client: Any = None, **terms: Any
    ) -> None:
        self.world, self.client = world, client or world.connect(url)
        self.lock = OURS[kind](self.client, name, **terms)

    def seek(self) -> Future[Any]:
        self.turn = self.world.start(self.lock.acquire)
        return self.turn

    def give(self) -> None:
        self.world.do(self.hold.release)

    def tries(self) -> bool:
        self.turn = self.world.start(lambda: self.lock.acquire(blocking=False))
        return self.turn.result(SOON) is not None

    @property
    def hold(self) -> Any:
        return self.turn.result(SOON)

    @property
    def owner(self) -> str:
        return str(self.hold.owner)


class Meeting:
    """Makes people of both sides who want the same thing."""

    def __init__(self, cast: Cast, world: World, url: str, kind: str, name: str) -> None:
        self.cast, self.world, self.url, self.kind, self.name = cast, world, url, kind, name

    def java(self, kind: str = "", client: str = "", **terms: int) -> Javan:
        return Javan(self.cast.actor(client), kind or self.kind, self.name, **terms)

    def ours(self, kind: str = "", **terms: Any) -> Pythonist:
        return Pythonist(self.world, self.url, kind or self.kind, self.name, **terms)

    def person(self, side: str) -> Person:
        """Java's for a J, ours for a P."""
        return self.java() if side == "J" else self.ours()
