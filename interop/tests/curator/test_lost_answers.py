"""A message of ours is lost on its way to ZooKeeper or back: nothing happens twice.

Java waits behind, so a node too many, or one that is never removed, would be felt there.
"""

from __future__ import annotations

from typing import Any

import pytest

import interlock
from tests.support.eventually import eventually
from tests.support.frames import ZkProxy
from tests.support.worlds import World

from ...harness.foreign import SOON
from ...harness.matrix import TO_THEM, meets
from ...harness.peers import Cast
from .meeting import OURS, Javan, newest
from .standing import standing

pytestmark = [meets("Curator", direction=TO_THEM), newest]

LOST = ["lose_reply", "lose_request"]

#: Of each kind: its terms, the directory of the node that holds it, and that node's name.
HOLDS: dict[str, tuple[dict[str, Any], str, bytes]] = {
    "mutex": ({}, "", b"-lock-"),
    "read": ({}, "", b"-__READ__"),
    "write": ({}, "", b"-__WRIT__"),
    "smutex": ({}, "/leases", b"-lease-"),
    "semaphore": ({"max": 1}, "/leases", b"-lease-"),
}
PRIMITIVES = {
    "mutex": ("InterProcessMutex", "lock()"),
    "read": ("InterProcessReadWriteLock", "rwlock()"),
    "write": ("InterProcessReadWriteLock", "rwlock()"),
    "smutex": ("InterProcessSemaphoreMutex", "mutex()"),
    "semaphore": ("InterProcessSemaphoreV2", "semaphore()"),
}


def kinds(*chosen: str) -> pytest.MarkDecorator:
    marks = {kind: meets(None, *PRIMITIVES[kind]) for kind in chosen}
    return pytest.mark.parametrize(
        "kind", [pytest.param(kind, marks=mark) for kind, mark in marks.items()]
    )


class Scene:
    """Our lock behind a proxy, and Java's of the same name."""

    def __init__(self, kind: str, path: str, world: World, proxy: ZkProxy, cast: Cast) -> None:
        terms, folder, self.mark = HOLDS[kind]
        client = world.connect(proxy.url())
        world.do(lambda: client.inspect(path))  # a session is there before the fault
        self.world, self.path, self.folder = world, path, path + folder
        self.lock = OURS[kind](client, path, **terms)
        # Another reader would be let in.
        self.java = Javan(cast.actor(), "write" if kind == "read" else kind, path, **terms)
        # The directories are there, so that the first node that is asked for is made.
        self.java.take()
        self.java.give()

    def passes_to_java(self, hold: Any) -> None:
        """Java waits while we hold, and no longer."""
        self.java.seek()
        eventually(lambda: self.java.parked)
        self.world.do(hold.release)
        assert self.java.turn.result(SOON) is True
        assert self.java.token > hold.token
        self.java.give()


@pytest.fixture
def scene(zk_proxy: ZkProxy, kind: str, path: str, world: World, cast: Cast) -> Scene:
    """The proxy goes after our clients, who say farewell through it."""
    return Scene(kind, path, world, zk_proxy, cast)


@pytest.mark.parametrize("lost", LOST)
@kinds("mutex", "read", "write", "smutex", "semaphore")
def test_lost_create_is_one_node(
    scene: Scene, lost: str, zk_proxy: ZkProxy, peek: Any, path: str
) -> None:
    getattr(zk_proxy, lost)(scene.mark)
    hold = scene.world.do(scene.lock.acquire)
    assert zk_proxy.fired == 1
    (node,) = peek.get_children(scene.folder)
    assert peek.exists(f"{scene.folder}/{node}").czxid == hold.token
    assert node.endswith("0000000001")  # Java had the first
    scene.passes_to_java(hold)
    eventually(lambda: standing(peek, path) == [])


@pytest.mark.parametrize("lost", LOST)
@kinds("smutex", "semaphore")
def test_lost_place_in_the_line_for_a_lease_is_one_place(
    scene: Scene, lost: str, zk_proxy: ZkProxy, peek: Any, path: str
) -> None:
    getattr(zk_proxy, lost)(b"-lock-")
    hold = scene.world.do(scene.lock.acquire)
    assert zk_proxy.fired == 1
    assert len(peek.get_children(f"{path}/leases")) == 1
    eventually(lambda: peek.get_children(f"{path}/locks") == [])
    scene.passes_to_java(hold)
    eventually(lambda: standing(peek, path) == [])


@pytest.mark.parametrize("lost", LOST)
@kinds("mutex", "read", "write", "smutex", "semaphore")
def test_lost_delete_lets_java_in(
    scene: Scene, lost: str, zk_proxy: ZkProxy, peek: Any, path: str
) -> None:
    hold = scene.world.do(scene.lock.acquire)
    eventually(lambda: len(peek.get_children(scene.folder)) == 1)
    getattr(zk_proxy, lost)("delete")
    scene.passes_to_java(hold)
    assert zk_proxy.fired == 1
    eventually(lambda: standing(peek, path) == [])


@pytest.mark.parametrize("lost", LOST)
@kinds("mutex", "write")
def test_lost_create_of_one_who_waits_is_one_place_in_the_queue(
    scene: Scene, lost: str, zk_proxy: ZkProxy, peek: Any, path: str
) -> None:
    scene.java.take()
    getattr(zk_proxy, lost)(scene.mark)
    turn = scene.world.start(scene.lock.acquire)
    eventually(lambda: zk_proxy.fired == 1)
    eventually(lambda: len(peek.get_children(path)) == 2)
    scene.java.give()
    hold = turn.result(SOON)
    assert len(peek.get_children(path)) == 1
    scene.passes_to_java(hold)
    eventually(lambda: standing(peek, path) == [])


@pytest.mark.parametrize("lost", LOST)
@kinds("mutex", "write")
def test_whoever_does_not_wait_leaves_nothing_when_a_message_is_lost(
    scene: Scene, lost: str, zk_proxy: ZkProxy, peek: Any, path: str
) -> None:
    scene.java.take()
    getattr(zk_proxy, lost)(scene.mark)
    with pytest.raises(interlock.StoreUnavailable):
        scene.world.do(lambda: scene.lock.acquire(blocking=False))
    assert zk_proxy.fired == 1
    eventually(lambda: len(peek.get_children(path)) == 1)
    scene.java.give()
    eventually(lambda: standing(peek, path) == [])
