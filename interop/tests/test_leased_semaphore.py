"""Redisson's RPermitExpirableSemaphore and our leased_semaphore(): ids and ends of permits."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from interlock import LockLost
from interlock.backends.redis.keys import leases_key
from interlock.model import permit_id
from tests.support.eventually import eventually
from tests.support.worlds import World

from ..harness.foreign import Foreign, ForeignError
from ..harness.matrix import BOTH, TO_THEM, TO_US, meets
from ..harness.modes import Servers, everywhere
from ..harness.peers import Actor, Cast
from .looking import PROMPTLY, SLACK, subscribers, waiters

pytestmark = meets("Redisson", "RPermitExpirableSemaphore", "leased_semaphore()")

KIND = "leased_semaphore"


@pytest.fixture
def bare(servers: Servers, name: str, peek: Any) -> Iterator[Any]:
    """A look at the bytes."""
    with redis.Redis(port=servers.port_of(name)) as client:
        yield client


def ids(bare: Any, name: str) -> set[str]:
    """Which permits are held; every id is of 16 bytes."""
    members: list[bytes] = bare.zrange(leases_key(name), 0, -1)
    assert all(len(member) == 16 for member in members)
    return {member.hex() for member in members}


@everywhere
@meets(direction=BOTH)
def test_both_see_the_same_permits(
    world: World, redis_url: str, java: Actor, name: str, bare: Any
) -> None:
    """Free and held are counted together, whoever takes and whoever counts."""
    client = world.connect(redis_url)
    semaphore = client.leased_semaphore(name, permits=3)
    permit = world.do(semaphore.acquire)
    theirs = java.ask(KIND, "acquire", name, lease_ms=20_000)
    assert ids(bare, name) == {permit.id, theirs}
    for available in (java.ask(KIND, "availablePermits", name), world.do(semaphore.available)):
        assert available == 1
    assert java.ask(KIND, "acquiredPermits", name) == 2
    info = world.do(lambda: client.inspect(name))
    assert (info.kind, info.permits) == (KIND, 3)
    assert {holder.owner for holder in info.holders} == {permit.owner, theirs}
    world.do(permit.release)
    java.ask(KIND, "release", name, permit=theirs)
    assert java.ask(KIND, "availablePermits", name) == 3
    assert ids(bare, name) == set()


@meets(direction=TO_THEM)
def test_java_can_end_our_permit_by_its_id(
    world: World, redis_url: str, java: Actor, name: str, bare: Any
) -> None:
    semaphore = world.connect(redis_url).leased_semaphore(name, permits=2)
    permit = world.do(semaphore.acquire)
    assert java.ask(KIND, "tryRelease", name, permit=permit.id) is True
    assert java.ask(KIND, "tryRelease", name, permit=permit.id) is False
    with pytest.raises(LockLost):
        world.do(permit.release)
    assert java.ask(KIND, "availablePermits", name) == 2
    assert ids(bare, name) == set()


@meets(direction=TO_US)
def test_an_operator_of_ours_can_end_javas_permit(
    world: World, redis_url: str, java: Actor, name: str, bare: Any
) -> None:
    java.ask(KIND, "trySetPermits", name, permits=1)
    theirs = java.ask(KIND, "acquire", name)  # for good
    client = world.connect(redis_url)
    info = world.do(lambda: client.revoke(name, "stuck"))
    assert [holder.owner for holder in info.holders] == [theirs]
    with pytest.raises(ForeignError):
        java.ask(KIND, "release", name, permit=theirs)
    assert java.ask(KIND, "availablePermits", name) == 1


@meets(direction=TO_THEM)
def test_java_can_prolong_our_permit(
    world: World, redis_url: str, java: Actor, name: str, bare: Any
) -> None:
    semaphore = world.connect(redis_url).leased_semaphore(name, permits=1, lease=5, renew=False)
    permit = world.do(semaphore.acquire)
    args = {"permit": permit.id, "lease_ms": 60_000}
    assert java.ask(KIND, "updateLeaseTime", name, **args) is True
    (ends,) = (score for _, score in bare.zrange(leases_key(name), 0, -1, withscores=True))
    assert ends / 1000 > time.time() + 50
    world.do(permit.release)


@everywhere
@meets(direction=TO_THEM)
def test_javas_waiter_has_a_permit_promptly_after_our_release(
    world: World, redis_url: str, java: Actor, name: str, bare: Any
) -> None:
    permit = world.do(world.connect(redis_url).leased_semaphore(name, permits=1).acquire)
    turn = java.start(KIND, "acquire", name, lease_ms=20_000)
    eventually(lambda: java.parked)
    world.do(permit.release)
    theirs = turn.result(PROMPTLY)
    assert ids(bare, name) == {theirs}


@everywhere
@meets(direction=TO_US)
def test_our_waiter_has_a_permit_promptly_after_javas_release(
    world: World, redis_url: str, java: Actor, name: str, bare: Any, peek: Any
) -> None:
    java.ask(KIND, "trySetPermits", name, permits=1)
    theirs = java.ask(KIND, "acquire", name, lease_ms=20_000)
    turn = world.start(world.connect(redis_url).leased_semaphore(name).acquire)
    eventually(lambda: waiters(peek, name) == 1 == subscribers(peek, name, "semaphore"))
    java.ask(KIND, "release", name, permit=theirs)
    permit = turn.result(PROMPTLY)
    assert ids(bare, name) == {permit.id}
    world.do(permit.release)


@meets(direction=TO_THEM)
def test_java_gets_the_permit_of_our_dead_when_its_lease_ends(
    our_victim: Foreign, java: Actor, name: str, bare: Any
) -> None:
    terms = {"permits": 1, "lease": 2}
    owner = our_victim.ask(verb="acquire", kind=KIND, name=name, terms=terms, handle="h")
    our_victim.kill()
    assert ids(bare, name) == {permit_id(owner).hex()}
    (ends,) = (score for _, score in bare.zrange(leases_key(name), 0, -1, withscores=True))
    theirs = java.ask(KIND, "acquire", name, lease_ms=20_000)
    assert -0.01 < time.time() - ends / 1000 < SLACK
    assert ids(bare, name) == {theirs}
    assert java.ask(KIND, "availablePermits", name) == 0


@meets(direction=TO_US)
def test_we_get_javas_permit_when_its_lease_ends(
    world: World, redis_url: str, java: Actor, name: str, bare: Any
) -> None:
    java.ask(KIND, "trySetPermits", name, permits=1)
    theirs = java.ask(KIND, "acquire", name, lease_ms=1500)
    (ends,) = (score for _, score in bare.zrange(leases_key(name), 0, -1, withscores=True))
    permit = world.do(world.connect(redis_url).leased_semaphore(name).acquire)
    assert -0.01 < time.time() - ends / 1000 < SLACK
    assert ids(bare, name) == {permit.id}
    with pytest.raises(ForeignError):
        java.ask(KIND, "release", name, permit=theirs)
    world.do(permit.release)


@meets(direction=BOTH)
def test_what_we_keep_is_refused_to_java_beyond_its_lease(
    world: World, redis_url: str, cast: Cast, name: str
) -> None:
    """Our permits are renewed, though Redisson has no watchdog for its own."""
    java = cast.actor()
    semaphore = world.connect(redis_url).leased_semaphore(name, permits=1, lease=1)
    permit, end = world.do(semaphore.acquire), time.monotonic() + 2.5
    while time.monotonic() < end:
        assert java.ask(KIND, "tryAcquire", name, lease_ms=1000) is None
        time.sleep(0.05)
    assert not permit.lost
    world.do(permit.release)
    assert java.ask(KIND, "tryAcquire", name, lease_ms=1000) is not None
