"""Read/write locks in Curator's layout: names, order, who is watched, what is seen."""

from __future__ import annotations

import re
from typing import Any
from uuid import uuid4

import pytest

from interlock import StoreError
from interlock.backends.zookeeper import layout
from interlock.backends.zookeeper.layout import first_readers
from tests.support.frames import ZkProxy
from tests.support.zookeepers import ZooKeeperServer, awaited

from ...support.worlds import World

pytestmark = pytest.mark.server

#: A UUID of version 8, which no Java makes.
OURS = "_c_[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}-"

JAVAS = "_c_6e3814a1-e847-452b-a982-45baf93a1df2-"


def nodes(peek: Any) -> list[str]:
    """The nodes of the lock, without their UUIDs, by their numbers."""
    children = peek.get_children("/cache")
    return sorted((each[40:] for each in children), key=lambda node: node[-10:])


def java(peek: Any, mark: str) -> str:
    """A node as Curator makes it."""
    path: str = peek.create(f"/cache/_c_{uuid4()}-{mark}", b"10.0.0.7", None, True, True, True)
    return path


def queued(peek: Any, count: int) -> None:
    """Wait until so many stand in the directory."""
    awaited(lambda: len(nodes(peek)) == count, 20, lambda: f"not {count}: {nodes(peek)}")


def introduced(peek: Any) -> None:
    """Wait until a client has said who it is, which it does in its own time."""
    clients = "/interlock:clients"
    awaited(
        lambda: peek.exists(clients) and peek.get_children(clients),
        20,
        lambda: "nobody was introduced",
    )


def tries(world: World, side: Any) -> Any:
    return world.do(lambda: side.acquire(blocking=False))


# --- names and costs ------------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "mark"), [("read", "__READ__"), ("write", "__WRIT__")])
def test_node_is_named_and_made_as_curators_is(
    world: World, zk_url: str, peek: Any, mode: str, mark: str
) -> None:
    hold = world.do(getattr(world.connect(zk_url).rwlock("cache"), mode)().acquire)

    (node,) = peek.get_children("/cache")
    data, stat = peek.get(f"/cache/{node}")

    assert re.fullmatch(f"{OURS}{mark}0000000000", node)
    assert data == b""
    assert stat.ephemeralOwner != 0
    assert hold.token == stat.czxid


@pytest.mark.parametrize("mode", ["read", "write"])
def test_free_side_costs_one_round_trip(
    zk_proxy: ZkProxy, world: World, zk_path: str, peek: Any, mode: str
) -> None:
    side = getattr(world.connect(zk_proxy.url(zk_path)).rwlock("cache"), mode)()
    world.do(world.do(side.acquire).release)
    introduced(peek)
    zk_proxy.delay(up=0.02, down=0.02)
    zk_proxy.mark()

    hold = world.do(side.acquire)

    assert (zk_proxy.requests, zk_proxy.round_trips()) == (["create2", "getChildren"], 1)
    zk_proxy.mark()
    world.do(hold.release)
    assert zk_proxy.requests == ["delete"]


# --- with Java in the same directory ----------------------------------------------------------


def test_reader_shares_with_javas_readers(world: World, zk_url: str, peek: Any) -> None:
    java(peek, "__READ__")
    cache = world.connect(zk_url).rwlock("cache")

    assert tries(world, cache.read()) is not None
    assert tries(world, world.connect(zk_url).rwlock("cache").write()) is None
    assert nodes(peek) == ["__READ__0000000000", "__READ__0000000001"]


def test_writer_waits_for_every_reader_of_java(world: World, zk_url: str, peek: Any) -> None:
    first, second = java(peek, "__READ__"), java(peek, "__READ__")
    writing = world.start(world.connect(zk_url).rwlock("cache").write().acquire)
    queued(peek, 3)

    peek.delete(second)
    assert tries(world, world.connect(zk_url).rwlock("cache").write()) is None
    assert not writing.done()
    peek.delete(first)

    assert writing.result(20).mode == "write"


def test_writer_of_java_that_waits_holds_readers_back(
    world: World, zk_url: str, peek: Any
) -> None:
    java(peek, "__READ__")
    waiter = java(peek, "__WRIT__")
    cache = world.connect(zk_url).rwlock("cache")
    assert tries(world, cache.read()) is None

    reading = world.start(cache.read().acquire)
    queued(peek, 3)
    peek.delete(waiter)

    assert reading.result(20).mode == "read"


def test_reader_watches_the_nearest_writer_before_it(
    world: World, zk_url: str, zookeeper: ZooKeeperServer, peek: Any, zk_path: str
) -> None:
    java(peek, "__WRIT__")
    nearest = java(peek, "__WRIT__")
    java(peek, "__READ__")
    reading = world.start(world.connect(zk_url).rwlock("cache").read().acquire)

    def watched() -> list[str]:
        return re.findall(rf"{zk_path}/cache/\S+", zookeeper.ask("wchp"))

    awaited(watched, 20, lambda: "nobody is watched")
    assert watched() == [zk_path + nearest]
    for each in peek.get_children("/cache"):
        if "__WRIT__" in each:
            peek.delete(f"/cache/{each}")
    assert reading.result(20).mode == "read"


def test_stray_child_stops_writers_and_no_reader(world: World, zk_url: str, peek: Any) -> None:
    """As in Java; but Java's writer would wait for ever."""
    peek.create("/cache/!x", makepath=True)
    cache = world.connect(zk_url).rwlock("cache")

    with pytest.raises(StoreError, match="/cache/!x"):
        world.do(lambda: cache.write().acquire(timeout=20))
    assert peek.get_children("/cache") == ["!x"]

    assert tries(world, cache.read()) is not None


def test_name_that_is_locked_cannot_be_read(world: World, zk_url: str, peek: Any) -> None:
    client = world.connect(zk_url)
    for _ in range(8):  # the server lists children in any order
        hold = world.do(client.lock("cache").acquire)
        for mode in ("read", "write"):
            with pytest.raises(StoreError, match="in use as a lock"):
                tries(world, getattr(world.connect(zk_url).rwlock("cache"), mode)())
        assert len(nodes(peek)) == 1
        world.do(hold.release)


# --- what is decided without a server ---------------------------------------------------------


def reader(number: int) -> str:
    return f"{JAVAS}__READ__{number:010}"


def writer(number: int) -> str:
    return f"{JAVAS}__WRIT__{number:010}"


@pytest.mark.parametrize(
    ("children", "seen"),
    [
        ([], ([], "write", 0)),
        ([writer(2), reader(1), reader(0)], ([reader(0), reader(1)], "read", 1)),
        ([reader(3), writer(2), writer(1)], ([writer(1)], "write", 2)),
        ([reader(4), writer(3), reader(2)], ([reader(2)], "read", 2)),
        # A writer that begins to read, or that does both, as Java's can.
        ([reader(1), writer(1), reader(2)], ([writer(1)], "write", 1)),
        (["locks", reader(1), "!x"], ([reader(1)], "read", 0)),
    ],
)
def test_those_in_front_have_it(children: list[str], seen: Any) -> None:
    assert first_readers(children) == seen
    assert first_readers(children[::-1]) == seen


def test_whoever_came_first_says_what_a_directory_is() -> None:
    lock = f"{JAVAS}lock-{2:010}"

    for later, earlier, use in ((lock, writer(1), "rwlock"), (reader(3), lock, "lock")):
        assert (
            layout.use_of_queue([later, earlier]) == layout.use_of_queue([earlier, later]) == use
        )
