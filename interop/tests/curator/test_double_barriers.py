"""DistributedDoubleBarrier and `barrier()`: parties of both sides come and go together."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest

from interlock.events import Event, Parked
from tests.support.eventually import eventually
from tests.support.worlds import World
from tests.support.zookeepers import ZooKeeperServer

from ...harness.contending import ours
from ...harness.foreign import SOON, Foreign
from ...harness.matrix import BOTH, TO_THEM, TO_US, meets
from ...harness.peers import Actor, Cast
from .conftest import BRIEF_MS
from .meeting import newest
from .standing import children

pytestmark = meets("Curator", "DistributedDoubleBarrier", "barrier()")

#: Seconds of a session, and how much later than its end the others go on.
BRIEF, SLACK = BRIEF_MS / 1000, 5.0


class Python:
    """A party of ours, by a client of its own."""

    def __init__(self, world: World, url: str, path: str, parties: int) -> None:
        self.events: list[Event] = []
        self.world, self.client = world, world.connect(url, observer=self.events.append)
        self.barrier = self.client.barrier(path, parties)
        self.party: Any = None

    def start(self, verb: str) -> Future[Any]:
        """Enter, or leave with the others."""
        self.events.clear()
        if verb == "enter":
            return self.world.start(self.barrier.enter)
        return self.world.start(self.party.leave)

    @property
    def parked(self) -> bool:
        return any(isinstance(event, Parked) for event in self.events)


class Java:
    """A party of Java, in a thread of its own."""

    def __init__(self, actor: Actor, path: str, parties: int) -> None:
        self.actor, self.path, self.parties = actor, path, parties

    def start(self, verb: str) -> Future[Any]:
        return self.actor.start("double_barrier", verb, self.path, members=self.parties)

    @property
    def parked(self) -> bool:
        return self.actor.parked


Party = Python | Java


def _until_parked(party: Party, turn: Future[Any]) -> None:
    eventually(lambda: party.parked or turn.done(), SOON)


class Hall:
    """Makes parties of both sides, and lets them come and go."""

    def __init__(self, world: World, url: str, cast: Cast, path: str) -> None:
        self.world, self.url, self.cast, self.path = world, url, cast, path

    def parties(self, sides: str) -> list[Party]:
        """Java's for a J, ours for a P."""
        return [self._party(side, len(sides)) for side in sides]

    def _party(self, side: str, parties: int) -> Party:
        if side == "P":
            return Python(self.world, self.url, self.path, parties)
        return Java(self.cast.actor(), self.path, parties)

    def all(self, verb: str, parties: list[Party]) -> None:
        """Let them come, or go, one after another: none does before the last one."""
        turns = []
        for party in parties[:-1]:
            turns.append(party.start(verb))
            _until_parked(party, turns[-1])
        assert not any(turn.done() for turn in turns)
        turns.append(parties[-1].start(verb))
        for party, turn in zip(parties, turns, strict=True):
            result = turn.result(SOON)
            if isinstance(party, Python):
                party.party = result or party.party


@pytest.fixture
def hall(world: World, url: str, cast: Cast, path: str) -> Hall:
    return Hall(world, url, cast, path)


@meets(direction=BOTH)
@pytest.mark.parametrize("sides", ["JP", "PJ", "JPJP", "PPJ"])
def test_parties_of_both_sides_come_and_go_together(
    sides: str, hall: Hall, path: str, peek: Any
) -> None:
    parties = hall.parties(sides)
    hall.all("enter", parties)
    assert set(children(peek, path)) >= {"ready"}
    assert len(children(peek, path)) == len(sides) + 1

    hall.all("leave", parties)

    eventually(lambda: children(peek, path) == [])


@newest
@meets(direction=BOTH)
@pytest.mark.parametrize("order", ["as they came", "the other way round"])
def test_both_sides_come_again_and_again(order: str, hall: Hall, path: str, peek: Any) -> None:
    parties = hall.parties("JPP")
    for _ in range(3):
        hall.all("enter", parties)
        hall.all("leave", parties if order == "as they came" else parties[::-1])
        eventually(lambda: children(peek, path) == [])


@meets(direction=TO_THEM)
def test_our_node_is_as_javas(hall: Hall, path: str, peek: Any) -> None:
    python, java = hall.parties("PJ")
    turn = python.start("enter")
    (node,) = eventually(lambda: children(peek, path))
    _, stat = peek.get(f"{path}/{node}")
    assert (len(node), node[14]) == (36, "8")
    assert stat.ephemeralOwner != 0
    java.start("enter").result(SOON)
    party = turn.result(SOON)
    assert (party.token, party.owner[:8]) == (stat.czxid, node[:8])
    assert {len(each) for each in children(peek, path)} == {36, 5}


@meets(direction=TO_US)
def test_an_onlooker_of_ours_sees_javas_parties(
    hall: Hall, world: World, path: str, peek: Any
) -> None:
    python, java = hall.parties("PJ")
    turn = java.start("enter")
    eventually(lambda: len(children(peek, path)) == 1)
    assert isinstance(python, Python)
    info = world.do(lambda: python.client.inspect(path))
    assert (info.kind, [each.mode for each in info.holders]) == ("barrier", ["waits"])
    assert [info.holders[0].owner] == children(peek, path)
    python.party = python.start("enter").result(SOON)
    turn.result(SOON)
    info = world.do(lambda: python.client.inspect(path))
    assert [each.mode for each in info.holders] == ["inside"] * 2
    assert info.parties == 2


@newest
@meets(direction=TO_US)
def test_we_leave_when_javas_process_was_killed_inside(
    world: World, url: str, victim: Foreign, path: str, peek: Any
) -> None:
    java = Java(Cast(victim).actor(), path, 2)
    python = Python(world, url, path, 2)
    turn = java.start("enter")
    python.party = python.start("enter").result(SOON)
    turn.result(SOON)
    leaving = python.start("leave")
    eventually(lambda: python.parked)
    victim.kill()
    leaving.result(BRIEF + SLACK)
    eventually(lambda: children(peek, path) == [])


@pytest.fixture
def our_victim(zookeeper: ZooKeeperServer, world: World) -> Iterator[Foreign]:
    """A Python process that a test may kill, in either world, with a session of 1 s."""
    with ours(f"{zookeeper.url()}?session_timeout={BRIEF}", world.name) as process:
        yield process


@newest
@meets(direction=TO_THEM)
def test_java_leaves_when_our_process_was_killed_inside(
    our_victim: Foreign, java: Actor, path: str, peek: Any
) -> None:
    party = Java(java, path, 2)
    turn = party.start("enter")
    our_victim.ask(verb="enter", name=path, parties=2)
    turn.result(SOON)
    leaving = party.start("leave")
    our_victim.kill()
    leaving.result(BRIEF + SLACK)
    eventually(lambda: children(peek, path) == [])


@newest
@meets(direction=TO_US)
def test_a_mark_that_dead_parties_left_does_not_let_ours_in(
    hall: Hall, path: str, peek: Any
) -> None:
    """Where all died inside, Curator's `ready` stays for ever, and Java's next party passes it."""
    peek.create(f"{path}/ready", makepath=True)
    first, last = hall.parties("PP")
    turn = first.start("enter")
    eventually(lambda: first.parked)
    assert not turn.done()
    assert "ready" not in children(peek, path)
    last.start("enter").result(SOON)
    turn.result(SOON)
