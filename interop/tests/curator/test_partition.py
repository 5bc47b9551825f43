"""The network fails us, and not Java: who holds hears of it in time, who waits keeps its place."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from tests.support.eventually import eventually
from tests.support.frames import ZkProxy
from tests.support.worlds import World

from ...harness.foreign import SOON
from ...harness.matrix import TO_THEM, TO_US, meets
from ...harness.peers import Cast
from .meeting import OURS, Javan, newest
from .standing import ours_standing, standing

pytestmark = [meets("Curator"), newest]

KINDS: dict[str, tuple[dict[str, Any], str, str]] = {
    "mutex": ({}, "InterProcessMutex", "lock()"),
    "write": ({}, "InterProcessReadWriteLock", "rwlock()"),
    "smutex": ({}, "InterProcessSemaphoreMutex", "mutex()"),
    "semaphore": ({"max": 1}, "InterProcessSemaphoreV2", "semaphore()"),
}
kinds = pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=meets(None, *KINDS[kind][1:])) for kind in KINDS]
)

#: Seconds of a session that a test awaits the end of.
BRIEF = 2.0


class Scene:
    """Somebody of ours behind a proxy, and as many of Java as are wanted."""

    def __init__(self, kind: str, path: str, world: World, cast: Cast) -> None:
        self.kind, self.path, self.world, self.cast = kind, path, world, cast
        self.terms = KINDS[kind][0]

    def ours(self, url: str) -> Any:
        return OURS[self.kind](self.world.connect(url), self.path, **self.terms)

    def java(self) -> Javan:
        return Javan(self.cast.actor(), self.kind, self.path, **self.terms)

    def waiting(self) -> Javan:
        """One of Java who was refused, and sleeps."""
        java = self.java()
        java.seek()
        eventually(lambda: java.parked)
        return java


@pytest.fixture
def scene(zk_proxy: ZkProxy, kind: str, path: str, world: World, cast: Cast) -> Scene:
    """The proxy goes after our clients, who say farewell through it."""
    return Scene(kind, path, world, cast)


class Stopwatch:
    """The instant at which something happened."""

    def __init__(self) -> None:
        self.at = 0.0
        self._happened = threading.Event()

    def stop(self, *what: object) -> None:
        self.at = time.monotonic()
        self._happened.set()

    def read(self) -> float:
        assert self._happened.wait(SOON)
        return self.at


def told(turn: Future[Any]) -> Stopwatch:
    watch = Stopwatch()
    turn.add_done_callback(watch.stop)
    return watch


@kinds
@meets(direction=TO_THEM)
def test_holder_hears_of_the_loss_before_java_is_let_in(
    scene: Scene,
    zk_proxy: ZkProxy,
    peek: Any,
    path: str,
    record_property: Callable[[str, object], None],
) -> None:
    """No message passes and no socket closes; the server ends the session when its time is up."""
    lock = scene.ours(f"{zk_proxy.url()}?session_timeout={BRIEF}")
    hold = scene.world.do(lock.acquire)
    lost, removed = Stopwatch(), Stopwatch()
    scene.world.do(lambda: hold.on_lost(lost.stop))
    entered = told(scene.waiting().turn)
    peek.exists(held_by(peek, path, hold.token), watch=removed.stop)
    zk_proxy.silence()
    silent = time.monotonic()
    margin = removed.read() - lost.read()
    record_property(
        "figures",
        f"loss told {lost.at - silent:.2f} s after the silence began, {margin:.2f} s before the "
        f"server ended a session of {BRIEF} s",
    )
    assert margin > 0
    assert lost.at < entered.read()
    assert hold.lost
    zk_proxy.silence(False)


def held_by(peek: Any, path: str, token: int) -> str:
    """The node with this token."""
    (node,) = [each for each in ours_standing(peek, path) if peek.exists(each).czxid == token]
    return node


def placed(peek: Any, path: str, kind: str) -> list[str] | None:
    """Our nodes once we wait; for a permit one waits with a lease too many, first in line."""
    nodes = ours_standing(peek, path)
    return nodes if len(nodes) == (2 if kind in ("smutex", "semaphore") else 1) else None


@kinds
@meets(direction=TO_US)
def test_waiter_keeps_its_place_over_a_short_cut(
    scene: Scene, zk_proxy: ZkProxy, peek: Any, path: str
) -> None:
    """Java gives back during the cut, and who came later has to wait until we are back."""
    holder = scene.java()
    holder.take()
    turn = scene.world.start(scene.ours(f"{zk_proxy.url()}?session_timeout=10").acquire)
    mine = eventually(lambda: placed(peek, path, scene.kind))
    later = scene.waiting()
    zk_proxy.refuse()
    zk_proxy.cut()
    holder.give()
    assert ours_standing(peek, path) == mine
    assert not turn.done()
    assert not later.turn.done()
    zk_proxy.refuse(False)
    hold = turn.result(SOON)
    assert held_by(peek, path, hold.token) in mine
    assert not later.turn.done()
    scene.world.do(hold.release)
    assert later.turn.result(SOON) is True


@kinds
@meets(direction=TO_US)
def test_waiter_whose_session_ended_stands_behind_those_who_came_meanwhile(
    scene: Scene, zk_proxy: ZkProxy, peek: Any, path: str
) -> None:
    holder = scene.java()
    holder.take()
    turn = scene.world.start(scene.ours(f"{zk_proxy.url()}?session_timeout={BRIEF}").acquire)
    old = eventually(lambda: placed(peek, path, scene.kind))
    later = scene.waiting()
    zk_proxy.refuse()
    zk_proxy.cut()
    eventually(lambda: not ours_standing(peek, path), BRIEF + SOON)
    zk_proxy.refuse(False)
    new = eventually(lambda: ours_standing(peek, path), SOON)
    assert not set(new) & set(old)
    assert not turn.done()
    holder.give()
    assert later.turn.result(SOON) is True
    assert not turn.done()
    later.give()
    hold = turn.result(SOON)
    eventually(lambda: len(standing(peek, path)) == 1)
    scene.world.do(hold.release)
