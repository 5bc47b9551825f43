"""Finding what is in use below the chroot, whoever uses it."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
from kazoo.security import make_acl

from interlock.backends.zookeeper import directory
from tests.support.frames import ZkProxy
from tests.support.zookeepers import ZooKeeperServer

from ...support.worlds import World
from .asked import JAVA, Connect

pytestmark = pytest.mark.server

SEVEN = b"\x00\x00\x00\x07"


def found(world: World, client: Any, pattern: str = "*") -> dict[str, str]:
    """Names and kinds, as an onlooker finds them."""
    return {info.name: info.kind for info in world.do(lambda: client.locks(pattern))}


def listed(world: World, client: Any) -> dict[str, str]:
    """Names and kinds, before anybody has looked at each of them."""
    return dict(
        world.do(
            lambda: client._session.run(client._session.backend.directory.names(float("inf")))
        )
    )


def stranger(peek: Any, *paths: str) -> None:
    """Nodes as somebody else makes them; a number follows."""
    for path in paths:
        peek.create(path, b"127.0.0.1", ephemeral=True, sequence=True, makepath=True)


# --- what is found ----------------------------------------------------------------------------


def test_without_a_chroot_there_is_nothing(world: World, connect: Connect) -> None:
    assert found(world, connect()) == {}


def test_names_are_found_at_every_depth(world: World, connect: Connect) -> None:
    client, names = connect(), ("a", "a/b", "a/b/c/d", "e/f")
    for name in names:
        world.do(client.lock(name).acquire)

    assert found(world, connect()) == dict.fromkeys(names, "lock")
    assert list(found(world, connect(), "a/*")) == ["a/b", "a/b/c/d"]


def test_names_are_found_as_they_were_spelled(world: World, connect: Connect) -> None:
    client = connect()
    names = {"50%", "..", "ünïcode", "tab\there", "a//b", "zookeeper", "😀", "_c_", "x-1234567890"}
    for name in names:
        world.do(client.lock(name).acquire)

    assert set(found(world, connect())) == names


def test_what_was_released_is_not_found(world: World, connect: Connect) -> None:
    client = connect()
    world.do(world.do(client.lock("a").acquire).release)
    world.do(lambda: client.latch("b").start(1))
    world.do(client.latch("b").count_down)

    assert listed(world, client) == {}


def test_locks_of_java_are_found(world: World, connect: Connect, peek: Any) -> None:
    stranger(peek, f"/app/mutex/{JAVA}-lock-", f"/app/rw/{JAVA}-__READ__")
    stranger(peek, f"/app/sem/leases/{JAVA}-lease-", f"/app/busy/locks/{JAVA}-lock-")
    peek.ensure_path("/app/busy/leases")
    peek.create("/app/counted/count", SEVEN, makepath=True)

    assert listed(world, connect()) == {
        "app/mutex": "lock",
        "app/rw": "rwlock",
        "app/sem": "semaphore",
        "app/busy": "semaphore",
        "app/counted": "semaphore",
    }


def test_other_data_is_passed_over(world: World, connect: Connect, peek: Any) -> None:
    for path in ("/brokers/ids/1", "/app/locks", "/app/leases", "/config/topics"):
        peek.create(path, b"anything", makepath=True)
    stranger(peek, "/jobs/job-")

    assert listed(world, connect()) == {}


def test_lock_may_be_named_like_a_part_of_something(
    world: World, connect: Connect, peek: Any
) -> None:
    client, parts = connect(), ("latch", "count", "leased", "locks", "leases")
    names = [f"{above}{part}" for above in ("", "app/") for part in parts]
    names.append("app/locks/orders")
    for name in names:
        world.do(client.lock(name).acquire)
    stranger(peek, f"/java/locks/{JAVA}-lock-")

    assert listed(world, connect()) == dict.fromkeys([*names, "java/locks"], "lock")


def test_lock_above_locks_is_a_lock(world: World, connect: Connect) -> None:
    client = connect()
    world.do(client.lock("app/locks/orders").acquire)

    world.do(client.lock("app").acquire)

    assert found(world, connect()) == {"app": "lock", "app/locks/orders": "lock"}


def test_our_own_records_are_no_names(world: World, connect: Connect, peek: Any) -> None:
    stranger(peek, f"/interlock:clients/{JAVA}-lock-", f"/zookeeper/quota/{JAVA}-lock-")
    world.do(connect().lock("a").acquire)

    assert listed(world, connect()) == {"a": "lock"}


def test_whole_server_may_be_searched(
    world: World, zookeeper: ZooKeeperServer, zk_url: str, zk_path: str
) -> None:
    world.do(world.connect(zk_url).lock("k").acquire)
    everywhere = world.connect(zookeeper.url())

    assert found(world, everywhere, f"{zk_path[1:]}/*") == {f"{zk_path[1:]}/k": "lock"}
    assert not any(name.startswith("zookeeper") for name in listed(world, everywhere))


def test_what_is_not_for_our_eyes_hides_nothing_else(
    world: World, connect: Connect, peek: Any
) -> None:
    world.do(connect().lock("open").acquire)
    blind = make_acl("world", "anyone", create=True, delete=True)
    for secret in ("/secret", "/secret/latch%"):
        peek.create(secret, acl=[blind])

    assert found(world, connect()) == {"open": "lock"}


# --- what it costs ----------------------------------------------------------------------------


def test_each_level_is_one_round_trip(
    world: World, connect: Connect, zk_proxy: ZkProxy, zk_path: str
) -> None:
    holder, onlooker = connect(), world.connect(zk_proxy.url(zk_path))
    for number in range(20):
        world.do(holder.lock(f"a/b{number}").acquire)
    world.do(lambda: onlooker.inspect("a"))
    zk_proxy.delay(0.02, 0.02)
    zk_proxy.mark()

    assert len(listed(world, onlooker)) == 20

    assert zk_proxy.round_trips() == 3
    assert zk_proxy.requests == ["getChildren"] * 22


def test_wide_level_is_listed_in_several_bursts(
    world: World, connect: Connect, zk_proxy: ZkProxy, zk_path: str
) -> None:
    holder, onlooker = connect(), world.connect(zk_proxy.url(zk_path))
    names = [f"k{number}" for number in range(7)]
    for name in names:
        world.do(holder.lock(name).acquire)
    world.do(lambda: onlooker.inspect("k0"))
    zk_proxy.delay(0.02, 0.02)
    zk_proxy.mark()

    with patch.object(directory, "STRIDE", 3):
        assert sorted(listed(world, onlooker)) == names

    assert zk_proxy.round_trips() == 1 + 3
