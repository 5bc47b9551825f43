"""A server whose memory is full (maxmemory, noeviction): it gives nothing out, and keeps and
takes back whatever is held, of every kind alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from interlock import AcquireTimeout, LockLost, StoreUnavailable
from tests.support.servers import RedisServer

from ...support.eventually import eventually
from ...support.worlds import World
from .watching import litter, raw, tombs

pytestmark = pytest.mark.server

#: Everything that can be held, by one at a time.
KINDS: dict[str, Callable[..., Any]] = {
    "lock": lambda client, **terms: client.lock("k", **terms),
    "mutex": lambda client, **terms: client.mutex("k", **terms),
    "fair_lock": lambda client, **terms: client.fair_lock("k", **terms),
    "fenced_lock": lambda client, **terms: client.fenced_lock("k", **terms),
    "read": lambda client, **terms: client.rwlock("k", **terms).read(),
    "write": lambda client, **terms: client.rwlock("k", **terms).write(),
    "semaphore": lambda client, **terms: client.semaphore("k", permits=1, **terms),
    "leased_semaphore": lambda client, **terms: client.leased_semaphore("k", permits=1, **terms),
}

#: What stays of a name that nobody holds.
LASTING = {"redisson_lock_token:{k}", "interlock:kind:{k}"}


@pytest.fixture(params=sorted(KINDS))
def kind(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


@pytest.fixture
def peek(own_redis: RedisServer) -> Iterator[Any]:
    """A plain client of the server that this test may hurt."""
    with raw(own_redis.port) as client:
        yield client


def fill(peek: Any, full: bool = True) -> None:
    """From now on there is no memory, or as much as there is."""
    peek.config_set("maxmemory-policy", "noeviction")
    peek.config_set("maxmemory", "1" if full else "0")


def waiters(peek: Any) -> int:
    ours, fair = "interlock:queue:{k}", "redisson_lock_queue:{k}"
    return int(peek.zcard(ours)) + int(peek.llen(fair))


def left_behind(peek: Any) -> set[str]:
    """What should not be there; the free permits of a semaphore should, and their kind."""
    if peek.type("k") == "string":
        assert peek.get("k") == "1"
    return litter(peek) - LASTING - ({"k"} if peek.type("k") == "string" else set())


def taken(world: World, url: str, kind: str, **terms: Any) -> Any:
    """A hold of a client that has introduced itself, so that memory is needed for nothing."""
    return world.do(KINDS[kind](world.connect(url), **terms).acquire)


def test_every_kind_is_refused_and_every_lease_is_kept_and_given_back(
    own_redis: RedisServer, world: World, peek: Any, kind: str
) -> None:
    hold = taken(world, own_redis.url, kind, lease=0.9)
    fill(peek)
    with pytest.raises((StoreUnavailable, AcquireTimeout)):
        world.do(lambda: KINDS[kind](world.connect(own_redis.url)).acquire(timeout=0))
    for _ in range(4):  # longer than a lease
        until = hold._lease.until
        eventually(lambda until=until: hold._lease.until > until or hold.lost)  # type: ignore[misc]
    assert not hold.lost
    world.do(hold.release)
    assert left_behind(peek) == tombs(peek)


def test_what_is_given_back_goes_to_who_waits_and_who_gives_up_leaves_nothing(
    own_redis: RedisServer, world: World, peek: Any, kind: str
) -> None:
    rival = "write" if kind == "read" else kind
    hold = taken(world, own_redis.url, rival)
    first = world.start(KINDS[kind](world.connect(own_redis.url)).acquire)
    eventually(lambda: waiters(peek) == 1)
    third = KINDS[kind](world.connect(own_redis.url))
    impatient = world.start(lambda: third.acquire(timeout=0.5))
    eventually(lambda: waiters(peek) == 2)
    fill(peek)
    with pytest.raises(AcquireTimeout):
        impatient.result(5)
    world.do(hold.release)
    world.do(first.result(5).release)  # claimed and given back while memory is full
    fill(peek, False)
    assert left_behind(peek) == tombs(peek)


def test_an_operator_can_take_everything_back(
    own_redis: RedisServer, world: World, peek: Any, kind: str
) -> None:
    hold = taken(world, own_redis.url, kind)
    fill(peek)
    operator = world.connect(own_redis.url)
    assert world.do(lambda: operator.revoke("k", reason="stuck"))
    with pytest.raises(LockLost):
        world.do(hold.release)
    assert left_behind(peek) == tombs(peek)


def test_a_writer_can_go_on_as_a_reader(own_redis: RedisServer, world: World, peek: Any) -> None:
    hold = taken(world, own_redis.url, "write")
    fill(peek)
    world.do(hold.downgrade)
    assert peek.hget("k", "mode") == "read"
    world.do(hold.release)
    assert left_behind(peek) == tombs(peek)


def test_a_latch_is_counted_down(own_redis: RedisServer, world: World, peek: Any) -> None:
    """That is how others are let go, as a release is."""
    latch = world.connect(own_redis.url).latch("k")
    world.do(lambda: latch.start(2))
    fill(peek)
    assert world.do(latch.count_down) == 1
    assert world.do(latch.count_down) == 0
    assert left_behind(peek) == tombs(peek)
    fill(peek, False)
    assert world.do(latch.wait)
