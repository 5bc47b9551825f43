"""A failover while Java and Python share locks behind Sentinels: the waiter of the other language
gets a lock after its release at the new primary, and not before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from interlock.recipes.lock import POLL_CAP
from tests.backends.redis.test_sentinel_failover import HOW, LEASE
from tests.backends.redis.watching import raw
from tests.support.eventually import eventually
from tests.support.sentinels import SentinelFleet, awaited
from tests.support.worlds import WORLDS, World

from ..harness import peers
from ..harness.foreign import SOON, Foreign
from ..harness.matrix import BOTH, meets
from .looking import PROMPTLY, subscribers, waiters

pytestmark = meets("Redisson", "RLock", "lock()", place="Redis Sentinel")

#: Seconds that Redisson waits for replicas after each step: for all that it knows, also for the
#: primary that was, which is not there.
SYNCHRONIZED = 1.0


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[SentinelFleet, Foreign]]:
    with SentinelFleet(down_after=1000) as fleet, peers.redisson(fleet.url) as jvm:
        yield fleet, jvm


@pytest.fixture
def fleet(both: tuple[SentinelFleet, Foreign]) -> SentinelFleet:
    """Servers that are all well again."""
    fleet = both[0]
    for each in fleet.servers:
        each.resume()
        if not fleet.role(each):
            each.start()
    awaited(lambda: fleet.settled(fleet.primary()), "the fleet to settle")
    return fleet


@pytest.fixture
def cast(both: tuple[SentinelFleet, Foreign]) -> Iterator[peers.Cast]:
    cast = peers.Cast(both[1])
    yield cast
    cast.close()


@pytest.fixture
def worlds() -> Iterator[dict[str, World]]:
    several = {name: kind() for name, kind in WORLDS.items()}
    yield several
    for each in several.values():
        each.close()


class Ours:
    """What a client of each world holds, while a thread of Java waits for it."""

    def __init__(self, worlds: dict[str, World], url: str, name: str, cast: peers.Cast) -> None:
        self._worlds = worlds
        self._names = {each: f"{name}-{each}" for each in worlds}
        self._holds = {
            each: world.do(world.connect(url).lock(self._names[each], lease=LEASE).acquire)
            for each, world in worlds.items()
        }
        self._javas = {each: cast.actor() for each in worlds}
        self._waiting = {
            each: java.start("lock", "lock", self._names[each])
            for each, java in self._javas.items()
        }
        eventually(lambda: all(java.parked for java in self._javas.values()), SOON)

    def hand_over(self, peek: Any) -> None:
        """Give each back, at a new primary, where Java has it as soon as replicas may have."""
        # Java asks again only when it hears a message, and so not before it listens there.
        eventually(lambda: all(subscribers(peek, each) for each in self._names.values()), SOON)
        for each, world in self._worlds.items():
            assert not self._waiting[each].done()
            world.do(self._holds[each].release)
            self._waiting[each].result(SYNCHRONIZED + PROMPTLY)
            assert peek.hgetall(self._names[each]) == {self._javas[each].owner: "1"}


class Theirs:
    """What a thread of Java holds, while a client of each world waits for it."""

    def __init__(
        self, worlds: dict[str, World], fleet: SentinelFleet, name: str, cast: peers.Cast
    ) -> None:
        self._name, self._java, self._worlds = name, cast.actor(), worlds
        self._java.ask("lock", "lock", name)
        self._waiting = {
            each: world.start(world.connect(fleet.url).lock(name).acquire)
            for each, world in worlds.items()
        }
        with raw(fleet.primary().port) as peek:
            eventually(lambda: waiters(peek, name) == len(worlds))

    def hand_over(self, peek: Any) -> None:
        """Let Java unlock it at a new primary, where one of ours after the other has it."""
        assert peek.hgetall(self._name) == {self._java.owner: "1"}
        assert not any(each.done() for each in self._waiting.values())
        self._java.ask("lock", "unlock", self._name)
        waiting = dict(self._waiting)
        while waiting:
            (each,) = eventually(lambda: _done(waiting), POLL_CAP + PROMPTLY)
            hold = waiting.pop(each).result()
            assert peek.hgetall(self._name) == {hold.owner: "1"}
            assert not _done(waiting)
            self._worlds[each].do(hold.release)


def _done(waiting: dict[str, Any]) -> list[str]:
    return [each for each, turn in waiting.items() if turn.done()]


@pytest.mark.parametrize("how", HOW)
@meets(direction=BOTH)
def test_either_side_waits_through_a_failover_and_holds_after_the_release(
    fleet: SentinelFleet, cast: peers.Cast, worlds: dict[str, World], name: str, how: str
) -> None:
    ours = Ours(worlds, fleet.url, f"{name}-ours", cast)
    theirs = Theirs(worlds, fleet, f"{name}-theirs", cast)
    old = fleet.primary()
    HOW[how](old)
    with raw(fleet.promoted(old).port) as peek:
        ours.hand_over(peek)
        theirs.hand_over(peek)
