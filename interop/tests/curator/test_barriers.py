"""Barriers and numbers of Curator, with participants of both sides.

Ours are of the harness (see `participants`): Interlock has no face for them.
"""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, TypeVar

import pytest

from interlock.steps import Steps
from tests.support.eventually import eventually
from tests.support.worlds import World
from tests.support.zookeepers import ZooKeeperServer

from ...harness import participants as ours
from ...harness.foreign import SOON
from ...harness.matrix import meets
from ...harness.peers import Actor

#: Recipes without a face of ours have no cells in the table.
pytestmark = meets("Curator", "barriers and numbers", "none", direction=())

R = TypeVar("R")

#: How many numbers each of those adds who add at the same time.
ADDED = 25


class Ours:
    """A client that runs the steps of a participant."""

    def __init__(self, world: World, url: str) -> None:
        self._world, self._client = world, world.connect(url)

    def start(self, steps: Steps[R]) -> Future[R]:
        return self._world.start(lambda: self._client._session.run(steps))

    def do(self, steps: Steps[R]) -> R:
        return self.start(steps).result(SOON)


@pytest.fixture
def python(world: World, url: str) -> Ours:
    return Ours(world, url)


# --- DistributedBarrier -----------------------------------------------------------------------


def test_java_waits_before_our_barrier(python: Ours, java: Actor, path: str) -> None:
    python.do(ours.set_barrier(path))
    assert java.ask("barrier", "wait", path, ms=10) is False
    passing = java.start("barrier", "wait", path)
    eventually(lambda: java.parked)
    python.do(ours.remove_barrier(path))
    assert passing.result(SOON) is True


def test_we_wait_before_javas_barrier(
    python: Ours, java: Actor, path: str, zookeeper: ZooKeeperServer
) -> None:
    java.ask("barrier", "set", path)
    passing = python.start(ours.pass_barrier(path))
    eventually(lambda: path in zookeeper.ask("wchp").split())
    assert not passing.done()
    java.ask("barrier", "remove", path)
    passing.result(SOON)


def test_either_side_may_set_and_remove_what_is_set_or_removed(
    python: Ours, java: Actor, path: str
) -> None:
    for _ in range(2):
        python.do(ours.set_barrier(path))
        java.ask("barrier", "set", path)
    java.ask("barrier", "remove", path)
    python.do(ours.remove_barrier(path))
    python.do(ours.pass_barrier(path))
    assert java.ask("barrier", "wait", path, ms=0) is True


# --- numbers ----------------------------------------------------------------------------------

#: Of each kind: how many bytes it has, and what Java answers when asked for it.
SIZES = {"count": 4, "long": 8}


def read_by(java: Actor, kind: str, path: str) -> int:
    told = java.ask(kind, "get", path)
    return int(told["after"] if kind == "long" else told)


@pytest.mark.parametrize("number", [0, 7, -2, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("kind", SIZES)
def test_numbers_are_the_same_bytes_on_both_sides(
    kind: str, number: int, python: Ours, java: Actor, path: str, peek: Any
) -> None:
    mine, javas = f"{path}/ours", f"{path}/javas"
    python.do(ours.write_number(mine, SIZES[kind], number))
    java.ask(kind, "set", javas, value=number)
    assert peek.get(mine)[0] == peek.get(javas)[0]
    assert python.do(ours.read_number(javas, SIZES[kind])) == number
    assert read_by(java, kind, mine) == number


def test_java_follows_a_count_that_we_set(python: Ours, java: Actor, path: str) -> None:
    java.ask("count", "set", path, value=1)
    python.do(ours.write_number(path, 4, 5))
    eventually(lambda: java.ask("count", "get", path) == 5)
    assert java.ask("count", "try_set", path, value=6) is True
    assert python.do(ours.read_number(path, 4)) == 6


def test_both_sides_add_to_one_number_and_none_is_lost(
    world: World, url: str, java: Actor, path: str
) -> None:
    pythons = [Ours(world, url) for _ in range(2)]
    javas = [java.start("long", "add", path, value=1) for _ in range(ADDED)]
    mine = [python.start(ours.add_number(path, 8, 1)) for python in pythons for _ in range(ADDED)]
    sums = [turn.result(SOON)["after"] for turn in javas] + [turn.result(SOON) for turn in mine]
    assert sorted(sums) == list(range(1, 3 * ADDED + 1))
    assert read_by(java, "long", path) == 3 * ADDED
