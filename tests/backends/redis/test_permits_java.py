"""Java beside us on the same semaphores: what Redisson does to them, done by hand."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from interlock.backends.redis.semaphores import NEVER
from interlock.drive import now
from interlock.model import Busy
from interlock.recipes.lock import POLL_CAP
from tests.support.servers import RedisServer

from ...support.eventually import eventually
from ...support.worlds import World
from .counted import (
    CHANNEL,
    KINDS,
    QUEUE,
    Java,
    Meet,
    Person,
    free,
    line_up,
    permits_of,
)
from .watching import Monitor, litter

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


def listeners(peek: Any) -> int:
    return int(dict(peek.pubsub_numsub(CHANNEL))[CHANNEL])


# --- one count for both ------------------------------------------------------------------------


@each_kind
def test_javas_own_semaphore_is_counted_together(
    meet: Meet, java: Java, peek: Any, kind: str
) -> None:
    peek.set("k", 3)
    person = meet(permits_of(kind, 9))
    grants = [person.take(), person.take()]
    assert java.acquire() and not java.acquire()
    assert isinstance(person.ask(), Busy)
    assert person.look().available == 0

    java.release()
    for grant in grants:
        assert person.give(grant)

    assert free(peek) == 3
    assert litter(peek) == {"k"}  # no marker: it is Java's


def test_nobody_knows_how_many_permits_javas_semaphore_has(meet: Meet, peek: Any) -> None:
    peek.set("k", 3)
    person = meet(permits_of("semaphore"))
    person.take()

    assert (person.look().permits, person.look().available) == (None, 2)


def test_java_itself_counts_what_is_leased(meet: Meet, java: Java, peek: Any) -> None:
    peek.set("k", 3)
    java.acquire_leased(STRANGER, NEVER)
    person = meet(permits_of("leased_semaphore"))
    person.take()

    assert (person.look().permits, person.look().available) == (3, 1)


@each_kind
def test_number_of_permits_is_changed_under_java(
    meet: Meet, java: Java, peek: Any, kind: str
) -> None:
    person = meet(permits_of(kind, 3))
    person.take()
    java.acquire()

    person.do(person.store.set_permits("k", 5, now() + 5))

    assert free(peek) == 3
    java.release()
    assert free(peek) == 4


@each_kind
def test_nothing_but_what_is_free_is_ever_published(
    meet: Meet, peek: Any, kind: str, redis_server: RedisServer
) -> None:
    """A payload of zero or less would strike down Java's listener."""
    person = meet(permits_of(kind, 2))
    with Monitor(redis_server.port) as monitor:
        for total in (3, 1, 4, 0, 2):
            person.do(person.store.set_permits("k", total, now() + 5))
            grants = [person.take() for _ in range(free(peek))]
            person.do(person.store.set_permits("k", 1, now() + 5))
            person.ask(lease=0.05, waits=True)
            for grant in grants:
                person.give(grant)
        said = [seen.words for seen in monitor.commands() if seen.verb == "PUBLISH"]
    payloads = [int(words[2]) for words in said if words[1] == CHANNEL]
    assert payloads and min(payloads) > 0


# --- waking each other -------------------------------------------------------------------------


@each_kind
def test_waiter_is_woken_by_javas_message(meet: Meet, java: Java, peek: Any, kind: str) -> None:
    person = meet(permits_of(kind, 1))
    person.give(person.take())
    java.acquire()
    waiting = person.wait()
    eventually(lambda: listeners(peek) == 1 and peek.zcard(QUEUE) == 1)
    began = time.monotonic()

    java.release()

    person.give(waiting.result(5))
    assert time.monotonic() - began < POLL_CAP / 2
    eventually(lambda: listeners(peek) == 0)


def test_waiter_is_woken_when_java_gives_back_a_leased_permit(
    meet: Meet, java: Java, peek: Any
) -> None:
    person = meet(permits_of("leased_semaphore", 1))
    person.give(person.take())
    java.acquire_leased(STRANGER, NEVER)
    waiting = person.wait()
    eventually(lambda: listeners(peek) == 1 and peek.zcard(QUEUE) == 1)
    began = time.monotonic()

    assert java.release_leased(STRANGER)

    person.give(waiting.result(5))
    assert time.monotonic() - began < POLL_CAP / 2


@pytest.mark.parametrize("weight", [1, 2])
def test_nobody_listens_to_java_where_java_holds_nothing(
    meet: Meet, peek: Any, weight: int
) -> None:
    """A release would wake everybody who does."""
    person = meet(permits_of("semaphore", 2 * weight, weight))
    person.take()
    person.take()

    assert not person.ask(waits=True).foreign


def test_nobody_listens_to_java_where_every_id_is_ours(meet: Meet, java: Java, peek: Any) -> None:
    person = meet(permits_of("leased_semaphore", 2))
    grant = person.take()
    person.take()
    assert not person.ask(waits=True).foreign
    person.give(grant)
    java.acquire_leased(DOUBLE, NEVER)

    assert person.ask(waits=True).foreign


@each_kind
def test_release_frees_permits_for_all_where_java_waits(meet: Meet, peek: Any, kind: str) -> None:
    """Java's waiter and ours are both told; whoever asks first gets them."""
    holder, waiter = meet(permits_of(kind, 1)), meet(permits_of(kind))
    grant, owner = holder.take(), waiter.owner()
    with peek.pubsub() as java, peek.pubsub() as subscriber:
        java.subscribe(CHANNEL)
        subscriber.subscribe(f"interlock:wake:{waiter.identity}")
        assert java.get_message(timeout=5) and subscriber.get_message(timeout=5)
        waiter.ask(owner, waits=True)
        assert holder.give(grant)
        assert java.get_message(timeout=5)["data"] == "1"
        assert subscriber.get_message(timeout=5)["data"] == owner
        assert free(peek) == 1
        assert peek.zcard(QUEUE) == 1  # it has kept its place
        assert not isinstance(waiter.ask(owner, waits=True), Busy)


def test_all_that_fit_are_told_where_java_waits(meet: Meet, peek: Any) -> None:
    with peek.pubsub() as java:
        java.subscribe(CHANNEL)
        heavy = meet(permits_of("semaphore", 3, 3))
        grant = heavy.take()
        waiting = line_up(peek, [meet(permits_of("semaphore")) for _ in range(3)])
        began = time.monotonic()
        heavy.give(grant)
        for granted in waiting:
            granted.result(5)
        assert time.monotonic() - began < POLL_CAP / 2
