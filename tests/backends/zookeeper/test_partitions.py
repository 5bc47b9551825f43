"""Networks that fall silent or are cut, while somebody holds a lock and while somebody waits."""

from __future__ import annotations

import queue as queues
from typing import Any

import pytest

from interlock import LockLost
from interlock.drive import now
from interlock.events import Lost, Parked, Renewed, Suspended
from interlock.recipes import lock as recipe
from tests.support.frames import ZkProxy
from tests.support.zookeepers import ZooKeeperServer

from ...support.worlds import World
from .scenes import SOON, Departure, Recorder, Waiter, cut_off, eventually, owners, queue, stands

pytestmark = pytest.mark.server

#: Seconds in which a cut is told; a question that nobody answers is known to fail a second later.
AT_ONCE = 0.9

#: Seconds of a session in which a silence is noticed: the longer, the wider the margins.
T = 2.0


@pytest.fixture
def wakes_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody asks again without having been woken."""
    monkeypatch.setattr(recipe, "POLL_CAP", 600.0)


# --- while somebody holds -------------------------------------------------------------------


@pytest.mark.slow
def test_silent_holder_knows_before_anybody_else_can_have_the_lock(
    zk_proxy: ZkProxy,
    world: World,
    zk_path: str,
    zk_url: str,
    peek: Any,
    record_property: Any,
) -> None:
    client = world.connect(f"{zk_proxy.url(zk_path)}?session_timeout={T}")
    block = world.hold_block(client.lock("k"))
    hold = block.entered.result(SOON)
    told: queues.Queue[float] = queues.Queue()
    hold.on_lost(lambda _: told.put(now()))
    ended: queues.Queue[float] = queues.Queue()
    block.outcome.add_done_callback(lambda _: ended.put(now()))
    behind = Waiter(world, zk_url)
    gone = Departure(peek, f"/k/{queue(peek)[0]}")

    zk_proxy.silence()
    heard = told.get(timeout=SOON)
    assert hold.lost
    if world.name == "threads":
        block.leave()  # a task is cancelled without being asked
    left = ended.get(timeout=SOON)
    freed = gone.wait()

    assert heard < freed
    assert left < freed
    assert hold._lease.until < freed
    record_property("margin", freed - heard)
    print(f"margin: {freed - heard:.3f} s")  # noqa: T201 - of interest to whoever looks
    zk_proxy.silence(False)
    assert isinstance(block.outcome.exception(SOON), LockLost)
    behind.leave()
    eventually(lambda: queue(peek) == [], "a node was left")


def test_holder_that_is_cut_off_for_a_moment_doubts_and_goes_on(
    zk_proxy: ZkProxy, world: World, zk_path: str, peek: Any
) -> None:
    recorder = Recorder()
    client = world.connect(zk_proxy.url(zk_path), observer=recorder)
    hold = world.do(client.lock("k").acquire)
    node = queue(peek)

    cut_off(zk_proxy, client)
    doubt = recorder.hear(Suspended, within=AT_ONCE)
    assert (doubt.owner, doubt.until) == (hold.owner, hold._lease.until)
    assert hold.suspended
    zk_proxy.refuse(False)

    assert recorder.hear(Renewed).until > doubt.until
    assert not hold.suspended
    assert not hold.lost
    assert queue(peek) == node
    world.do(hold.release)
    assert (queue(peek), recorder.count(Lost), recorder.count(Suspended)) == ([], 0, 1)


@pytest.mark.slow
def test_greeting_that_is_not_answered_does_not_cost_the_session(
    zk_proxy: ZkProxy, world: World, zk_path: str, peek: Any
) -> None:
    """A server that is just starting may never answer it, and everybody would wait for that."""
    recorder = Recorder()
    client = world.connect(f"{zk_proxy.url(zk_path)}?session_timeout=6", observer=recorder)
    hold = world.do(client.lock("k").acquire)

    zk_proxy.hold_back(b"<connect>", 60)
    zk_proxy.cut()
    recorder.hear(Suspended)

    recorder.hear(Renewed)
    assert zk_proxy.fired == 1
    assert not hold.lost
    world.do(hold.release)
    assert queue(peek) == []


@pytest.mark.slow
def test_silence_that_ends_in_time_costs_nothing(
    zk_proxy: ZkProxy, world: World, zk_path: str, peek: Any
) -> None:
    """The keeper's question is not answered, then the connection is given up; both are doubts."""
    recorder = Recorder()
    client = world.connect(f"{zk_proxy.url(zk_path)}?session_timeout=6", observer=recorder)
    hold = world.do(client.lock("k").acquire)

    zk_proxy.silence()
    recorder.hear(Suspended)
    zk_proxy.silence(False)

    recorder.hear(Renewed)
    assert not hold.lost
    world.do(hold.release)
    assert (queue(peek), recorder.count(Lost)) == ([], 0)


def test_holder_learns_at_once_that_its_node_was_taken_away(
    world: World, zk_url: str, peek: Any
) -> None:
    """Within its session: a watch says so, long before a renewal is due."""
    recorder = Recorder()
    client = world.connect(f"{zk_url}?session_timeout=60", observer=recorder)
    hold = world.do(client.lock("k").acquire)
    world.do(
        lambda: hold.on_release_requested(lambda _: None)
    )  # so that the keeper looks at the node now
    recorder.hear(Renewed)

    peek.delete(f"/k/{queue(peek)[0]}")

    recorder.hear(Lost, within=10)
    assert hold.lost


# --- while somebody waits -------------------------------------------------------------------


def test_waiter_that_is_cut_off_keeps_its_place_and_gets_what_came_free_meanwhile(
    zk_proxy: ZkProxy, world: World, zk_path: str, zk_url: str, peek: Any, wakes_only: None
) -> None:
    first = world.do(world.connect(zk_url).lock("k").acquire)
    second = Waiter(world, zk_proxy.url(zk_path))
    third = Waiter(world, zk_url)
    place = queue(peek)[1]

    cut_off(zk_proxy, second.client)
    world.do(first.release)
    stands(peek, [second.owner, third.owner])
    assert not second.granted
    zk_proxy.refuse(False)

    assert not second.hold().lost
    assert queue(peek)[0] == place
    second.leave()
    third.leave()


def test_waiter_that_was_cut_off_watches_again(
    zookeeper: ZooKeeperServer,
    zk_proxy: ZkProxy,
    world: World,
    zk_path: str,
    zk_url: str,
    peek: Any,
    wakes_only: None,
) -> None:
    first = world.do(world.connect(zk_url).lock("k").acquire)
    second = Waiter(world, zk_proxy.url(zk_path))
    before, place = queue(peek)
    watched = f"{zk_path}/k/{before}"
    assert watched in zookeeper.ask("wchp")

    cut_off(zk_proxy, second.client)
    eventually(lambda: watched not in zookeeper.ask("wchp"), "the watch is still there")
    zk_proxy.refuse(False)
    eventually(lambda: watched in zookeeper.ask("wchp"), "it is not watched again")
    assert queue(peek) == [before, place]
    world.do(first.release)

    assert not second.hold().lost
    assert queue(peek) == [place]
    second.leave()


@pytest.mark.parametrize("times", [1, 5])
def test_waiter_behind_a_flapping_network_keeps_its_place(
    zk_proxy: ZkProxy,
    world: World,
    zk_path: str,
    zk_url: str,
    peek: Any,
    wakes_only: None,
    times: int,
) -> None:
    first = world.do(world.connect(zk_url).lock("k").acquire)
    second = Waiter(world, zk_proxy.url(zk_path))
    line = queue(peek)

    for count in range(times):
        zk_proxy.cut()
        second.recorder.hear(Parked, count + 2)

    assert queue(peek) == line
    world.do(first.release)
    second.leave()
    assert queue(peek) == []


def test_waiter_whose_node_was_taken_away_goes_to_the_end(
    world: World, zk_url: str, peek: Any
) -> None:
    first = world.do(world.connect(zk_url).lock("k").acquire)
    second, third = Waiter(world, zk_url), Waiter(world, zk_url)
    second_node = queue(peek)[1]

    peek.delete(f"/k/{second_node}")
    stands(peek, [first.owner, third.owner, second.owner])

    assert second_node not in queue(peek)
    world.do(first.release)
    third.leave()
    second.leave()
    assert owners(peek) == []
