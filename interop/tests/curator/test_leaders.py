"""LeaderLatch and `election()`: candidates of both sides, and how each sees the other."""

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
from ...harness.matrix import BOTH, TO_THEM, TO_US, meets
from ...harness.peers import Actor, Cast
from .conftest import BRIEF_MS
from .standing import standing

pytestmark = meets("Curator", "LeaderLatch", "election()")

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
    return world.start(client.election(path, participant=identity).lead().acquire)


def leader(world: World, client: Any, path: str) -> str | None:
    """Who leads, as one of ours sees it that takes no part."""
    found = world.do(client.election(path).leader)
    return None if found is None else str(found.participant)


def leads(term: Any) -> bool:
    """Whether it leads for sure: who is cut off does not, until it knows better."""
    return not term.lost and not term.suspended


@meets(direction=BOTH)
def test_each_side_leads_in_its_turn(
    world: World, url: str, cast: Cast, path: str, peek: Any
) -> None:
    first, last = cast.actor(), cast.actor()
    client, onlooker = world.connect(url), world.connect(url)
    start(first, path, "java")
    assert leading(first, path)
    turn = seek(world, client, path, "python")
    eventually(lambda: len(standing(peek, path)) == 2)
    start(last, path, "java again")
    assert seen_by(first, path) == [("java", True), ("python", False), ("java again", False)]
    assert leader(world, onlooker, path) == leader(world, client, path) == "java"
    info = world.do(lambda: onlooker.inspect(path))
    assert (info.kind, info.waiters) == ("election", 2)
    assert not turn.done()

    first.ask("leader", "close", path)
    term = turn.result(SOON)
    assert leads(term)
    assert seen_by(last, path) == [("python", True), ("java again", False)]
    assert leader(world, onlooker, path) == "python"
    assert last.ask("leader", "leads", path) is False

    world.do(term.release)
    assert leading(last, path)
    assert last.ask("leader", "token", path) > term.token
    assert leader(world, onlooker, path) == "java again"


@meets(direction=TO_US)
def test_our_loop_wins_a_term_each_time_that_java_resigns(
    world: World, url: str, cast: Cast, path: str, peek: Any
) -> None:
    client = world.connect(url)
    tokens: list[int] = []

    def loop() -> None:
        for term in client.election(path, participant="python"):
            tokens.append(term.token)
            if len(tokens) == 2:
                return

    async def aloop() -> None:
        async for term in client.election(path, participant="python"):
            tokens.append(term.token)
            if len(tokens) == 2:
                return

    java, again = cast.actor(), cast.actor()
    start(java, path, "java")
    assert leading(java, path)
    looping = world.start(loop if world.name == "threads" else aloop)
    eventually(lambda: len(standing(peek, path)) == 2)
    start(again, path, "java again")
    java.ask("leader", "close", path)  # ours leads, resigns, and stands behind Java
    assert leading(again, path)
    eventually(lambda: len(tokens) == 1 and len(standing(peek, path)) == 2)
    again.ask("leader", "close", path)
    looping.result(SOON)
    assert tokens[0] < tokens[1]
    eventually(lambda: standing(peek, path) == [])


@meets(direction=TO_US)
def test_our_observer_hears_that_java_leads_and_resigns(
    world: World, url: str, java: Actor, path: str
) -> None:
    client, heard = world.connect(url), list[str | None]()

    def watch() -> None:
        for found in client.election(path).watch():
            heard.append(found and found.participant)
            if len(heard) == 3:
                return

    async def awatch() -> None:
        async for found in client.election(path).watch():
            heard.append(found and found.participant)
            if len(heard) == 3:
                return

    watching = world.start(watch if world.name == "threads" else awatch)
    eventually(lambda: heard == [None])
    start(java, path, "java")
    eventually(lambda: heard == [None, "java"])
    java.ask("leader", "close", path)
    watching.result(SOON)
    assert heard == [None, "java", None]


@meets(direction=TO_THEM)
def test_node_of_ours_is_as_javas(
    world: World, url: str, java: Actor, path: str, peek: Any
) -> None:
    term = seek(world, world.connect(url), path, "Zoë").result(SOON)
    (node,) = standing(peek, path)
    assert node.endswith("-latch-0000000000")
    data, stat = peek.get(node)
    assert (data, stat.czxid) == ("Zoë".encode(), term.token)
    start(java, path, "java")
    assert seen_by(java, path) == [("Zoë", True), ("java", False)]
    world.do(term.release)


@meets(direction=TO_US)
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


@meets(direction=TO_THEM)
def test_java_leads_when_our_process_was_killed(
    our_victim: Foreign, java: Actor, path: str
) -> None:
    our_victim.ask(verb="lead", name=path, identity="python", handle="term")
    start(java, path, "java")
    our_victim.kill()
    assert leading(java, path, BRIEF + SLACK)


@meets(direction=TO_THEM)
def test_whoever_is_cut_off_does_not_lead_until_it_is_back(
    zk_proxy: ZkProxy, world: World, java: Actor, path: str
) -> None:
    """And Java does not lead meanwhile: our session goes on."""
    term = seek(world, world.connect(zk_proxy.url()), path, "python").result(SOON)
    start(java, path, "java")
    zk_proxy.refuse()
    zk_proxy.cut()
    eventually(lambda: not leads(term), 1.0)
    assert not term.lost
    zk_proxy.refuse(False)
    eventually(lambda: leads(term))
    assert java.ask("leader", "leads", path) is False
    world.do(term.release)
    assert leading(java, path)


@meets(direction=TO_THEM)
def test_whoever_is_cut_off_for_too_long_never_leads_again(
    zk_proxy: ZkProxy, world: World, java: Actor, path: str
) -> None:
    client = world.connect(f"{zk_proxy.url()}?session_timeout={BRIEF}")
    term = seek(world, client, path, "python").result(SOON)
    start(java, path, "java")
    zk_proxy.refuse()
    zk_proxy.cut()
    eventually(lambda: not leads(term), 1.0)
    assert leading(java, path, BRIEF + SLACK)
    assert term.lost
    zk_proxy.refuse(False)
    turn = seek(world, client, path, "python again")  # waits for the connection
    eventually(lambda: ("python again", False) in seen_by(java, path))
    assert leader(world, client, path) == "java"
    assert not leads(term)
    java.ask("leader", "close", path)
    assert turn.result(SOON).token > term.token
