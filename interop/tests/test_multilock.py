"""Redisson's RMultiLock and our multilock() and all_of() on the same names."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

import interlock
from interlock import AcquireTimeout, aio
from tests.support.eventually import eventually
from tests.support.worlds import World

from ..harness.foreign import SOON
from ..harness.matrix import BOTH, TO_THEM, TO_US, meets
from ..harness.modes import everywhere
from ..harness.peers import Actor, Cast
from .looking import PROMPTLY, left_behind, waiters
from .people import OURS

pytestmark = meets("Redisson", "RedissonMultiLock", "multilock()")

Make = Callable[..., Any]

all_of: dict[str, Make] = {"threads": interlock.all_of, "tasks": aio.all_of}
majority_of: dict[str, Make] = {"threads": interlock.majority_of, "tasks": aio.majority_of}


@pytest.fixture
def names(name: str) -> list[str]:
    return [f"{name}-{each}" for each in "abc"]


class Javas:
    """Several locks of Java as one, in the order given."""

    def __init__(
        self, actor: Actor, names: list[str], kind: str = "multi", of: str = "lock"
    ) -> None:
        self.actor, self._kind = actor, kind
        self._what: dict[str, Any] = {"names": names, "of": of}

    def tries(self) -> bool:
        return bool(self.actor.ask(self._kind, "tryLock", **self._what))

    def start(self, wait_ms: int) -> Future[Any]:
        return self.actor.start(self._kind, "tryLock", **self._what, wait_ms=wait_ms)

    def give(self) -> None:
        self.actor.ask(self._kind, "unlock", **self._what)


@everywhere
@pytest.mark.parametrize("kind", ["lock", "fair", "fenced", "read", "write"])
@meets(direction=BOTH)
def test_all_are_held_or_none(
    kind: str, world: World, redis_url: str, cast: Cast, names: list[str], peek: Any
) -> None:
    """Whoever holds all keeps the other out, who then has none; readers let only readers in."""
    client = world.connect(redis_url)
    mine = all_of[world.name](*(OURS[kind](client, each) for each in names))
    rival = "write" if kind == "read" else kind
    ours = all_of[world.name](*(OURS[rival](client, each) for each in names))
    java = Javas(cast.actor(), names[::-1], of=kind)
    javas_rival = Javas(cast.actor(), names[::-1], of=rival)
    assert java.tries()
    assert world.do(lambda: ours.acquire(blocking=False)) is None
    java.give()
    multihold = world.do(mine.acquire)
    assert not javas_rival.tries()
    assert sum(peek.hlen(each) - peek.hexists(each, "mode") for each in names) == 3
    world.do(multihold.release)
    eventually(lambda: not {key for key in left_behind(peek) if "lock_token" not in key})


@meets(direction=TO_US)
def test_we_give_all_back_when_java_keeps_the_last(
    world: World, redis_url: str, java: Actor, names: list[str], peek: Any
) -> None:
    java.ask("lock", "lock", names[-1])
    several = world.connect(redis_url).multilock(*names, timeout=0.3)
    with pytest.raises(AcquireTimeout, match=names[-1]):
        world.do(several.acquire)
    assert left_behind(peek) == {names[-1]}
    java.ask("lock", "unlock", names[-1])
    world.do(world.do(several.acquire).release)


@meets(direction=TO_THEM)
def test_java_gives_all_back_when_we_keep_the_last(
    world: World, redis_url: str, java: Actor, names: list[str], peek: Any
) -> None:
    hold = world.do(world.connect(redis_url).lock(names[0]).acquire)
    javas = Javas(java, names[::-1])
    assert javas.start(wait_ms=300).result(SOON) is False
    eventually(lambda: left_behind(peek) == {names[0]})
    world.do(hold.release)
    assert javas.tries()
    javas.give()


@everywhere
@meets(direction=BOTH)
def test_opposite_orders_end_in_no_deadlock(
    world: World, redis_url: str, cast: Cast, names: list[str], peek: Any
) -> None:
    """Java has the last and we the first, and both wait for the one between: a circle as soon
    as somebody gets it.  Java gives up after its time and begins anew, as it does by itself."""
    between, javas = cast.actor(), Javas(cast.actor(), names[::-1])
    between.ask("lock", "lock", names[1])
    ours = world.start(world.connect(redis_url).multilock(*names).acquire)
    theirs = javas.start(wait_ms=1000)
    eventually(lambda: peek.exists(*names) == 3 and waiters(peek, names[1]) == 1)
    eventually(lambda: javas.actor.parked)
    between.ask("lock", "unlock", names[1])
    multihold = ours.result(SOON)
    assert theirs.result(SOON) is False
    theirs = javas.start(wait_ms=10_000)
    eventually(lambda: javas.actor.parked)
    world.do(multihold.release)
    assert theirs.result(PROMPTLY) is True
    javas.give()
    eventually(lambda: not left_behind(peek))


@meets(primitive="RedissonRedLock", ours="majority_of()", direction=BOTH)
def test_one_majority_at_a_time(
    world: World, redis_url: str, java: Actor, names: list[str], peek: Any
) -> None:
    """Two of three are enough, and nobody else can have two; here the three are of one store."""
    client = world.connect(redis_url)
    ours = majority_of[world.name](*(client.lock(each) for each in names))
    javas = Javas(java, names, kind="redlock")
    stranger = world.do(client.lock(names[0]).acquire)
    assert javas.tries()
    assert world.do(lambda: ours.acquire(blocking=False)) is None
    javas.give()
    world.do(stranger.release)
    multihold = world.do(ours.acquire)
    assert javas.start(wait_ms=200).result(SOON) is False
    world.do(multihold.release)
    eventually(lambda: not left_behind(peek))
