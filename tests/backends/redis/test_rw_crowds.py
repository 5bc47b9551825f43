"""Very many readers of one lock: nobody who leaves or asks looks at all of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from interlock.backends.redis.scripts import script
from interlock.model import Busy

from ...support.eventually import eventually
from ...support.worlds import World
from .readwrite import CHANNEL, LEASE, Desk, hold, javas, reads, writes
from .watching import litter, messages, tombs

pytestmark = pytest.mark.server

#: More than this are a crowd.
CROWD = 64

#: How many leave together: tasks are cheap, and threads have a connection each.
TOGETHER = {"tasks": 2000, "threads": 200}


@pytest.fixture
def desk(world: World, redis_url: str, peek: Any) -> Desk:
    return Desk(world, redis_url, peek)


def crowd(peek: Any, size: int, lease: float = LEASE, client: int = 7) -> list[str]:
    """So many readers of ours, as if each had asked."""
    owners = [reads(number, client) for number in range(size)]
    pipe = peek.pipeline()
    pipe.hset("k", mapping={"mode": "read"} | dict.fromkeys(owners, "1"))
    pipe.pexpire("k", round(lease * 1000))
    for owner in owners:
        pipe.set(hold(owner), "1", px=round(lease * 1000))
    pipe.execute()
    return owners


def die(peek: Any, owners: list[str]) -> None:
    """Let the leases of readers end."""
    assert peek.delete(*map(hold, owners)) == len(owners)


def test_a_crowd_means_the_same_to_each_script() -> None:
    for name in ("rwlock_leave", "rwlock_attempt"):
        assert re.findall(rf"\b{CROWD}\b", script(name).text)


def test_of_very_many_who_leave_together_nobody_fails(
    world: World, redis_url: str, peek: Any
) -> None:
    clients = [world.connect(redis_url) for _ in range(4)]
    count = TOGETHER[world.name]
    taking = [world.start(clients[n % 4].rwlock("k").read().acquire) for n in range(count)]
    holds = [each.result(30) for each in taking]
    assert peek.hlen("k") == count + 1
    leaving = [world.start(each.release) for each in holds]
    assert [each.exception(30) for each in leaving] == [None] * count
    assert not any(each.lost for each in holds)
    assert litter(peek) == set()


# --- what it costs -------------------------------------------------------------------------------


def commands(peek: Any) -> int:
    """How many commands the server has executed, those of scripts included."""
    stats = peek.info("commandstats")
    return sum(each["calls"] for name, each in stats.items() if name != "cmdstat_info")


def cost(desk: Desk, size: int, action: Callable[[list[str]], object]) -> int:
    """What an action costs the server in a crowd of some size."""
    desk.peek.flushall()
    owners = crowd(desk.peek, size)
    before = commands(desk.peek)
    action(owners)
    return commands(desk.peek) - before


ACTIONS: dict[str, Callable[[Desk, list[str]], object]] = {
    "leaving": lambda desk, owners: desk.release(owners[0]),
    "withdrawing": lambda desk, owners: desk.withdraw(owners[-1]),
    "a writer that is refused": lambda desk, owners: desk.ask(writes(1)),
    "a writer that waits": lambda desk, owners: desk.ask(writes(1), waits=True),
}


@pytest.mark.parametrize("action", sorted(ACTIONS))
def test_what_one_costs_does_not_grow_with_the_crowd(desk: Desk, action: str) -> None:
    desk.ask(reads(1))  # the scripts are known to the server
    desk.ask(writes(2))
    desk.release(reads(1))
    sizes = (2 * CROWD, 200, 2000)
    costs = [cost(desk, size, lambda owners: ACTIONS[action](desk, owners)) for size in sizes]
    assert max(costs) < 1.5 * min(costs)
    assert max(costs) < CROWD + 25


def test_a_reader_behind_a_writer_that_waits_costs_as_little(desk: Desk) -> None:
    def ask(owners: list[str]) -> None:
        with desk.subscribed(1, 2):
            assert isinstance(desk.ask(writes(1), waits=True), Busy)
            assert isinstance(desk.ask(reads(1, client=2), waits=True), Busy)

    ask(crowd(desk.peek, 2))
    small, large = (cost(desk, size, ask) for size in (200, 2000))
    assert large <= 1.5 * small


# --- what it means -------------------------------------------------------------------------------


def test_the_last_of_a_crowd_frees_the_lock_for_who_waits(desk: Desk) -> None:
    owners = crowd(desk.peek, 2 * CROWD)
    with desk.subscribed(1) as subscriber:
        desk.waits(writes(1))
        for owner in owners[:-1]:
            assert desk.release(owner)
        assert subscriber.heard() == []
        assert desk.release(owners[-1])
        assert subscriber.heard() == [writes(1)]
    assert desk.holders() == [f"{writes(1)}:write"]


def test_a_crowd_of_the_dead_goes_with_the_last_who_lived(desk: Desk) -> None:
    """Java is told, and what of ours waits is let in."""
    *dead, last = crowd(desk.peek, 4 * CROWD)
    die(desk.peek, dead)
    with messages(desk.peek, CHANNEL) as published, desk.subscribed(1):
        assert isinstance(desk.ask(writes(1)), Busy)
        assert desk.release(last)
        assert published() == [(CHANNEL, "0")]
    assert litter(desk.peek) == set()


@pytest.mark.parametrize("alive", [0, 1, 2 * CROWD])
def test_who_asks_finds_out_who_is_dead(desk: Desk, alive: int) -> None:
    owners = crowd(desk.peek, 4 * CROWD)
    die(desk.peek, owners[alive:])
    got = desk.gets(writes(1))
    assert got == (alive == 0)
    assert got or len(desk.holders()) in (alive, 4 * CROWD)  # or none of the dead was looked at


def test_the_end_of_the_lock_is_never_before_a_lease_and_exact_without_a_crowd(
    desk: Desk,
) -> None:
    owners = crowd(desk.peek, CROWD + 10, lease=20.0)
    desk.ask(reads(1), 40.0)
    assert desk.left() == 40.0
    assert desk.release(reads(1))
    assert desk.left() == 40.0  # of a crowd nobody knows whose lease is the longest
    for owner in owners[:20]:
        assert desk.release(owner)
    assert desk.left() == 20.0
    assert not desk.release(owners[0])


def test_a_reader_of_a_crowd_that_is_withdrawn_stays_refused(desk: Desk) -> None:
    owners = crowd(desk.peek, 2 * CROWD)
    assert desk.withdraw(owners[5], "stuck")
    assert owners[5] not in desk.holders()
    assert not desk.peek.exists(hold(owners[5]))
    assert tombs(desk.peek) == {f"interlock:tomb:{{k}}:{owners[5]}"}
    assert not desk.withdraw(owners[5])


def test_java_in_a_crowd_is_heard_when_it_is_the_last(desk: Desk) -> None:
    """It may not have been among those that were looked at before."""
    owners = crowd(desk.peek, 3 * CROWD)
    desk.java_reads(javas())
    waiting = desk.waiting(writes(1))
    eventually(lambda: desk.queue() == [writes(1)])
    for owner in owners:
        assert desk.release(owner)
    assert desk.holders() == [javas()]
    desk.java_stops_to_read(javas())
    waiting.result(5)
