"""redsync, node-redlock and our mutex() on the same five servers, which vote."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from interlock import AcquireTimeout, LockLost, StoreUnavailable
from interlock.backends.redis.keys import keys_of
from tests.support.eventually import eventually
from tests.support.redlocks import RedlockServers
from tests.support.worlds import WORLDS, Threads, World

from ..harness import peers
from ..harness.foreign import SOON, ForeignError
from ..harness.matrix import BOTH, FIVE, TO_THEM, TO_US, meets
from .looking import PROMPTLY, SLACK
from .plain import PRIMITIVES, Peer

pytestmark = meets(ours="mutex()", place=FIVE)

MAJORITY = 3

PARAMS = [
    pytest.param(client, marks=meets(client=client, primitive=PRIMITIVES[client]))
    for client in ("redsync", "node-redlock")
]

#: So many tries of a foreign waiter last longer than any test.
PATIENTLY = 500


class Voters(RedlockServers):
    """Five servers, and what they say of a name."""

    @property
    def ports(self) -> list[int]:
        return [each.port for each in self.servers]

    def holder(self, name: str) -> str | None:
        """The value that a majority has."""
        values = Counter(client.get(name) for client in self.clients)
        value, votes = values.most_common(1)[0]
        return value.decode() if value is not None and votes >= MAJORITY else None

    def is_free(self, name: str) -> bool:
        return not any(client.exists(name) for client in self.clients)

    def left(self, name: str) -> float:
        """Seconds until a majority is free again."""
        return float(sorted(client.pttl(name) for client in self.clients)[MAJORITY - 1]) / 1000

    def await_another_try(self) -> None:
        """Until every server was asked twice, so that the try that is under way is over."""
        for client in self.clients:
            client.config_resetstat()
        eventually(lambda: all(_scripts(client) >= 2 for client in self.clients))

    def listeners(self, name: str) -> int:
        """How many wait: ours listen on one of the servers, and the others on none."""
        channel = keys_of(name).channel
        return sum(client.pubsub_numsub(channel)[0][1] for client in self.clients)


def _scripts(client: Any) -> int:
    """How many scripts a server has executed."""
    stats = client.info("commandstats")
    words = ("cmdstat_eval", "cmdstat_evalsha")
    return sum(int(stats[word]["calls"]) for word in words if word in stats)


@pytest.fixture(scope="module")
def voters() -> Iterator[Voters]:
    """Five servers for every test that does not hurt them."""
    with Voters() as voters:
        yield voters


@pytest.fixture
def url(voters: Voters) -> str:
    voters.flush()
    return voters.url()


@pytest.fixture(scope="module", params=PARAMS)
def peer(request: pytest.FixtureRequest, voters: Voters) -> Iterator[Peer]:
    with peers.MUTEX_PEERS[request.param](*voters.ports) as process:
        yield Peer(process)


@pytest.fixture(params=PARAMS)
def victim(request: pytest.FixtureRequest, voters: Voters) -> Iterator[Peer]:
    """A foreign client that a test may kill."""
    with peers.MUTEX_PEERS[request.param](*voters.ports) as process:
        yield Peer(process)


# --- one holds, the other wants it ---------------------------------------------------------------


@meets(direction=TO_US)
def test_we_are_refused_what_they_hold_and_get_it_after_their_release(
    peer: Peer, world: World, url: str, name: str, voters: Voters
) -> None:
    theirs = peer.lock(name)
    mutex = world.connect(url).mutex(name)
    assert voters.holder(name) == theirs
    assert world.do(mutex.try_acquire) is None
    with pytest.raises(AcquireTimeout):
        world.do(lambda: mutex.acquire(timeout=0.1))
    assert voters.holder(name) == theirs
    waiting = world.start(mutex.acquire)
    eventually(lambda: voters.listeners(name) == 1)
    assert not waiting.done()
    peer.unlock(name)
    hold = waiting.result(PROMPTLY)  # it asks five to ten times a second
    assert voters.holder(name) == hold.owner
    world.do(hold.release)
    eventually(lambda: voters.is_free(name))


@meets(direction=TO_THEM)
def test_they_are_refused_what_we_hold_and_get_it_after_our_release(
    peer: Peer, world: World, url: str, name: str, voters: Voters
) -> None:
    hold = world.do(world.connect(url).mutex(name).acquire)
    assert peer.refused(name)
    assert voters.holder(name) == hold.owner
    waiting = peer.start(name, tries=PATIENTLY)
    assert not waiting.done()
    world.do(hold.release)
    assert voters.holder(name) in (None, waiting.result(SLACK))
    peer.unlock(name)
    eventually(lambda: voters.is_free(name))


@meets(direction=BOTH)
def test_turns_alternate_and_our_tokens_grow(
    peer: Peer, world: World, url: str, name: str, voters: Voters
) -> None:
    """Each side waits while the other holds; a majority always says who it is."""
    mutex, tokens = world.connect(url).mutex(name), [0]
    for _ in range(4):
        hold = world.do(mutex.acquire)
        tokens.append(hold.token)
        theirs = peer.start(name, tries=PATIENTLY)
        assert voters.holder(name) == hold.owner
        world.do(hold.release)
        assert theirs.result(SLACK) == voters.holder(name)
        ours = world.start(mutex.acquire)
        eventually(lambda: voters.listeners(name) == 1)
        assert not ours.done()
        peer.unlock(name)
        hold = ours.result(SLACK)
        tokens.append(hold.token)
        world.do(hold.release)
    assert tokens == sorted(set(tokens))


# --- leases --------------------------------------------------------------------------------------


@meets(direction=TO_US)
def test_their_crash_is_outlived_by_their_lease_and_no_longer(
    victim: Peer, world: World, url: str, name: str, voters: Voters
) -> None:
    victim.lock(name, lease_ms=1500)
    waiting = world.start(world.connect(url).mutex(name).acquire)
    eventually(lambda: voters.listeners(name) == 1)
    victim.process.kill()
    killed, left = time.monotonic(), voters.left(name)
    hold = waiting.result(left + SLACK)
    assert time.monotonic() - killed > left - 0.01
    world.do(hold.release)


@meets(direction=TO_THEM)
def test_our_crash_is_outlived_by_our_lease_and_no_longer(
    peer: Peer, url: str, name: str, voters: Voters
) -> None:
    with peers.ours(url) as ours:
        ours.ask(verb="acquire", kind="mutex", name=name, terms={"lease": 1.5}, handle="h")
        waiting = peer.start(name, tries=PATIENTLY)
        ours.kill()
    killed, left = time.monotonic(), voters.left(name)
    waiting.result(left + SLACK)
    assert time.monotonic() - killed > left - 0.01
    peer.unlock(name)


@meets(direction=TO_US)
def test_their_late_release_leaves_our_mutex_alone(
    peer: Peer, world: World, url: str, name: str, voters: Voters
) -> None:
    peer.lock(name, lease_ms=300)
    hold = world.do(world.connect(url).mutex(name).acquire)
    for late in (peer.unlock, peer.extend):
        with pytest.raises(ForeignError):
            late(name)
        assert voters.holder(name) == hold.owner
        assert not hold.lost
    world.do(hold.release)


@meets(direction=TO_THEM)
def test_our_late_release_leaves_their_mutex_alone(
    peer: Peer, world: World, url: str, name: str, voters: Voters
) -> None:
    hold = world.do(world.connect(url).mutex(name, lease=0.3, renew=False).acquire)
    theirs = peer.start(name, tries=PATIENTLY).result(SLACK)
    with pytest.raises(LockLost):
        world.do(hold.release)
    assert voters.holder(name) == theirs
    peer.unlock(name)


@meets(direction=TO_US)
def test_what_they_extend_stays_theirs(
    peer: Peer, world: World, url: str, name: str, voters: Voters
) -> None:
    peer.lock(name, lease_ms=2000)
    eventually(lambda: voters.left(name) < 1.8)
    peer.extend(name)
    assert voters.left(name) > 1.8
    mutex = world.connect(url).mutex(name)
    assert world.do(mutex.try_acquire) is None
    peer.unlock(name)
    world.do(world.do(mutex.acquire).release)


@meets(direction=TO_THEM)
def test_what_we_keep_is_refused_to_them_beyond_its_lease(
    peer: Peer, world: World, url: str, name: str
) -> None:
    hold = world.do(world.connect(url).mutex(name, lease=0.6).acquire)
    end = time.monotonic() + 2.0
    while time.monotonic() < end:
        assert peer.refused(name)
        time.sleep(0.05)
    assert not hold.lost
    world.do(hold.release)


# --- all of them want it -------------------------------------------------------------------------


class Room:
    """What the mutex guards: each that is in it is named by a majority, and is alone."""

    def __init__(self, voters: Voters, name: str) -> None:
        self._voters, self._name, self._door = voters, name, threading.Lock()
        self.visits: Counter[str] = Counter()
        self.tokens: list[int] = []

    def visit(self, visitor: str, value: str, token: int = 0) -> None:
        assert self._door.acquire(blocking=False), f"{visitor} is not alone"
        try:
            assert self._voters.holder(self._name) == value
            self.visits[visitor] += 1
            self.tokens += [token] if token else []
        finally:
            self._door.release()


def ours_again_and_again(world: World, mutex: Any, room: Room, end: float) -> None:
    while time.monotonic() < end:
        hold = world.do(lambda: mutex.acquire(timeout=SOON))
        room.visit(world.name, hold.owner, hold.token)
        world.do(hold.release)


def theirs_again_and_again(peer: Peer, name: str, handle: str, room: Room, end: float) -> None:
    while time.monotonic() < end:
        try:
            value = peer.start(name, handle=handle).result(SOON)
        except ForeignError:  # refused, or the votes were split
            time.sleep(random.uniform(0.01, 0.05))
        else:
            room.visit(handle, value)
            peer.unlock(handle)


@pytest.fixture
def both_worlds() -> Iterator[list[World]]:
    worlds = [WORLDS[each]() for each in sorted(WORLDS)]
    yield worlds
    for world in worlds:
        world.close()


@meets(direction=BOTH)
def test_of_all_who_want_it_one_at_a_time_has_a_majority(
    peer: Peer,
    both_worlds: list[World],
    url: str,
    name: str,
    voters: Voters,
    seconds: float,
    record_property: Callable[[str, object], None],
) -> None:
    """Two of theirs, a thread and a task of ours.  Theirs try once, again and again: see below."""
    room, end = Room(voters, name), time.monotonic() + seconds / 2
    with ThreadPoolExecutor(4) as pool:
        working = [
            pool.submit(theirs_again_and_again, peer, name, handle, room, end)
            for handle in ("first", "second")
        ]
        working += [
            pool.submit(ours_again_and_again, world, world.connect(url).mutex(name), room, end)
            for world in both_worlds
        ]
        for each in working:
            each.result(seconds + 2 * SOON)
    record_property("figures", f"{room.visits.total()} visits: {dict(room.visits)}")
    assert set(room.visits) == {"first", "second", *WORLDS}
    assert room.tokens == sorted(set(room.tokens))


@meets("node-redlock", PRIMITIVES["node-redlock"], direction=TO_US)
def test_votes_that_node_redlock_keeps_between_its_tries_cost_us_their_lease_and_no_more(
    world: World, url: str, name: str, voters: Voters
) -> None:
    """It gives votes back after its last try only, and counts those of one try: where the servers
    become free one after another it has all votes, and is not granted the lock."""
    for client in voters.clients[2:]:
        client.set(name, "another")
    with peers.node_redlock(*voters.ports) as process:
        theirs = Peer(process).start(name, tries=PATIENTLY)
        voters.await_another_try()
        for client in voters.clients[2:]:
            client.delete(name)
            voters.await_another_try()
        waiting = world.start(world.connect(url).mutex(name).acquire)
        eventually(lambda: voters.listeners(name) == 1)
        assert all(client.exists(name) for client in voters.clients)
        assert not theirs.done()
        process.kill()
    for client in voters.clients:  # in place of what is left of 20 s
        client.pexpire(name, 500)
    world.do(waiting.result(0.5 + SLACK).release)


# --- servers that die ----------------------------------------------------------------------------


@pytest.fixture(params=PARAMS)
def frail(request: pytest.FixtureRequest) -> Iterator[tuple[Voters, Peer]]:
    """Five servers that a test may kill, and a foreign client of theirs."""
    with Voters() as voters, peers.MUTEX_PEERS[request.param](*voters.ports) as process:
        yield voters, Peer(process)


@meets(direction=BOTH)
def test_two_dead_servers_let_in_neither_beside_the_other(
    frail: tuple[Voters, Peer], world: World, name: str
) -> None:
    voters, peer = frail
    mutex = world.connect(voters.url()).mutex(name)
    theirs = peer.lock(name)
    eventually(lambda: all(client.exists(name) for client in voters.clients))
    for server in voters.servers[:2]:
        server.kill()
    voters.clients = voters.clients[2:]
    assert world.do(mutex.try_acquire) is None
    assert voters.holder(name) == theirs
    peer.unlock(name)
    hold = world.do(lambda: mutex.acquire(timeout=SOON))
    with pytest.raises(ForeignError):
        peer.lock(name)
    assert voters.holder(name) == hold.owner
    world.do(hold.release)
    peer.start(name, tries=PATIENTLY).result(SOON)


@meets(direction=TO_THEM)
def test_servers_that_came_back_empty_vote_for_them_at_once_and_not_for_ours(
    frail: tuple[Voters, Peer], name: str
) -> None:
    """SET NX does not ask the guard: so two believe that they hold it, until our lease ends."""
    voters, peer = frail
    world, url = Threads(), voters.url("longest_lease=3s")
    mutex = world.connect(url).mutex(name, lease=3, renew=False)
    hold = world.do(lambda: mutex.acquire(timeout=SOON))  # all have just started, and wait as well
    for server in voters.servers[:MAJORITY]:
        server.kill()
        server.start()
    with pytest.raises(StoreUnavailable, match="have restarted"):
        world.do(world.connect(url).mutex(name, lease=3).try_acquire)
    theirs = peer.start(name, tries=PATIENTLY).result(SOON)
    assert voters.holder(name) == theirs
    assert not hold.lost
    world.close()
