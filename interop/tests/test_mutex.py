"""The plain SET NX PX of redsync, node-redlock and redis-py, and our mutex()."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from interlock import AcquireTimeout, LockLost
from tests.support.eventually import eventually
from tests.support.worlds import World

from ..harness import peers
from ..harness.foreign import ForeignError
from ..harness.matrix import BOTH, TO_THEM, TO_US, meets
from ..harness.modes import Servers
from .looking import SLACK, waiters
from .plain import PRIMITIVES, Peer

pytestmark = meets(ours="mutex()")

PARAMS = [
    pytest.param(client, marks=meets(client=client, primitive=primitive))
    for client, primitive in PRIMITIVES.items()
]


@pytest.fixture(scope="module", params=PARAMS)
def peer(request: pytest.FixtureRequest, servers: Servers) -> Iterator[Peer]:
    with peers.MUTEX_PEERS[request.param](servers.port_of("")) as process:
        yield Peer(process)


@pytest.fixture(params=PARAMS)
def victim(request: pytest.FixtureRequest, servers: Servers) -> Iterator[Peer]:
    """A foreign client that a test may kill."""
    with peers.MUTEX_PEERS[request.param](servers.port_of("")) as process:
        yield Peer(process)


@meets(direction=TO_US)
def test_we_are_refused_what_they_hold_and_get_it_after_their_release(
    peer: Peer, world: World, redis_url: str, name: str, peek: Any
) -> None:
    peer.lock(name)
    mutex = world.connect(redis_url).mutex(name)
    assert world.do(lambda: mutex.acquire(blocking=False)) is None
    with pytest.raises(AcquireTimeout):
        world.do(lambda: mutex.acquire(timeout=0.1))
    waiting = world.start(mutex.acquire)
    eventually(lambda: waiters(peek, name) == 1)
    peer.unlock(name)
    world.do(waiting.result(SLACK).release)
    assert not peek.exists(name)


@meets(direction=TO_THEM)
def test_they_are_refused_what_we_hold_and_get_it_after_our_release(
    peer: Peer, world: World, redis_url: str, name: str
) -> None:
    hold = world.do(world.connect(redis_url).mutex(name).acquire)
    assert peer.refused(name)
    waiting = peer.start(name, tries=500)
    assert not waiting.done()
    world.do(hold.release)
    waiting.result(SLACK)
    peer.unlock(name)


@meets(direction=TO_US)
def test_their_crash_is_outlived_by_their_lease_and_no_longer(
    victim: Peer, world: World, redis_url: str, name: str, peek: Any
) -> None:
    victim.lock(name, lease_ms=1500)
    waiting = world.start(world.connect(redis_url).mutex(name).acquire)
    eventually(lambda: waiters(peek, name) == 1)
    victim.process.kill()
    killed, left = time.monotonic(), peek.pttl(name) / 1000
    hold = waiting.result(left + SLACK)
    assert time.monotonic() - killed > left - 0.01
    world.do(hold.release)


@meets(direction=TO_THEM)
def test_our_crash_is_outlived_by_our_lease_and_no_longer(
    peer: Peer, servers: Servers, name: str, peek: Any
) -> None:
    with peers.ours(servers.url) as ours:
        ours.ask(verb="acquire", kind="mutex", name=name, terms={"lease": 1.5}, handle="h")
        waiting = peer.start(name, tries=500)
        ours.kill()
    killed, left = time.monotonic(), peek.pttl(name) / 1000
    waiting.result(left + SLACK)
    assert time.monotonic() - killed > left - 0.01


@meets(direction=TO_US)
def test_their_late_release_leaves_our_mutex_alone(
    peer: Peer, world: World, redis_url: str, name: str, peek: Any
) -> None:
    peer.lock(name, lease_ms=200)
    hold = world.do(world.connect(redis_url).mutex(name).acquire)
    for late in (peer.unlock, peer.extend):
        with pytest.raises(ForeignError):
            late(name)
        assert peek.get(name) == hold.owner
        assert not hold.lost
    world.do(hold.release)


@meets(direction=TO_THEM)
def test_our_late_release_leaves_their_mutex_alone(
    peer: Peer, world: World, redis_url: str, name: str, peek: Any
) -> None:
    hold = world.do(world.connect(redis_url).mutex(name, lease=0.3, renew=False).acquire)
    peer.start(name, tries=500).result(SLACK)
    theirs = peek.get(name)
    with pytest.raises(LockLost):
        world.do(hold.release)
    assert peek.get(name) == theirs != hold.owner
    peer.unlock(name)


@meets(direction=TO_US)
def test_what_they_extend_stays_theirs(
    peer: Peer, world: World, redis_url: str, name: str, peek: Any
) -> None:
    peer.lock(name, lease_ms=2000)
    peer.extend(name)
    assert peek.pttl(name) > 1000
    mutex = world.connect(redis_url).mutex(name)
    assert world.do(lambda: mutex.acquire(blocking=False)) is None
    peer.unlock(name)
    world.do(world.do(mutex.acquire).release)


@meets(direction=TO_THEM)
def test_what_we_keep_is_refused_to_them_beyond_its_lease(
    peer: Peer, world: World, redis_url: str, name: str
) -> None:
    hold = world.do(world.connect(redis_url).mutex(name, lease=0.6).acquire)
    end = time.monotonic() + 2.0
    while time.monotonic() < end:
        assert peer.refused(name)
        time.sleep(0.05)
    assert not hold.lost
    world.do(hold.release)


@meets(direction=BOTH)
def test_turns_alternate_without_an_overlap(
    peer: Peer, world: World, redis_url: str, name: str, peek: Any
) -> None:
    """Each side waits while the other holds; the key always says who it is."""
    mutex = world.connect(redis_url).mutex(name)
    for _ in range(5):
        hold = world.do(mutex.acquire)
        theirs = peer.start(name, tries=500)
        assert peek.get(name) == hold.owner
        world.do(hold.release)
        theirs.result(SLACK)
        assert peek.get(name) != hold.owner
        ours = world.start(mutex.acquire)
        eventually(lambda: waiters(peek, name) == 1)
        assert not ours.done()
        peer.unlock(name)
        world.do(ours.result(SLACK).release)
