"""Java beside us on leased semaphores: ids, ends and clocks of both."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from interlock.backends.redis.semaphores import NEVER
from interlock.drive import now
from interlock.model import permit_id
from tests.support.servers import RedisServer

from ...support.eventually import eventually
from ...support.worlds import World
from .counted import (
    CHANNEL,
    HOLDERS,
    KIND,
    KINDS,
    LEASES,
    Java,
    Meet,
    Person,
    free,
    permits_of,
    share_of,
)
from .watching import litter, messages

pytestmark = pytest.mark.server

each_kind = pytest.mark.parametrize("kind", KINDS)

#: A permit as Java draws them; and one whose bits could be ours, but for its number.
STRANGER, DOUBLE = "6e3814a1e847452ba98245baf93a1df2", "6e3814a1e847852ba98245baf93a1df8"


@pytest.fixture
def meet(world: World, redis_url: str) -> Meet:
    """Make people; they leave with the world."""
    return lambda store: Person(world, redis_url, store)


@pytest.fixture
def java(peek: Any) -> Java:
    return Java(peek)


@pytest.fixture
def bare(redis_server: RedisServer, redis_url: str) -> Iterator[Any]:
    """A look at the bytes."""
    with redis.Redis(port=redis_server.port) as client:
        yield client


def test_permit_of_ours_is_one_that_java_can_read(meet: Meet, java: Java, bare: Any) -> None:
    person = meet(permits_of("leased_semaphore", 2))
    grant = person.take(lease=20)

    [(permit, ends)] = bare.zrange(LEASES, 0, -1, withscores=True)
    assert permit == permit_id(grant.owner) and len(permit) == 16
    assert ends == int(ends)
    assert 18_000 < ends - time.time() * 1000 < 22_000
    assert java.release_leased(permit.hex())
    assert person.do(person.store.renew([("k", grant.owner)], 9.0, now() + 5)) == [False]
    assert not person.give(grant)
    assert free(bare) == 2


def test_client_with_a_fast_clock_takes_a_permit_and_not_the_count(
    meet: Meet, java: Java, peek: Any
) -> None:
    """D5: Java judges leases by its own clock.  We notice, and do not give back twice."""
    person = meet(permits_of("leased_semaphore", 2))
    grant = person.take(lease=20)
    java.release_leased(permit_id(grant.owner).hex())  # as its reclaiming does
    other = person.take()

    assert person.do(person.store.renew([("k", grant.owner)], 9.0, now() + 5)) == [False]
    assert not person.give(grant)
    assert person.give(other)
    assert free(peek) == 2


def test_permit_that_java_let_run_out_is_taken_back(meet: Meet, java: Java, peek: Any) -> None:
    person = meet(permits_of("leased_semaphore", 1))
    person.give(person.take())
    java.acquire_leased(STRANGER, 1_000)
    with messages(peek, "redisson*") as published:
        person.take()
        assert published() == [(CHANNEL, "1")]
    assert free(peek) == 0


def test_permit_that_never_ends_is_shown_as_javas(meet: Meet, java: Java, peek: Any) -> None:
    person = meet(permits_of("leased_semaphore", 1))
    person.give(person.take())
    java.acquire_leased(STRANGER, NEVER)

    (holder,) = person.look().holders
    assert (holder.owner, holder.expires_in, person.look().expires_in) == (STRANGER, None, None)
    busy = person.ask()
    assert (busy.holder, busy.left) == (STRANGER, None)


def test_operator_ends_a_permit_of_javas(meet: Meet, java: Java, peek: Any) -> None:
    person = meet(permits_of("leased_semaphore", 1))
    person.give(person.take())
    java.acquire_leased(STRANGER, NEVER)

    assert person.do(person.store.withdraw("k", STRANGER, now() + 5, "stuck"))

    assert free(peek) == 1


@each_kind
def test_ten_thousand_dead_holders_hold_up_nobody(
    meet: Meet, java: Java, peek: Any, kind: str
) -> None:
    """D23: Redisson's scripts fail from about eight thousand on, and for ever."""
    person = meet(permits_of(kind, 10_000))
    person.give(person.take())
    client = meet(permits_of(kind))
    pipeline = peek.pipeline()
    pipeline.decrby("k", 10_000)
    for _ in range(10_000):
        share = share_of(kind, client.owner())
        pipeline.execute_command("ZADD", HOLDERS[kind], 1_000, share)
    pipeline.execute()
    assert free(peek) == 0 and person.look().available == 10_000

    person.take()

    assert free(peek) == 9_999
    assert peek.zcard(HOLDERS[kind]) == 1


@each_kind
def test_holders_end_with_permits_that_java_has_given_an_end(
    meet: Meet, peek: Any, kind: str
) -> None:
    peek.set("k", 2, px=50_000)
    person = meet(permits_of(kind))
    grant = person.take()
    both = "return {redis.call('PTTL', KEYS[1]), redis.call('PTTL', KEYS[2])}"
    own, given = peek.eval(both, 2, HOLDERS[kind], "k")
    assert abs(own - given) <= 5

    peek.pexpire("k", 1)
    peek.pexpire(HOLDERS[kind], 1)

    eventually(lambda: litter(peek) == set())
    assert not person.give(grant)
    assert KIND not in litter(peek)


@each_kind
def test_new_number_of_permits_keeps_the_end_that_java_has_given(
    meet: Meet, peek: Any, kind: str
) -> None:
    peek.set("k", 2, px=50_000)
    person = meet(permits_of(kind))

    person.do(person.store.set_permits("k", 3, now() + 5))

    assert free(peek) == 3
    assert 0 < peek.pttl("k") <= 50_000
