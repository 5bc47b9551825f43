"""Names below names: each may be used, whatever it is called, and as whatever."""

from __future__ import annotations

from typing import Any

import pytest

from interlock import StoreMisconfigured
from tests.support.frames import ZkProxy
from tests.support.zookeepers import ZooKeeperServer

from ...support.eventually import eventually
from ...support.worlds import World
from .asked import JAVA, Connect
from .bare import bare

pytestmark = pytest.mark.server

#: Parts that come before every number in the order of a queue, those of which Curator has none
#: first; and some that look like nodes.
EARLY = ["/b", "./b", "../b", "\x01", "%", "~%", "😀", "!x", "-x", " ", "0", "00", "0000000000"]
NODES = ["lock-0000000000", "x-lock-0000000000", "0-__WRIT__0000000000", "lease-0000000000"]

#: What the parts of a semaphore, a mutex and a latch are called.
PARTS = ["locks", "leases", "count", "leased", "latch", "latch%", "kept%"]

#: How many permits a semaphore has here.
TWO = 2


def things(client: Any, name: str) -> dict[str, Any]:
    """Everything that a name can be."""
    rwlock = client.rwlock(name)
    return {
        "lock": client.lock(name),
        "mutex": client.mutex(name),
        "reader": rwlock.read(),
        "writer": rwlock.write(),
        "semaphore": client.semaphore(name, permits=TWO),
        "leased_semaphore": client.leased_semaphore(name, permits=TWO),
    }


KINDS = ["lock", "mutex", "reader", "writer", "semaphore", "leased_semaphore"]


def check_use(world: World, client: Any, name: str, kind: str) -> None:
    """A name is taken, seen and given back, and nothing else is in its way."""
    hold = world.do(things(client, name)[kind].acquire)
    info = world.do(lambda: client.inspect(name))
    assert [each.owner for each in info.holders] == [hold.owner]
    if kind in ("lock", "mutex", "writer"):
        assert world.do(lambda: things(client, name)[kind].acquire(blocking=False)) is None or (
            kind == "lock"
        )
    world.do(hold.release)


# --- names below a name that is in use ----------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", EARLY + NODES + PARTS)
def test_name_above_a_lock_may_be_used(
    world: World, connect: Connect, part: str, kind: str
) -> None:
    """The lock is held, and then was held, so that its directory is still there."""
    below = world.do(connect().lock(f"a/{part}").acquire)
    waits_behind = part == "locks" and kind in ("mutex", "semaphore", "leased_semaphore")
    if not waits_behind:  # Java's line before the permits of `a` is the queue of that very lock
        check_use(world, connect(), "a", kind)

    world.do(below.release)

    check_use(world, connect(), "a", kind)


@pytest.mark.parametrize("part", PARTS)
def test_latch_above_a_lock_may_be_used(world: World, connect: Connect, part: str) -> None:
    world.do(connect().lock(f"a/{part}").acquire)
    latch = connect().latch("a")

    assert world.do(lambda: latch.start(1))
    assert world.do(lambda: connect().inspect("a")).count == 1
    assert world.do(latch.count_down) == 0
    assert world.do(lambda: latch.wait(timeout=0))


@pytest.mark.parametrize("above", KINDS)
@pytest.mark.parametrize("part", [part for part in PARTS if part != "locks"])
def test_lock_below_a_name_that_is_held_may_be_used(
    world: World, connect: Connect, part: str, above: str
) -> None:
    hold = world.do(things(connect(), "a")[above].acquire)

    check_use(world, connect(), f"a/{part}", "lock")

    assert not hold.lost
    assert world.do(lambda: connect().inspect("a")).holders[0].owner == hold.owner
    world.do(hold.release)


def test_lock_below_a_latch_may_be_used(world: World, connect: Connect) -> None:
    latch = connect().latch("a")
    world.do(lambda: latch.start(2))
    for part in PARTS:
        check_use(world, connect(), f"a/{part}", "lock")

    assert world.do(latch.count_down) == 1


def test_everything_is_found_under_its_own_name(world: World, connect: Connect) -> None:
    client, names = connect(), ["a", *(f"a/{part}" for part in EARLY if part != "locks")]
    for name in names:
        world.do(client.lock(name).acquire)

    found = world.do(lambda: connect().locks())

    assert {info.name for info in found} == {*names}


# --- what must not be lost ----------------------------------------------------------------------


@pytest.mark.slow
def test_number_of_permits_outlives_the_lock_in_whose_directory_it_is_said(world: World) -> None:
    """The directory of a lock is removed when nobody has been in it for a while."""
    with ZooKeeperServer(system={"znode.container.checkIntervalMs": 100}) as own:
        client = world.connect(own.url())
        below = world.do(client.lock("a/count").acquire)
        world.do(world.do(client.semaphore("a", permits=TWO).acquire).release)
        probe = world.do(client.lock("probe/x").acquire)
        world.do(below.release)
        world.do(probe.release)

        reaped(own)

        assert world.do(client.semaphore("a").available) == TWO


def reaped(server: ZooKeeperServer) -> None:
    """Wait until a container that was used and left has been removed."""
    with bare(server.hosts) as peek:
        eventually(lambda: not peek.exists("/probe/x"), 20)


@pytest.mark.parametrize("part", ["locks", "leases"])
def test_lock_of_java_in_a_part_makes_no_semaphore_of_what_is_above(
    world: World, connect: Connect, peek: Any, part: str
) -> None:
    peek.create(f"/a/{part}/{JAVA}-lock-", ephemeral=True, sequence=True, makepath=True)

    check_use(world, connect(), "a", "lock")


def test_semaphore_is_still_one_when_somebody_wants_it_as_a_lock(
    world: World, connect: Connect
) -> None:
    world.do(connect().semaphore("a", permits=TWO).acquire)

    with pytest.raises(StoreMisconfigured, match="semaphore"):
        world.do(connect().lock("a").acquire)


def test_leaf_that_nobody_made_a_directory_of_is_still_told(
    world: World, connect: Connect, peek: Any
) -> None:
    peek.create("/a/0", makepath=True)

    with pytest.raises(StoreMisconfigured, match=r"waits behind .*/a/0"):
        world.do(connect().lock("a").acquire)


def test_leaf_that_becomes_a_directory_meanwhile_is_none(
    world: World, connect: Connect, zk_proxy: ZkProxy, zk_path: str, peek: Any
) -> None:
    """Whoever takes `a/0` makes its directory first."""
    peek.create("/a/0", makepath=True)
    client = world.connect(zk_proxy.url(zk_path))
    world.do(world.do(client.lock("other").acquire).release)
    zk_proxy.delay(up=0.02, down=0.02)
    zk_proxy.mark()

    taking = world.start(client.lock("a").acquire)
    eventually(lambda: "exists" in zk_proxy.requests)
    peek.create("/a/0/child", ephemeral=True)

    assert taking.result(10) is not None


def test_javas_queue_is_not_disturbed_by_names_that_curator_cannot_have(
    world: World, connect: Connect, peek: Any
) -> None:
    """Java takes every child for somebody in its queue, and sorts a strange one by its name."""
    for name in ("a//b", "a/./b", "a/\x01", "a/😀", "a/%"):
        world.do(connect().lock(name).acquire)

    assert all(child > "0000000000" for child in peek.get_children("/a"))


# --- what it costs ------------------------------------------------------------------------------


def test_directory_before_us_costs_one_round_trip(
    world: World, connect: Connect, zk_proxy: ZkProxy, zk_path: str
) -> None:
    world.do(connect().lock("a/0").acquire)
    lock = world.connect(zk_proxy.url(zk_path)).lock("a")
    world.do(world.do(lock.acquire).release)
    zk_proxy.delay(up=0.02, down=0.02)
    zk_proxy.mark()

    world.do(lock.acquire)

    assert zk_proxy.requests == ["create2", "getChildren", "sync", "exists"]
    assert zk_proxy.round_trips() == 2
