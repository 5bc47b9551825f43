"""Servers die and come back under load: nobody overlaps, tokens rise, waiters survive."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import pytest

from interlock import StoreError
from interlock.events import Lost
from tests.support.ensembles import Ensemble
from tests.support.zookeepers import ZooKeeperServer

from ...support.worlds import PATIENCE, World
from .bare import bare
from .scenes import Recorder, Waiter, eventually, owners, queue

pytestmark = [pytest.mark.server, pytest.mark.slow]

WORKERS = 4

#: Seconds that a worker stays inside, so that whoever comes in as well meets it there.
STAY = 0.005


@pytest.fixture(scope="module")
def shared_ensemble() -> Iterator[Ensemble]:
    with Ensemble(3) as ensemble:
        yield ensemble


@pytest.fixture
def ensemble(shared_ensemble: Ensemble) -> Ensemble:
    """Three servers, all of them serving."""
    shared_ensemble.start()
    return shared_ensemble


class Section:
    """What a lock guards: whoever is not alone in here is found out."""

    def __init__(self) -> None:
        self._door = threading.Lock()
        self.tokens: list[int] = []
        self.overlaps = 0

    @contextmanager
    def entered(self, token: int) -> Iterator[None]:
        """Be inside; whoever finds somebody there stays outside, and leaves the door alone."""
        alone = self._door.acquire(blocking=False)
        if alone:
            self.tokens.append(token)
        else:
            self.overlaps += 1
        try:
            yield
        finally:
            if alone:
                self._door.release()


class Load:
    """Workers that take one lock again and again, each with a session of its own."""

    def __init__(self, world: World, url: str, *forgiven: type[Exception]) -> None:
        self.section, self.stop, self.recorder = Section(), threading.Event(), Recorder()
        #: What may happen to a worker, who then goes on.
        self.forgiven = forgiven
        self._work = work_async if world.name == "tasks" else work
        clients = [world.connect(url, observer=self.recorder) for _ in range(WORKERS)]
        self._workers = [world.start(partial(self._begin, each)) for each in clients]

    def _begin(self, client: Any) -> Any:
        return self._work(client.lock("k"), self)

    def goes_on(self, rounds: int = 20) -> None:
        """Wait until everybody, one with another, has had so many turns from now on."""
        goal = len(self.section.tokens) + rounds * WORKERS
        eventually(lambda: len(self.section.tokens) >= goal, "nobody gets on", PATIENCE)

    def end(self) -> None:
        self.stop.set()
        for each in self._workers:
            each.result(PATIENCE)


def work(lock: Any, load: Load) -> None:
    section = load.section
    while not load.stop.is_set():
        with suppress(*load.forgiven), lock as hold, section.entered(hold.token):
            time.sleep(STAY)


async def work_async(lock: Any, load: Load) -> None:
    section = load.section
    while not load.stop.is_set():
        with suppress(*load.forgiven):
            async with lock as hold:
                with section.entered(hold.token):
                    await asyncio.sleep(STAY)


def test_killed_leader_lets_nobody_overlap_and_tokens_rise(
    ensemble: Ensemble, world: World, zk_path: str
) -> None:
    load = Load(world, ensemble.url(zk_path))
    load.goes_on()
    before = load.section.tokens[-1] >> 32

    ensemble.leader().kill()
    load.goes_on()
    load.end()

    tokens = load.section.tokens
    assert load.section.overlaps == 0
    assert tokens == sorted({*tokens})
    assert tokens[-1] >> 32 > before  # of another leader
    assert load.recorder.count(Lost) == 0


def test_paused_leader_that_was_replaced_lets_nobody_overlap(
    ensemble: Ensemble, world: World, zk_path: str
) -> None:
    """When it is awake again it believes for a moment that it still leads.

    Until it is replaced nothing can be confirmed, and whoever releases is told so.
    """
    load = Load(world, ensemble.url(zk_path), StoreError)
    load.goes_on()
    paused = ensemble.leader()

    paused.pause()
    try:
        load.goes_on()
    finally:
        paused.resume()
    load.goes_on()
    load.end()

    tokens = load.section.tokens
    assert load.section.overlaps == 0
    assert tokens == sorted({*tokens})


def test_follower_that_is_killed_takes_nobody_with_it(
    ensemble: Ensemble, world: World, zk_path: str
) -> None:
    load = Load(world, ensemble.url(zk_path))
    load.goes_on()

    ensemble.followers()[0].kill()
    load.goes_on()
    load.end()

    tokens = load.section.tokens
    assert load.section.overlaps == 0
    assert tokens == sorted({*tokens})
    assert load.recorder.count(Lost) == 0


def test_hold_and_queue_survive_another_leader(
    ensemble: Ensemble, world: World, zk_path: str
) -> None:
    url = ensemble.url(zk_path)
    first = world.do(world.connect(url).lock("k").acquire)
    second = Waiter(world, url)

    ensemble.leader().kill()
    ensemble.leader()

    assert not first.lost
    with bare(ensemble.hosts) as client:
        client.chroot = zk_path
        assert owners(client) == [first.owner, second.owner]
    world.do(first.release)
    assert second.hold().token > first.token
    second.leave()


@pytest.fixture
def own() -> Iterator[ZooKeeperServer]:
    """A server that a test may end."""
    with ZooKeeperServer() as server:
        yield server


@pytest.mark.parametrize("end", [ZooKeeperServer.stop, ZooKeeperServer.kill])
def test_hold_and_queue_survive_a_server_that_comes_back(
    own: ZooKeeperServer, world: World, zk_path: str, end: Any
) -> None:
    url = own.url(zk_path)
    first = world.do(world.connect(url).lock("k").acquire)
    second, third = Waiter(world, url), Waiter(world, url)
    with bare(own.hosts) as client:
        client.chroot = zk_path
        line = queue(client)

        end(own)
        own.start()

        eventually(lambda: client.connected, "no connection")
        assert queue(client) == line
        assert not first.lost
        world.do(first.release)
        second.leave()
        third.leave()
        assert queue(client) == []
