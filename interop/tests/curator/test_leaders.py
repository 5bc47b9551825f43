"""LeaderLatch, with participants of both sides.

Ours are of the harness (see `participants`): Interlock has no face for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest

from tests.support.eventually import eventually
from tests.support.frames import ZkProxy
from tests.support.worlds import World
from tests.support.zookeepers import ZooKeeperServer

from ...harness.contending import ours
from ...harness.foreign import SOON, Foreign
from ...harness.matrix import meets
from ...harness.participants import candidate, leads, participants
from ...harness.peers import Actor, Cast
from .conftest import BRIEF_MS
from .standing import standing

#: A recipe without a face of ours has no cell in the table.
pytestmark = meets("Curator", "LeaderLatch", "none", direction=())

#: Seconds of a session, and how much later than its end somebody else leads.
BRIEF, SLACK = BRIEF_MS / 1000, 5.0


def start(java: Actor, path: str, identity: str) -> None:
    """Let Java want to lead."""
    java.ask("leader", "start", path, identity=identity)
    eventually(lambda: java.ask("leader", "path", path))


def leading(java: Actor, path: str, within: float = SOON) -> bool:
    return bool(java.ask("leader", "await", path, within=2 * within, ms=int(within * 1000)))


def seen_by(java: Actor, path: str) -> list[tuple[str, bool]]:
    """Who takes part, and whether it leads, as Java sees it."""
    told = java.ask("leader", "participants", path)
    return [(each["id"], each["leads"]) for each in told]


def seek(world: World, client: Any, path: str, identity: str) -> Future[Any]:
    """Let one of ours want to lead."""
    return world.start(candidate(client, path, identity).acquire)


def test_each_side_leads_in_its_turn(
    world: World, url: str, cast: Cast, path: str, peek: Any
) -> None:
    first, last = cast.actor(), cast.actor()
    client = world.connect(url)
    start(first, path, "java")
    assert leading(first, path)
    turn = seek(world, client, path, "python")
    eventually(lambda: len(standing(peek, path)) == 2)
    start(last, path, "java again")
    everybody = [("java", True), ("python", False), ("java again", False)]
    assert seen_by(first, path) == everybody
    assert world.do(lambda: client._session.run(participants(path))) == [
        name for name, _ in everybody
    ]
    assert not turn.done()

    first.ask("leader", "close", path)
    hold = turn.result(SOON)
    assert leads(hold)
    assert seen_by(last, path) == [("python", True), ("java again", False)]
    assert last.ask("leader", "leads", path) is False

    world.do(hold.release)
    assert leading(last, path)
    assert last.ask("leader", "token", path) > hold.token


def test_node_of_ours_is_as_javas(
    world: World, url: str, java: Actor, path: str, peek: Any
) -> None:
    hold = seek(world, world.connect(url), path, "Zoë").result(SOON)
    (node,) = standing(peek, path)
    assert node.endswith("-latch-0000000000")
    data, stat = peek.get(node)
    assert (data, stat.czxid) == ("Zoë".encode(), hold.token)
    start(java, path, "java")
    assert seen_by(java, path) == [("Zoë", True), ("java", False)]
    world.do(hold.release)


def test_we_lead_when_javas_process_was_killed(
    world: World, url: str, victim: Foreign, path: str, peek: Any
) -> None:
    java = Cast(victim).actor()
    start(java, path, "java")
    assert leading(java, path)
    turn = seek(world, world.connect(url), path, "python")
    eventually(lambda: len(standing(peek, path)) == 2)
    victim.kill()
    assert leads(turn.result(BRIEF + SLACK))


@pytest.fixture
def our_victim(zookeeper: ZooKeeperServer, world: World) -> Iterator[Foreign]:
    """A Python process that a test may kill, in either world, with a session of 1 s."""
    with ours(f"{zookeeper.url()}?session_timeout={BRIEF}", world.name) as process:
        yield process


def test_java_leads_when_our_process_was_killed(
    our_victim: Foreign, java: Actor, path: str
) -> None:
    our_victim.ask(verb="lead", name=path, identity="python")
    start(java, path, "java")
    our_victim.kill()
    assert leading(java, path, BRIEF + SLACK)


def test_whoever_is_cut_off_does_not_lead_until_it_is_back(
    zk_proxy: ZkProxy, world: World, java: Actor, path: str
) -> None:
    """And Java does not lead meanwhile: our session goes on."""
    hold = seek(world, world.connect(zk_proxy.url()), path, "python").result(SOON)
    start(java, path, "java")
    zk_proxy.refuse()
    zk_proxy.cut()
    eventually(lambda: not leads(hold), 1.0)
    assert not hold.lost
    zk_proxy.refuse(False)
    eventually(lambda: leads(hold))
    assert java.ask("leader", "leads", path) is False
    world.do(hold.release)
    assert leading(java, path)


def test_whoever_is_cut_off_for_too_long_never_leads_again(
    zk_proxy: ZkProxy, world: World, java: Actor, path: str
) -> None:
    client = world.connect(f"{zk_proxy.url()}?session_timeout={BRIEF}")
    hold = seek(world, client, path, "python").result(SOON)
    start(java, path, "java")
    zk_proxy.refuse()
    zk_proxy.cut()
    eventually(lambda: not leads(hold), 1.0)
    assert leading(java, path, BRIEF + SLACK)
    assert hold.lost
    zk_proxy.refuse(False)
    assert world.do(lambda: client._session.run(participants(path))) == ["java"]
    assert not leads(hold)
