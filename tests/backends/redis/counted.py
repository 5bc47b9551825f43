"""People who use semaphores and latches, in both worlds, and Java beside them, by hand."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeAlias

from interlock.backends.redis import RedisBackend, UrlFactory, read_url
from interlock.backends.redis.semaphores import (
    RedisLeasedSemaphores,
    RedisPermitStore,
    RedisSemaphores,
)
from interlock.drive import arun, now, run
from interlock.model import MOST, Grant, permit_id
from interlock.recipes.lock import Acquisition, acquire, release
from interlock.session.identity import new_identity
from interlock.steps import Steps

from ...support.eventually import eventually
from ...support.worlds import PATIENCE, World

#: Where everything of the name `k` is.
SHARES, LEASES, KIND = "interlock:permits:{k}", "{k}:timeout", "interlock:kind:{k}"
QUEUE, CHANNEL = "interlock:queue:{k}", "redisson_sc:{k}"
LATCH_CHANNEL = "redisson_countdownlatch__channel__{k}"

#: Long enough that nobody gets anything because a lease ran out.
LONG = 60.0

#: Where the holders of each kind of semaphore are.
HOLDERS = {"semaphore": SHARES, "leased_semaphore": LEASES}
KINDS = sorted(HOLDERS)


def permits_of(kind: str, permits: int | None = None, weight: int = 1) -> RedisPermitStore:
    """The store of one kind of semaphore."""
    if kind == "semaphore":
        return RedisSemaphores(permits, weight, "test")
    return RedisLeasedSemaphores(permits, "test")


def share_of(kind: str, owner: str) -> str | bytes:
    """What stands among the holders for an owner of one permit."""
    return f"{owner}*1" if kind == "semaphore" else permit_id(owner)


class Person:
    """Somebody in one of the worlds who uses one store; leaves when the world ends."""

    def __init__(self, world: World, url: str, store: Any) -> None:
        self.world, self.store, self.identity = world, store, new_identity()
        world._clients.append(self)
        backend = RedisBackend(UrlFactory(read_url(url)))
        self.link: Any = backend.link() if world.name == "threads" else backend.alink()
        self._numbers = itertools.count(1)

    def owner(self) -> str:
        """A new owner of this person's."""
        return f"{self.identity}:{next(self._numbers)}{self.store.kind_code}"

    def start(self, steps: Steps[Any]) -> Future[Any]:
        if self.world.name == "threads":
            return self.world.start(lambda: run(steps, self.link))
        return self.world.start(lambda: arun(steps, self.link))

    def do(self, steps: Steps[Any]) -> Any:
        return self.start(steps).result(PATIENCE)

    def ask(self, owner: str = "", lease: float = LONG, waits: bool = False) -> Any:
        """One attempt: a token, or busy."""
        owner = owner or self.owner()
        return self.do(self.store.attempt("k", owner, lease, waits, now() + 5))

    def seeking(
        self, timeout: float = MOST, lease: float = LONG, jitter: float = 0.0
    ) -> Acquisition:
        """An acquisition that has not begun."""
        at = now()
        return Acquisition(self.store, "k", self.owner(), lease, at, at + timeout, now, jitter)

    def wait(self, timeout: float = MOST, lease: float = LONG) -> Future[Grant]:
        """The whole recipe: ask, listen, wait; a grant in the end."""
        return self.start(acquire(self.seeking(timeout, lease)))

    def take(self, lease: float = LONG) -> Grant:
        grant: Grant = self.wait(PATIENCE, lease).result(PATIENCE)
        return grant

    def give(self, grant: Grant) -> bool:
        given: bool = self.do(release(self.store, grant, now() + 5))
        return given

    def look(self) -> Any:
        return self.do(self.store.look("k", now() + 5))

    def close(self) -> Any:
        return self.link.close()


Meet: TypeAlias = Callable[[Any], Person]


def line_up(peek: Any, people: list[Person]) -> list[Future[Grant]]:
    """Let people wait, one behind the other."""
    waiting = []
    for place, person in enumerate(people, start=peek.zcard(QUEUE) + 1):
        waiting.append(person.wait())
        eventually(lambda place=place: peek.zcard(QUEUE) == place)  # type: ignore[misc]
    return waiting


class Java:
    """What Redisson does to the name `k`, said by hand."""

    def __init__(self, peek: Any) -> None:
        self.peek = peek

    def acquire(self, permits: int = 1) -> bool:
        """`tryAcquire` of a plain semaphore."""
        if int(self.peek.get("k") or 0) < permits:
            return False
        self.peek.decrby("k", permits)
        return True

    def release(self, permits: int = 1) -> None:
        self.peek.publish(CHANNEL, self.peek.incrby("k", permits))

    def acquire_leased(self, permit: str, ends_ms: int) -> None:
        """`tryAcquire` of an expirable semaphore that has a permit free."""
        self.peek.decrby("k", 1)
        self.peek.execute_command("ZADD", LEASES, ends_ms, bytes.fromhex(permit))

    def release_leased(self, permit: str) -> bool:
        if not self.peek.execute_command("ZREM", LEASES, bytes.fromhex(permit)):
            return False
        self.peek.publish(CHANNEL, self.peek.incrby("k", 1))
        return True


def free(peek: Any) -> int:
    """How many permits are free, as Redisson counts them."""
    return int(peek.get("k"))
