"""What one process does to shares and latches is heard by those who wait in another.

The waiters of these tests never ask of their own accord: who is not woken fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import interlock
from interlock.backends.sqlite.transport import records
from interlock.errors import StoreUnavailable
from interlock.recipes import lock as recipe

from ...processes.people import Program
from ...support.worlds import World
from .raw import ask, queue, until

SHARES = str(Path(__file__).parent / "programs" / "shares")


@pytest.fixture(autouse=True)
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiters of this process ask again only when they are woken, and live all the same."""
    monkeypatch.setattr(recipe, "POLL_CAP", 1000.0)
    monkeypatch.setattr(records, "ALIVE_MS", 1_000_000)


class Neighbour(Program):
    """Another process."""

    def does(self, *words: object) -> None:
        self.tell(*words)
        self.expect("done")


@pytest.fixture
def neighbour(url: str) -> Iterator[Neighbour]:
    with Neighbour(SHARES, url) as neighbour:
        yield neighbour


@pytest.fixture
def begin(world: World, path: Path) -> Callable[[Callable[[], Any]], Future[Any]]:
    """Starts what has to wait; answers once it stands in the queue."""

    def begin(action: Callable[[], Any]) -> Future[Any]:
        before = len(queue(path))
        outcome = world.start(action)
        until(lambda: len(queue(path)) == before + 1)
        assert not outcome.done()
        return outcome

    return begin


Begin = Callable[[Callable[[], Any]], "Future[Any]"]


def test_a_latch_that_is_down_wakes_everybody_in_every_process(
    world: World, url: str, begin: Begin, neighbour: Neighbour
) -> None:
    neighbour.does("set", "k", 2)
    waiting = [begin(world.connect(url).latch("k").wait) for _ in range(3)]

    neighbour.does("count", "k")
    assert not any(each.done() for each in waiting)
    neighbour.does("count", "k")

    assert [each.result(10) for each in waiting] == [True] * 3


def test_a_permit_that_comes_back_reaches_the_first_who_waits(
    world: World, url: str, begin: Begin, neighbour: Neighbour
) -> None:
    neighbour.does("permits", "k", 2)
    for _ in range(2):
        neighbour.does("permit", "k")
    first, second = (begin(world.connect(url).semaphore("k").acquire) for _ in range(2))

    neighbour.does("release")
    hold = first.result(10)
    assert not second.done()
    neighbour.does("release")

    for each in (hold, second.result(10)):
        world.do(each.release)


def test_more_permits_reach_those_who_wait(
    world: World, url: str, begin: Begin, neighbour: Neighbour
) -> None:
    neighbour.does("permits", "k", 1)
    neighbour.does("permit", "k")
    waiting = [begin(world.connect(url).semaphore("k").acquire) for _ in range(2)]

    neighbour.does("permits", "k", 3)

    for each in waiting:
        world.do(each.result(10).release)


@pytest.mark.parametrize("how", ["release", "downgrade"])
def test_readers_hear_of_a_writer_that_lets_them_in(
    world: World, url: str, begin: Begin, neighbour: Neighbour, how: str
) -> None:
    neighbour.does("write", "k")
    waiting = [begin(world.connect(url).rwlock("k").read().acquire) for _ in range(2)]

    neighbour.does(how)

    for each in waiting:
        world.do(each.result(10).release)


def test_a_writer_hears_of_the_last_reader(
    world: World, url: str, begin: Begin, neighbour: Neighbour
) -> None:
    for _ in range(2):
        neighbour.does("read", "k")
    waiting = begin(world.connect(url).rwlock("k").write().acquire)

    neighbour.does("release")
    assert not waiting.done()
    neighbour.does("release")

    world.do(waiting.result(10).release)


def test_a_wait_for_a_latch_costs_no_questions_while_others_use_the_file(
    world: World, url: str, path: Path, begin: Begin, neighbour: Neighbour
) -> None:
    neighbour.does("set", "k", 1)
    waiting = begin(world.connect(url).latch("k").wait)
    seen = ask(path, "SELECT alive_ms FROM queue")

    for _ in range(5):
        neighbour.does("read", "j")
        neighbour.does("release")

    assert ask(path, "SELECT alive_ms FROM queue") == seen
    neighbour.does("count", "k")
    assert waiting.result(10) is True


def _semaphore(client: Any, weight: int) -> Any:
    return client.semaphore("k", permits=2, weight=weight)


def _rwlock(client: Any, weight: int) -> Any:
    return client.rwlock("k").write() if weight == 2 else client.rwlock("k").read()


@pytest.mark.parametrize("share", [_semaphore, _rwlock])
def test_a_client_that_closes_while_it_waits_lets_those_behind_it_in(
    world: World, url: str, begin: Begin, share: Callable[[Any, int], Any]
) -> None:
    holder, leaver, waiter = (world.connect(url) for _ in range(3))
    hold = world.do(share(holder, 1).acquire)
    leaving = begin(share(leaver, 2).acquire)
    waiting = begin(share(waiter, 1).acquire)

    world.close_client(leaver)

    world.do(waiting.result(10).release)
    with pytest.raises(StoreUnavailable, match="closed"):
        leaving.result(10)
    world.do(hold.release)


def test_permits_are_never_exceeded_by_several_processes(url: str, path: Path) -> None:
    with ExitStack() as stack:
        crowd = [stack.enter_context(Neighbour(SHARES, url)) for _ in range(4)]
        crowd[0].does("permits", "k", 3)
        for each in crowd[:3]:
            each.does("permit", "k")
        crowd[3].tell("permit", "k")
        until(lambda: len(queue(path)) == 1)

        with interlock.connect(url) as client:
            assert client.semaphore("k").acquire(blocking=False) is None
            assert client.semaphore("k").available() == 0

        crowd[1].does("release")
        crowd[3].expect("done")
        assert ask(path, "SELECT sum(weight) FROM records WHERE name = 'k'") == [(3,)]
