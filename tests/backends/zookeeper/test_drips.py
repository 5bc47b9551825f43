"""Answers that arrive byte by byte: every deadline counts from the question."""

from __future__ import annotations

import queue as queues
from typing import Any

import pytest

from interlock import InterlockError, StoreError, StoreUnavailable
from interlock.drive import now
from tests.support.frames import ZkProxy

from ...support.worlds import World
from .scenes import SOON, Departure, Waiter, eventually, kazoo_of, owners, queue, stands

pytestmark = [pytest.mark.server, pytest.mark.slow]

#: Seconds that a call may take longer than its caller wants to wait, and what a loaded machine
#: may add.
LATE = 2.0 + 0.5

#: Seconds between two bytes: the shortest answer takes longer than any deadline of these tests.
DRIP = 0.3


def seconds_of(action: Any) -> float:
    """How long something takes that fails for want of an answer."""
    began = now()
    with pytest.raises(StoreError):
        action()
    return now() - began


@pytest.mark.parametrize("timeout", [0.0, 0.5])
def test_acquire_is_over_in_time(
    zk_proxy: ZkProxy, world: World, zk_path: str, timeout: float
) -> None:
    client = world.connect(zk_proxy.url(zk_path))
    world.do(world.do(client.lock("k").acquire).release)
    zk_proxy.drip(DRIP)

    took = seconds_of(lambda: world.do(lambda: client.lock("k").acquire(timeout=timeout)))

    assert took < timeout + LATE
    zk_proxy.drip()


@pytest.mark.parametrize("timeout", [0.0, 0.5])
def test_acquire_that_has_to_connect_first_is_over_in_time(
    zk_proxy: ZkProxy, world: World, zk_path: str, timeout: float
) -> None:
    client = world.connect(zk_proxy.url(zk_path))
    zk_proxy.drip(DRIP)

    took = seconds_of(lambda: world.do(lambda: client.lock("k").acquire(timeout=timeout)))

    assert took < timeout + LATE
    zk_proxy.drip()


def test_loss_is_told_before_the_servers_free_the_lock(
    zk_proxy: ZkProxy, world: World, zk_path: str, peek: Any
) -> None:
    client = world.connect(f"{zk_proxy.url(zk_path)}?session_timeout=2")
    hold = world.do(client.lock("k").acquire)
    told: queues.Queue[float] = queues.Queue()
    hold.on_lost(lambda _: told.put(now()))
    gone = Departure(peek, f"/k/{queue(peek)[0]}")

    zk_proxy.drip(DRIP)

    heard = told.get(timeout=SOON)
    assert heard <= hold._lease.until
    assert queue(peek)
    zk_proxy.drip()  # until now greetings, though never answered in time, have kept the session
    assert heard < gone.wait()


def test_close_is_over_in_time(zk_proxy: ZkProxy, world: World, zk_path: str) -> None:
    client = world.connect(zk_proxy.url(zk_path))
    world.do(client.lock("k").acquire)
    zk_proxy.drip(DRIP)

    began = now()
    world.close_client(client)

    assert now() - began < LATE
    zk_proxy.drip()


def test_close_of_a_client_that_is_connecting_is_over_in_time(
    zk_proxy: ZkProxy, world: World, zk_path: str
) -> None:
    client = world.connect(zk_proxy.url(zk_path))
    zk_proxy.drip(DRIP)
    connecting = world.start(client.lock("k").acquire)
    eventually(lambda: zk_proxy.connects, "it does not connect")

    began = now()
    world.close_client(client)

    assert now() - began < LATE
    assert isinstance(connecting.exception(SOON), InterlockError)
    zk_proxy.drip()


def long_directory(peek: Any) -> str:
    """A name whose directory is too long to be listed drop by drop."""
    for number in range(200):
        peek.create(f"/long/child-{number}", makepath=True)
    return "long"


def test_heartbeats_go_on_while_half_an_answer_is_here(
    zk_proxy: ZkProxy, world: World, zk_path: str, peek: Any
) -> None:
    client = world.connect(f"{zk_proxy.url(zk_path)}?session_timeout=6")
    name = long_directory(peek)
    world.do(world.do(client.lock("k").acquire).release)
    zk_proxy.drip(0.02)

    world.start(lambda: client.inspect(name))
    eventually(lambda: "getChildren" in zk_proxy.requests, "it was not asked")
    zk_proxy.mark()

    eventually(lambda: zk_proxy.pings, "no heartbeat", within=5)
    assert kazoo_of(client).connected
    zk_proxy.drip()


def test_answer_that_does_not_become_whole_costs_a_connection_and_not_the_session(
    zk_proxy: ZkProxy, world: World, zk_path: str, zk_url: str, peek: Any
) -> None:
    holder = world.connect(zk_url)
    hold, name = world.do(holder.lock("k").acquire), long_directory(peek)
    waiter = Waiter(world, f"{zk_proxy.url(zk_path)}?session_timeout=6")
    session = kazoo_of(waiter.client).client_id
    everybody = owners(peek)
    zk_proxy.drip(0.02)

    asking = world.start(lambda: waiter.client.inspect(name))
    eventually(lambda: not kazoo_of(waiter.client).connected, "it reads on", within=6)
    zk_proxy.drip()

    assert isinstance(asking.exception(SOON), StoreUnavailable)
    eventually(lambda: kazoo_of(waiter.client).connected, "it does not come back")
    assert kazoo_of(waiter.client).client_id == session
    stands(peek, everybody)
    world.do(hold.release)
    waiter.leave()
