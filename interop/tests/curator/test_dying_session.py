"""A waiter is cut off until its session is about to end: on what is it granted then?

Curator counts the time of its session by itself, and when that is over it opens another one at
once.  The server ends sessions on its ticks only, so the old one, and the node in it, may live
for a little longer.  Whoever is first by such a node loses it a moment later, and is not told:
Curator's issue 604.  We never open another session before the server has ended the first.

The server's ticks are those of the machine's monotonic clock, so a test knows how long a session
outlives its timeout.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.backends.zookeeper.bare import bare
from tests.support.eventually import eventually
from tests.support.frames import ZkProxy
from tests.support.worlds import World
from tests.support.zookeepers import ZooKeeperServer

from ...harness.curators import curator
from ...harness.foreign import SOON, Foreign
from ...harness.matrix import TO_US, meets
from ...harness.peers import Cast
from .meeting import Javan, newest
from .standing import ours_standing, standing

#: Seconds: of a tick, and of the sessions of those who are cut off.
TICK, SESSION = 3.0, 4.0


@pytest.fixture(scope="module")
def server() -> Iterator[ZooKeeperServer]:
    """One with long ticks, and sessions that are hardly longer."""
    shortest = {"minSessionTimeout": int(SESSION * 1000)}
    with ZooKeeperServer(tick_ms=int(TICK * 1000), settings=shortest) as server:
        yield server


@pytest.fixture
def proxy(server: ZooKeeperServer) -> Iterator[ZkProxy]:
    with ZkProxy(server.port) as proxy:
        yield proxy


@pytest.fixture
def onlooker(server: ZooKeeperServer) -> Iterator[Any]:
    with bare(server.hosts, session=30) as client:
        yield client


@pytest.fixture
def people(server: ZooKeeperServer, version: str, onlooker: Any) -> Iterator[Cast]:
    """Threads of a JVM that is never cut off."""
    with curator(server.hosts, session_ms=30_000, debian=version == "debian") as jvm:
        yield Cast(jvm)


@pytest.fixture
def cut_off(proxy: ZkProxy, version: str) -> Iterator[Foreign]:
    """A JVM behind the proxy."""
    with curator(proxy.hosts, session_ms=int(SESSION * 1000), debian=version == "debian") as jvm:
        yield jvm


def await_an_early_end() -> None:
    """Sleep until a session that is heard of now would end early between two ticks.

    It then has nearly a tick more to live than its timeout.
    """
    past = (time.monotonic() + SESSION) % TICK
    time.sleep((0.2 - past) % TICK)


def waiting(cast: Cast, path: str) -> Javan:
    java = Javan(cast.actor(), "mutex", path)
    java.seek()
    eventually(lambda: java.parked)
    return java


def states(jvm: Foreign) -> list[str]:
    return [each["state"] for each in jvm.ask(kind="peer", verb="state")]


@meets("Curator", "itself", "none", direction=())
def test_java_is_granted_on_the_node_of_a_session_that_ends(
    people: Cast, cut_off: Foreign, proxy: ZkProxy, onlooker: Any, path: str
) -> None:
    """Both versions: two hold it, and only their tokens tell who is the last."""
    holder = Javan(people.actor(), "mutex", path)
    holder.take()
    victim, third = waiting(Cast(cut_off), path), waiting(people, path)
    doomed = standing(onlooker, path)[1]
    await_an_early_end()
    cut_off.ask(kind="node", verb="stat", name="/")  # now the server has heard of it
    proxy.refuse()
    proxy.cut()
    holder.give()
    eventually(lambda: "LOST" in states(cut_off), SESSION + SOON)
    proxy.refuse(False)
    assert victim.turn.result(SOON) is True
    assert victim.actor.ask("mutex", "path", path) == doomed
    owner = onlooker.exists(doomed).ephemeralOwner
    assert cut_off.ask(kind="peer", verb="session") != str(owner)
    token = victim.token
    assert third.turn.result(TICK + SOON) is True
    assert victim.actor.ask("mutex", "owned", path) is True
    assert third.token > token


@pytest.fixture
def ours(proxy: ZkProxy, world: World, path: str) -> Any:
    """A lock of ours behind the proxy, with a session that is known to the server."""
    patient = f"session_timeout={SESSION}&connect_timeout={SOON}"
    client = world.connect(f"{proxy.url()}?{patient}")
    world.do(lambda: client.inspect(path))
    return client.lock(path)


@newest
@meets("Curator", "InterProcessMutex", "lock()", TO_US)
def test_we_are_granted_in_our_time_only_on_a_session_that_lives(
    proxy: ZkProxy, ours: Any, world: World, people: Cast, onlooker: Any, path: str
) -> None:
    """The same treatment: back when the timeout is over, and before the server's tick."""
    holder = Javan(people.actor(), "mutex", path)
    holder.take()
    turn = world.start(ours.acquire)
    (mine,) = eventually(lambda: ours_standing(onlooker, path))
    third = waiting(people, path)
    await_an_early_end()
    world.do(lambda: world.client_of(ours).inspect(path))
    proxy.refuse()
    proxy.cut()
    cut = time.monotonic()
    holder.give()
    time.sleep(max(0.0, cut + SESSION - time.monotonic()))
    proxy.refuse(False)
    hold = turn.result(SOON)
    assert onlooker.exists(mine).czxid == hold.token
    # It outlives the instant at which the silent session would have ended.
    time.sleep(max(0.0, cut + SESSION + TICK - time.monotonic()))
    assert not hold.lost
    assert standing(onlooker, path)[0] == mine
    assert not third.turn.done()
    world.do(hold.release)
    assert third.turn.result(SOON) is True


@newest
@meets("Curator", "InterProcessMutex", "lock()", TO_US)
def test_we_stand_behind_others_when_the_session_has_ended(
    proxy: ZkProxy, ours: Any, world: World, people: Cast, onlooker: Any, path: str
) -> None:
    """The same treatment, and back when the server has ended the session: not a moment of two."""
    holder = Javan(people.actor(), "mutex", path)
    holder.take()
    turn = world.start(ours.acquire)
    (old,) = eventually(lambda: ours_standing(onlooker, path))
    third = waiting(people, path)
    proxy.refuse()
    proxy.cut()
    holder.give()
    assert third.turn.result(SESSION + TICK + SOON) is True
    proxy.refuse(False)
    (new,) = eventually(lambda: ours_standing(onlooker, path), SOON)
    assert new != old
    assert not turn.done()
    third.give()
    hold = turn.result(SOON)
    assert onlooker.exists(new).czxid == hold.token
    world.do(hold.release)


@newest
@meets("Curator", "InterProcessMutex", "lock()", TO_US)
def test_node_of_an_unanswered_question_is_not_ours_when_its_session_has_ended(
    proxy: ZkProxy, ours: Any, world: World, people: Cast, onlooker: Any, path: str
) -> None:
    """The answer is lost, and there is no way back until the server has ended the session."""
    java = Javan(people.actor(), "mutex", path)
    java.take()
    proxy.lose_reply("create2")
    proxy.refuse()
    turn = world.start(ours.acquire)
    (old,) = eventually(lambda: ours_standing(onlooker, path))
    eventually(lambda: not ours_standing(onlooker, path), SESSION + TICK + SOON)
    proxy.refuse(False)
    java.give()
    hold = turn.result(SOON)
    (new,) = standing(onlooker, path)
    assert new != old
    assert onlooker.exists(new).czxid == hold.token
    world.do(hold.release)
    java.take()
