"""Curator's namespaces and our chroots are the same thing."""

from __future__ import annotations

import pytest

from tests.support.worlds import World
from tests.support.zookeepers import ZooKeeperServer

from ...harness.matrix import BOTH, TO_THEM, TO_US, meets
from ...harness.peers import Actor, Cast
from .meeting import Javan, Pythonist

pytestmark = meets("Curator", "InterProcessMutex", "lock()")


@pytest.fixture
def space(name: str) -> str:
    """Nobody has made its node yet."""
    return f"space-{name}"


@pytest.fixture
def spaced(cast: Cast, space: str) -> Actor:
    """Somebody of Java with a namespace."""
    return cast.actor(cast.client(space, namespace=space))


@pytest.mark.parametrize("first", ["J", "P"])
@meets(direction=BOTH)
def test_namespace_is_a_chroot(
    first: str, world: World, zookeeper: ZooKeeperServer, spaced: Actor, space: str, path: str
) -> None:
    """Whoever comes first makes the directories, for the other as well."""
    java = Javan(spaced, "mutex", path)
    ours = Pythonist(world, zookeeper.url(space), "mutex", path)
    one, other = (java, ours) if first == "J" else (ours, java)
    one.take()
    assert not other.tries()
    one.give()
    assert other.tries()


@meets(direction=TO_THEM)
def test_chroot_is_the_beginning_of_javas_path(
    world: World, zookeeper: ZooKeeperServer, java: Actor, space: str, path: str
) -> None:
    """Java without the namespace spells the same node with it."""
    ours = Pythonist(world, zookeeper.url(space), "mutex", path)
    ours.take()
    assert java.ask("mutex", "acquire", f"/{space}{path}", ms=0) is False
    assert java.ask("mutex", "acquire", path, ms=0) is True


@meets(direction=TO_US)
def test_without_the_chroot_it_is_another_lock(
    world: World, url: str, spaced: Actor, space: str, path: str
) -> None:
    spaced.ask("mutex", "acquire", path)
    assert Pythonist(world, url, "mutex", path).tries()
    assert not Pythonist(world, url, "mutex", f"/{space}{path}").tries()


@pytest.mark.parametrize("name", ["ключ", "a b", "orders:42", "a-lock-b", "n" * 200])
@meets(direction=BOTH)
def test_paths_are_the_same_texts(name: str, world: World, url: str, java: Actor) -> None:
    """Also where a part of the name looks like a node."""
    ours, javas = Pythonist(world, url, "mutex", f"texts/{name}"), f"/texts/{name}"
    ours.take()
    assert java.ask("mutex", "acquire", javas, ms=0) is False
    ours.give()
    assert java.ask("mutex", "acquire", javas, ms=0) is True
    assert not ours.tries()
    java.ask("mutex", "release", javas)
