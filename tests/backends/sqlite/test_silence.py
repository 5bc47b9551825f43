"""A file that another process keeps locked: no call waits longer than promised."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock import StoreUnavailable
from interlock.drive import now
from interlock.model import guard

from ...support.metronome import lateness
from ...support.worlds import OVERRUN, Timed, World
from .raw import ask, occupied, queue, until

NAMES = "abcdefgh"


def held(path: Path) -> list[str]:
    return [name for (name,) in ask(path, "SELECT name FROM records WHERE name != ''")]


@pytest.mark.parametrize("number", [2, 8])
def test_multilock_ends_in_time(world: World, url: str, path: Path, number: int) -> None:
    names = NAMES[:number]
    hold = world.do(world.connect(url).lock(names[-1]).acquire)
    client = world.connect(url)
    waiting = Timed(world, lambda: client.multilock(*names, lease=60).acquire(timeout=0.5))
    until(lambda: len(queue(path)) == 1)

    with occupied(path):
        assert waiting.fails() < 0.5 + OVERRUN

    until(lambda: held(path) == [names[-1]])  # the keeper pays what is owed
    world.do(hold.release)


def test_multihold_is_released_in_the_time_of_one(world: World, url: str, path: Path) -> None:
    multihold = world.do(world.connect(url).multilock(*NAMES, lease=60).acquire)

    with occupied(path):
        assert Timed(world, multihold.release).fails(StoreUnavailable) < 5.5

    until(lambda: held(path) == [])


def test_one_lock_ends_in_time(world: World, url: str, path: Path) -> None:
    client = world.connect(url)
    world.do(world.do(client.lock("first").acquire).release)

    with occupied(path):
        for timeout in (0, 0.5):
            taking = client.lock("k", timeout=timeout).acquire
            assert Timed(world, taking).fails(StoreUnavailable) < timeout + OVERRUN


def test_silence_is_told_to_each_of_many_groups_before_its_validity_ends(
    world: World, url: str, path: Path
) -> None:
    """Each length of lease, and each kind, is renewed by itself."""
    client = world.connect(url)
    makers = [client.lock, client.mutex, client.fair_lock, client.fenced_lock]

    def scene() -> float:
        holds = [
            world.do(makers[number % 4](f"k{number}", lease=1.5 + number / 50).acquire)
            for number in range(40)
        ]
        heard: dict[str, float] = {}
        for hold in holds:
            hold.on_lost(lambda lost: heard.setdefault(lost.name, now()))
        first = holds[-1]._lease.until
        until(lambda: holds[-1]._lease.until > first)  # all of them are being kept
        with occupied(path):
            until(lambda: len(heard) == len(holds))
        late: list[float] = [heard[hold.name] - hold._lease.until for hold in holds]
        return max(late)

    assert lateness(scene, guard(1.5) / 2) < 0
