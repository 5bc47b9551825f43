"""A waiter for a fair lock is killed at the head of the queue: the others go on."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.backends.redis.watching import Monitor, sha
from tests.support.eventually import eventually
from tests.support.pausing import pause
from tests.support.worlds import World

from ..harness.foreign import Foreign
from ..harness.matrix import TO_THEM, TO_US, meets
from ..harness.peers import Actor, Cast
from .looking import SLACK, queue
from .people import Meeting

pytestmark = meets("Redisson", "RFairLock", "fair_lock()")

#: The lease of the holder, and how long the one that is killed meant to wait.
LEASE, WAIT = 2.0, 3.0

#: A waiter behind a dead one asks no more often than this each second.
CALM = 20


@pytest.fixture
def fair(cast: Cast, world: World, redis_url: str, name: str) -> Meeting:
    return Meeting(cast, world, redis_url, "fair", name)


def enqueue_ours(process: Foreign, name: str, peek: Any) -> None:
    terms = {"timeout": WAIT}
    process.start(verb="acquire", kind="fair_lock", name=name, handle="h", terms=terms)
    eventually(lambda: len(queue(peek, name)) == 1)


@meets(direction=TO_THEM)
def test_java_outlives_our_dead_head_by_its_wait_and_the_lease(
    our_victim: Foreign, cast: Cast, name: str, peek: Any
) -> None:
    """Java asks without a pause meanwhile, as Redisson does behind any dead head."""
    holder, waiter = cast.actor(), cast.actor()
    holder.ask("fair", "lock", name, lease_ms=int(LEASE * 1000))
    enqueue_ours(our_victim, name, peek)
    waiting = waiter.start("fair", "lock", name)
    eventually(lambda: len(queue(peek, name)) == 2)
    our_victim.kill()
    holder.ask("fair", "unlock", name)
    waiting.result(LEASE + WAIT + SLACK)
    assert queue(peek, name) == []
    waiter.ask("fair", "unlock", name)


@meets(direction=TO_THEM)
def test_java_is_told_at_once_when_we_release_over_our_dead_head(
    our_victim: Foreign, fair: Meeting, name: str, peek: Any
) -> None:
    holder, waiter = fair.ours(), fair.java()
    holder.take()
    enqueue_ours(our_victim, name, peek)
    waiter.seek()
    eventually(lambda: len(queue(peek, name)) == 2 and waiter.parked)
    our_victim.kill()
    eventually(lambda: peek.pubsub_channels("interlock:wake:*") == [])
    holder.give()
    waiter.turn.result(SLACK)
    waiter.give()


@meets(direction=TO_THEM)
def test_java_outlives_our_paused_head_by_its_wait_and_the_lease(
    our_victim: Foreign, fair: Meeting, name: str, peek: Any
) -> None:
    """It hears, so it is not dead: it is handed the lock, and keeps its place for its time."""
    holder, waiter = fair.ours(lease=LEASE), fair.java()
    holder.take()
    enqueue_ours(our_victim, name, peek)
    waiter.seek()
    eventually(lambda: len(queue(peek, name)) == 2)
    pause(our_victim.pid)
    holder.give()
    waiter.turn.result(LEASE + WAIT + SLACK)
    waiter.give()


def javas_dead_head(victim: Foreign, name: str, peek: Any) -> None:
    """A waiter of Java that is killed while it stands first."""
    wait_ms = int(WAIT * 1000)
    Actor(victim, "head").start("fair", "tryLock", name, wait_ms=wait_ms)
    eventually(lambda: len(queue(peek, name)) == 1)


@meets(direction=TO_US)
def test_we_outlive_javas_dead_head_by_its_wait_and_the_lease(
    victim: Foreign, fair: Meeting, name: str, peek: Any, monitor: Monitor
) -> None:
    """And ask calmly meanwhile, though the lock is free."""
    holder, waiter = fair.java(lease_ms=int(LEASE * 1000)), fair.ours()
    holder.take()
    javas_dead_head(victim, name, peek)
    waiter.seek()
    eventually(lambda: len(queue(peek, name)) == 2)
    victim.kill()
    holder.give()
    began, before = time.monotonic(), questions(monitor)
    waiter.turn.result(LEASE + WAIT + SLACK)
    waited = time.monotonic() - began
    assert waited > 1.0  # Java's head was to be alive for longer
    assert questions(monitor) - before < CALM * waited
    waiter.give()


@meets(direction=TO_US)
def test_we_ask_calmly_behind_our_own_dead_head_after_javas_release(
    our_victim: Foreign, fair: Meeting, name: str, peek: Any, monitor: Monitor
) -> None:
    """Java tells the dead one; we find out by asking now and then."""
    holder, waiter = fair.java(), fair.ours()
    holder.take()
    enqueue_ours(our_victim, name, peek)
    waiter.seek()
    eventually(lambda: len(queue(peek, name)) == 2)
    our_victim.kill()
    began, before = time.monotonic(), questions(monitor)
    holder.give()
    waiter.turn.result(LEASE + WAIT + SLACK)
    assert questions(monitor) - before < 2 + CALM * (time.monotonic() - began)
    waiter.give()


def questions(monitor: Monitor) -> int:
    """How often one of ours has asked."""
    asked = sha("fair_attempt").decode()
    return sum(asked in seen.words for seen in monitor.sent())
