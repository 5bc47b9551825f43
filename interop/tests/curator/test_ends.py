"""Ours stop in the middle: cancelled, out of time, killed or paused; Java goes on."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from functools import partial
from typing import Any

import pytest

import interlock
from interlock.events import Event, Parked
from tests.support.eventually import eventually
from tests.support.frames import ZkProxy
from tests.support.pausing import pause
from tests.support.worlds import World
from tests.support.zookeepers import ZooKeeperServer

from ...harness.contending import ours
from ...harness.foreign import SOON, Foreign
from ...harness.matrix import TO_THEM, meets
from ...harness.peers import Cast
from .meeting import OURS, Javan, newest
from .standing import ours_standing

pytestmark = [meets("Curator", direction=TO_THEM), newest]

KINDS: dict[str, tuple[dict[str, Any], str, str]] = {
    "mutex": ({}, "InterProcessMutex", "lock()"),
    "write": ({}, "InterProcessReadWriteLock", "rwlock()"),
    "smutex": ({}, "InterProcessSemaphoreMutex", "mutex()"),
    "semaphore": ({"max": 1}, "InterProcessSemaphoreV2", "semaphore()"),
}
kinds = pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=meets(None, *KINDS[kind][1:])) for kind in KINDS]
)

#: Seconds in which nothing of ours is left: long before any session ends.
GONE = 3.0

#: Seconds that a message takes while a test looks what is under way.
LAG = 0.5


class Scene:
    """Our lock behind a proxy, and Java's of the same name."""

    def __init__(
        self, kind: str, path: str, world: World, proxy: ZkProxy, cast: Cast, peek: Any
    ) -> None:
        terms = KINDS[kind][0]
        self.events: list[Event] = []
        client = world.connect(proxy.url(), observer=self.events.append)
        world.do(lambda: client.inspect(path))  # a session is there before anything else
        self.lock = OURS[kind](client, path, **terms)
        self.java = Javan(cast.actor(), kind, path, **terms)
        # The directories are there, so that the first node that is asked for is made.
        self.java.take()
        self.java.give()
        self.world, self.path, self.proxy, self.peek = world, path, proxy, peek

    def ours(self) -> list[str]:
        return ours_standing(self.peek, self.path)

    def check_java_is_free_to_go(self) -> None:
        """Nothing of ours is left, and Java has it without waiting."""
        self.proxy.delay()
        eventually(lambda: not self.ours(), GONE)
        self.java.take()
        self.java.give()


@pytest.fixture
def scene(zk_proxy: ZkProxy, kind: str, path: str, world: World, cast: Cast, peek: Any) -> Scene:
    """The proxy goes after our clients, who say farewell through it."""
    return Scene(kind, path, world, zk_proxy, cast, peek)


# --- at which moment --------------------------------------------------------------------------


def asking(scene: Scene, begin: Callable[[], Any]) -> Any:
    """Our first request is on its way."""
    scene.proxy.delay(up=LAG)
    scene.proxy.mark()
    turn = begin()
    eventually(lambda: "create2" in scene.proxy.requests)
    assert not scene.ours()
    return turn


def answered(scene: Scene, begin: Callable[[], Any]) -> Any:
    """Our node is made, and the answer on its way."""
    scene.proxy.delay(down=LAG)
    turn = begin()
    eventually(scene.ours)
    return turn


def waiting(scene: Scene, begin: Callable[[], Any]) -> Any:
    """Java has it, and we wait."""
    scene.java.take()
    turn = begin()
    eventually(lambda: any(isinstance(event, Parked) for event in scene.events))
    scene.proxy.delay(down=LAG)
    return turn


def given(scene: Scene, begin: Callable[[], Any]) -> Any:
    """Java has given it back, and the word of it is on its way to us."""
    turn = waiting(scene, begin)
    scene.java.give()
    return turn


MOMENTS = {"asking": asking, "answered": answered, "waiting": waiting, "given": given}


@pytest.mark.parametrize("world", ["tasks"], indirect=True)
@pytest.mark.parametrize("moment", MOMENTS)
@kinds
def test_cancelled_acquisition_leaves_nothing_behind(scene: Scene, moment: str) -> None:
    turn = MOMENTS[moment](scene, lambda: scene.world.start(scene.lock.acquire))
    turn.cancel()
    with pytest.raises(CancelledError):
        turn.result(SOON)
    if moment == "waiting":
        scene.java.give()
    scene.check_java_is_free_to_go()


@pytest.mark.parametrize("lag", [0.0, 0.15])
@pytest.mark.parametrize("timeout", [0, 0.2])
@kinds
def test_acquisition_that_runs_out_of_time_leaves_nothing_behind(
    scene: Scene, lag: float, timeout: float
) -> None:
    """Java has it, and our time ends before, while or after we stand in the queue."""
    scene.java.take()
    scene.proxy.delay(down=lag)
    with pytest.raises(interlock.AcquireTimeout):
        scene.world.do(lambda: scene.lock.acquire(timeout=timeout))
    scene.java.give()
    scene.check_java_is_free_to_go()


# --- wherever a task can be -------------------------------------------------------------------


async def cut_after(lock: Any, turns: int) -> bool:
    """Cancel an acquisition after so many turns of the loop; True when it was granted before."""
    task = asyncio.ensure_future(lock.acquire())
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    try:
        await (await task).release()
    except asyncio.CancelledError:
        return False
    return True


@pytest.mark.parametrize("world", ["tasks"], indirect=True)
@kinds
def test_acquisition_can_be_cancelled_at_any_turn_of_the_loop(scene: Scene) -> None:
    turns, granted = 0, False
    while not granted:
        granted = scene.world.do(partial(cut_after, scene.lock, turns))
        scene.check_java_is_free_to_go()
        turns += max(1, turns // 4)


# --- processes --------------------------------------------------------------------------------

#: As short as the server's ticks allow, so that its end can be awaited.
BRIEF = 1.0


@pytest.fixture
def victim(zookeeper: ZooKeeperServer, world: World) -> Iterator[Foreign]:
    """A Python process that a test may kill, in either world, with a session of 1 s."""
    with ours(f"{zookeeper.url()}?session_timeout={BRIEF}", world.name) as process:
        yield process


@kinds
def test_java_follows_a_killed_holder(kind: str, victim: Foreign, cast: Cast, path: str) -> None:
    token, java = taken(victim, kind, path), waiter(cast, kind, path)
    victim.kill()
    assert java.turn.result(BRIEF + SOON) is True
    assert java.token > token


@kinds
def test_paused_holder_sees_its_loss_before_it_acts_again(
    kind: str, victim: Foreign, cast: Cast, path: str
) -> None:
    """And a store that looks at tokens refuses it even if it did not look."""
    token, java = taken(victim, kind, path), waiter(cast, kind, path)
    assert victim.ask(verb="act", handle="h") == ""
    pause(victim.pid)
    assert java.turn.result(BRIEF + SOON) is True
    fenced = Fenced()
    fenced.write(java.token)
    acting = victim.start(verb="act", handle="h")
    os.kill(victim.pid, signal.SIGCONT)
    assert acting.result(SOON) != ""
    with pytest.raises(interlock.StaleToken):
        fenced.write(token)


def taken(victim: Foreign, kind: str, path: str) -> int:
    terms = {"permits": 1} if kind == "semaphore" else {}
    face = {"mutex": "lock", "smutex": "mutex"}.get(kind, kind)
    return int(victim.ask(verb="acquire", kind=face, name=path, terms=terms, handle="h"))


def waiter(cast: Cast, kind: str, path: str) -> Javan:
    java = Javan(cast.actor(), kind, path, **KINDS[kind][0])
    java.seek()
    eventually(lambda: java.parked)
    return java


class Fenced:
    """Something that is written with a token, and never with an older one."""

    def __init__(self) -> None:
        self._newest = 0

    def write(self, token: int) -> None:
        if token < self._newest:
            raise interlock.StaleToken("it", token, self._newest)
        self._newest = token
