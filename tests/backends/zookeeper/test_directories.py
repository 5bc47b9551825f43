"""Directories that vanish between two uses or under our hands, and strangers in them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest
from kazoo.exceptions import NoNodeError, NotEmptyError
from kazoo.recipe.lock import Lock as KazooLock

from interlock import StoreMisconfigured
from interlock.backends.zookeeper import layout
from tests.support.zookeepers import ZooKeeperServer

from ...support.worlds import World
from .bare import bare
from .scenes import Departure, Waiter, owners, queue

pytestmark = pytest.mark.server

ROUNDS = 40


# --- directories that vanish ------------------------------------------------------------------


@pytest.fixture(scope="module")
def tidy() -> Iterator[ZooKeeperServer]:
    """A server that takes empty directories away at once, not within a minute."""
    with ZooKeeperServer(system={"znode.container.checkIntervalMs": 100}) as server:
        yield server


def test_lock_whose_directory_was_taken_away_is_taken_again(
    tidy: ZooKeeperServer, world: World, zk_path: str
) -> None:
    lock = world.connect(tidy.url(zk_path)).lock("k")
    with bare(tidy.hosts) as client:
        client.ensure_path(zk_path)
        client.chroot = zk_path
        first = world.do(lock.acquire)
        gone = Departure(client, "/k")
        world.do(first.release)
        gone.wait()

        second = world.do(lock.acquire)

        assert queue(client)[0].endswith("-lock-0000000000")
        assert second.token > first.token
        world.do(second.release)


@contextmanager
def sweeping(client: Any, path: str) -> Iterator[list[int]]:
    """Take an empty directory away as often as it can be done; counts how often it was."""
    stop, count = threading.Event(), [0]

    def sweep() -> None:
        while not stop.is_set():
            try:
                client.delete(path)
                count[0] += 1
            except (NoNodeError, NotEmptyError):
                continue

    sweeper = threading.Thread(target=sweep)
    sweeper.start()
    try:
        yield count
    finally:
        stop.set()
        sweeper.join()


def test_directory_that_is_taken_away_again_and_again_is_made_again(
    world: World, zk_url: str, peek: Any
) -> None:
    lock = world.connect(zk_url).lock("k")
    tokens = []
    with sweeping(peek, "/k") as count:
        for _ in range(ROUNDS):
            hold = world.do(lock.acquire)
            tokens.append(hold.token)
            world.do(hold.release)

    assert tokens == sorted(set(tokens))
    assert count[0] > 0


def test_contenders_whose_directory_is_taken_away_exclude_each_other(
    world: World, zk_url: str, peek: Any
) -> None:
    tokens: list[int] = []
    inside: list[int] = []

    def work(lock: Any) -> None:
        for _ in range(ROUNDS // 4):
            hold = world.do(lock.acquire)
            inside.append(hold.token)
            assert inside == [hold.token]
            tokens.append(hold.token)
            inside.remove(hold.token)
            world.do(hold.release)

    locks = [world.connect(zk_url).lock("k") for _ in range(3)]
    with sweeping(peek, "/k"):
        together([lambda lock=lock: work(lock) for lock in locks])

    assert tokens == sorted(set(tokens))
    assert len(tokens) == 3 * (ROUNDS // 4)


def together(actions: list[Any]) -> None:
    """Do several things at once, and fail if one fails."""
    failures: list[BaseException] = []

    def guarded(action: Any) -> None:
        try:
            action()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(action,)) for action in actions]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert failures == []


# --- strangers --------------------------------------------------------------------------------


@pytest.mark.parametrize("stranger", ["!x", "0", "-x", "lock-"])
def test_stranger_behind_whom_java_would_wait_for_ever_is_told(
    world: World, zk_url: str, peek: Any, stranger: str
) -> None:
    peek.ensure_path(f"/k/{stranger}")

    with pytest.raises(StoreMisconfigured, match="so no client removes it"):
        world.do(world.connect(zk_url).lock("k").acquire)

    assert peek.get_children("/k") == [stranger]


@pytest.mark.parametrize("stranger", ["zzz", "junk", "README"])
def test_stranger_whom_java_overlooks_is_overlooked(
    world: World, zk_url: str, peek: Any, stranger: str
) -> None:
    peek.ensure_path(f"/k/{stranger}")
    lock = world.connect(zk_url).lock("k")

    world.do(world.do(lock.acquire).release)

    assert peek.get_children("/k") == [stranger]


def java(number: str) -> str:
    return f"_c_{uuid4()}-lock-{number}"


def test_numbers_that_have_wrapped_stand_where_java_puts_them() -> None:
    late, later, early = java("-2147483647"), java("-2147483648"), java("0000000007")

    assert layout.ranked([early, later, late], layout.MUTEX_CUTS) == [late, later, early]
    assert layout.before_alone([early, later, late], early) == later
    assert layout.before_alone([early, later, late], later) == late
    assert layout.before_alone([early, later, late], late) is None


def test_node_with_a_wrapped_number_is_waited_for(world: World, zk_url: str, peek: Any) -> None:
    peek.ensure_path("/k")
    wrapped = f"/k/{java('-2147483648')}"
    peek.create(wrapped, ephemeral=True)

    waiter = Waiter(world, zk_url)
    assert not waiter.granted
    peek.delete(wrapped)

    waiter.leave()


def test_kazoos_own_lock_is_overlooked_as_java_overlooks_it(
    world: World, zk_url: str, peek: Any
) -> None:
    """It has another name, and does not see ours either: the two must not share a directory."""
    theirs = KazooLock(peek, "/k")
    assert theirs.acquire(timeout=10)

    hold = world.do(world.connect(zk_url).lock("k").acquire)

    assert len(peek.get_children("/k")) == 2
    world.do(hold.release)
    theirs.release()


class JavaNamed(KazooLock):  # type: ignore[misc]
    """Kazoo's lock with nodes that are named almost as Curator's."""

    _NODE_NAME = "-lock-"
    _EXCLUDE_NAMES = ["-lock-"]  # noqa: RUF012 - kazoo adds to a list


def test_kazoos_lock_with_javas_names_excludes_ours_and_is_excluded(
    world: World, zk_url: str, peek: Any
) -> None:
    theirs = JavaNamed(peek, "/k")
    assert theirs.acquire(timeout=10)
    waiter = Waiter(world, zk_url)

    assert not waiter.granted
    theirs.release()
    hold = waiter.hold()

    assert not theirs.acquire(blocking=False)
    assert owners(peek) == [hold.owner]
    waiter.leave()
    assert theirs.acquire(timeout=10)
    theirs.release()
