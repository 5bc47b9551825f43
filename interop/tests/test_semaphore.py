"""Redisson's RSemaphore and our semaphore(): one number of permits for both."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.backends.redis.watching import Monitor
from tests.support.eventually import eventually
from tests.support.worlds import World

from ..harness.foreign import SOON, Foreign
from ..harness.matrix import BOTH, TO_THEM, TO_US, meets
from ..harness.modes import everywhere
from ..harness.peers import Actor, Cast
from .looking import PROMPTLY, SLACK, subscribers, waiters

pytestmark = [meets("Redisson", "RSemaphore", "semaphore()"), everywhere]

Said = Callable[[], list[int]]

#: On a plain channel, and on one of a slot.
SAYS = ("PUBLISH", "SPUBLISH")


@pytest.fixture
def said(monitor: Monitor) -> Iterator[Said]:
    """Which numbers were published; Java's listener breaks down at zero and below."""

    def said() -> list[int]:
        seen = [each.words for each in monitor.commands() if each.verb in SAYS]
        return [int(words[2]) for words in seen if words[1].startswith("redisson_sc:")]

    yield said
    assert all(number > 0 for number in said())


def java_has(java: Actor, name: str, permits: int) -> None:
    assert java.ask("semaphore", "tryAcquire", name, permits=permits) is True


def free(peek: Any, name: str) -> int:
    return int(peek.get(name))


@meets(direction=TO_THEM)
def test_java_takes_what_we_leave_and_waits_for_the_rest(
    world: World, redis_url: str, cast: Cast, name: str, peek: Any, said: Said
) -> None:
    """Of three permits we have two and Java one; two of its threads wait for ours."""
    client, java, waiting = world.connect(redis_url), cast.actor(), [cast.actor(), cast.actor()]
    semaphore = client.semaphore(name, permits=3)
    permits = [world.do(semaphore.acquire) for _ in range(2)]
    java_has(java, name, 1)
    assert java.ask("semaphore", "tryAcquire", name) is False
    assert java.ask("semaphore", "trySetPermits", name, permits=9) is False
    turns = [actor.start("semaphore", "acquire", name) for actor in waiting]
    eventually(lambda: all(actor.parked for actor in waiting))
    for permit in permits:
        world.do(permit.release)
    for turn in turns:
        turn.result(PROMPTLY)
    for actor in (java, *waiting):
        actor.ask("semaphore", "release", name)
    assert free(peek, name) == java.ask("semaphore", "availablePermits", name) == 3
    assert said()


@meets(direction=TO_US)
def test_we_take_what_java_leaves_and_wait_for_the_rest(
    world: World, redis_url: str, java: Actor, name: str, peek: Any, said: Said
) -> None:
    assert java.ask("semaphore", "trySetPermits", name, permits=3) is True
    java_has(java, name, 2)
    semaphores = [world.connect(redis_url).semaphore(name, permits=9) for _ in range(3)]
    permit = world.do(semaphores[0].acquire)
    assert world.do(lambda: semaphores[0].acquire(blocking=False)) is None
    assert world.do(semaphores[0].available) == 0
    turns = [world.start(semaphore.acquire) for semaphore in semaphores[1:]]
    eventually(lambda: waiters(peek, name) == 2 == subscribers(peek, name, "semaphore"))
    java.ask("semaphore", "release", name, permits=2)
    for turn in turns:
        world.do(turn.result(PROMPTLY).release)
    world.do(permit.release)
    assert free(peek, name) == 3
    assert said()


@meets(direction=BOTH)
def test_several_permits_are_taken_at_once_or_not_at_all(
    world: World, redis_url: str, java: Actor, name: str, peek: Any, said: Said
) -> None:
    client = world.connect(redis_url)
    three = client.semaphore(name, permits=5, weight=3)
    permit = world.do(three.acquire)
    assert java.ask("semaphore", "tryAcquire", name, permits=3) is False
    turn = java.start("semaphore", "acquire", name, permits=3)
    eventually(lambda: java.parked)
    world.do(permit.release)
    turn.result(PROMPTLY)
    assert world.do(lambda: three.acquire(blocking=False)) is None
    waiting = world.start(three.acquire)
    eventually(lambda: waiters(peek, name) == 1 == subscribers(peek, name, "semaphore"))
    java.ask("semaphore", "release", name, permits=3)
    world.do(waiting.result(PROMPTLY).release)
    assert free(peek, name) == 5


@meets(direction=BOTH)
def test_permits_that_either_side_adds_are_there_for_both(
    world: World, redis_url: str, cast: Cast, name: str, peek: Any, said: Said
) -> None:
    """One waits on each side, and the other side adds what it needs."""
    client, java, other = world.connect(redis_url), cast.actor(), cast.actor()
    semaphore = client.semaphore(name, permits=1)
    permit = world.do(semaphore.acquire)
    turn = java.start("semaphore", "acquire", name)
    eventually(lambda: java.parked)
    world.do(lambda: semaphore.set_permits(2))
    turn.result(PROMPTLY)
    waiting = world.start(semaphore.acquire)
    eventually(lambda: waiters(peek, name) == 1 == subscribers(peek, name, "semaphore"))
    other.ask("semaphore", "addPermits", name, permits=1)
    world.do(waiting.result(PROMPTLY).release)
    world.do(permit.release)
    java.ask("semaphore", "release", name)
    assert free(peek, name) == 3


@meets(direction=TO_THEM)
def test_java_gets_the_permits_of_our_dead_once_one_of_ours_asks(
    our_victim: Foreign, world: World, redis_url: str, java: Actor, name: str, said: Said
) -> None:
    """Redisson knows nothing of leases here: somebody of ours has to take them back."""
    terms = {"permits": 2, "weight": 2, "lease": 1.5}
    our_victim.ask(verb="acquire", kind="semaphore", name=name, terms=terms, handle="h")
    turn = java.start("semaphore", "acquire", name)
    eventually(lambda: java.parked)
    our_victim.kill()
    semaphore, began = world.connect(redis_url).semaphore(name), time.monotonic()
    permit = world.do(lambda: semaphore.acquire(timeout=SOON))
    turn.result(PROMPTLY)
    assert time.monotonic() - began < 1.5 + SLACK
    world.do(permit.release)
