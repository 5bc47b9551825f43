"""Redisson's RCountDownLatch and our latch(): one count for both."""

from __future__ import annotations

import time
from concurrent.futures import Future
from typing import Any

import pytest

from interlock.recipes.lock import POLL_CAP
from tests.support.eventually import eventually
from tests.support.worlds import World

from ..harness.matrix import BOTH, TO_THEM, TO_US, meets
from ..harness.modes import everywhere
from ..harness.peers import Cast
from .looking import PROMPTLY, SLACK, left_behind, subscribers

pytestmark = [meets("Redisson", "RCountDownLatch", "latch()"), everywhere]


class Latch:
    """One latch, waited for on both sides and counted down by either."""

    def __init__(self, cast: Cast, world: World, url: str, name: str, peek: Any) -> None:
        self.java, self.waiter, self.name = cast.actor(), cast.actor(), name
        self.world, self.peek = world, peek
        self.ours = world.connect(url).latch(name)

    def wait(self) -> list[Future[Any]]:
        """One of each side waits, until only a message can wake it."""
        waits = [self.waiter.start("latch", "await", self.name), self.world.start(self.ours.wait)]
        eventually(lambda: subscribers(self.peek, self.name, "latch") == 2)
        eventually(lambda: self.waiter.parked)
        return waits

    def count_down(self, side: str) -> None:
        if side == "J":
            self.java.ask("latch", "countDown", self.name)
        else:
            self.world.do(self.ours.count_down)

    def counts(self) -> tuple[int, int]:
        """What is left, as each side sees it."""
        theirs = self.java.ask("latch", "getCount", self.name)
        return theirs, self.world.do(lambda: self.ours.count())


@pytest.fixture
def latch(cast: Cast, world: World, redis_url: str, name: str, peek: Any) -> Latch:
    return Latch(cast, world, redis_url, name, peek)


@pytest.mark.parametrize("order", ["JJP", "PPJ", "PJP"])
@meets(direction=BOTH)
def test_the_last_count_wakes_both_whoever_makes_it(order: str, latch: Latch) -> None:
    """Whoever counts last begins, too."""
    if order.endswith("P"):
        assert latch.java.ask("latch", "trySetCount", latch.name, count=3) is True
        assert latch.world.do(lambda: latch.ours.start(5)) is False
    else:
        assert latch.world.do(lambda: latch.ours.start(3)) is True
        assert latch.java.ask("latch", "trySetCount", latch.name, count=5) is False
    waits = latch.wait()
    for left, side in zip((3, 2, 1), order, strict=True):
        assert latch.counts() == (left, left)
        assert not any(wait.done() for wait in waits)
        latch.count_down(side)
    assert all(wait.result(PROMPTLY) for wait in waits)
    assert latch.counts() == (0, 0)
    assert not latch.peek.exists(latch.name)
    assert latch.world.do(latch.ours.wait)
    assert left_behind(latch.peek) == set()


@meets(direction=TO_US)
def test_we_wait_across_a_lost_subscription(latch: Latch) -> None:
    """Whoever was cut off may have missed the message; asking now and then makes it good."""
    latch.java.ask("latch", "trySetCount", latch.name, count=1)
    waiting = latch.world.start(latch.ours.wait)
    eventually(lambda: subscribers(latch.peek, latch.name, "latch") == 1)
    began = time.monotonic()
    assert latch.peek.client_kill_filter(_type="pubsub") >= 1
    latch.count_down("J")
    assert waiting.result(POLL_CAP + SLACK)
    assert time.monotonic() - began < POLL_CAP + SLACK


@meets(direction=TO_THEM)
def test_java_finds_open_what_we_have_counted_down(latch: Latch) -> None:
    latch.world.do(lambda: latch.ours.start(1))
    assert latch.java.ask("latch", "await", latch.name, wait_ms=50) is False
    latch.count_down("P")
    assert latch.java.ask("latch", "await", latch.name) is True


@meets(direction=BOTH)
def test_a_latch_can_be_set_anew_by_the_other_side(latch: Latch) -> None:
    for setter in "JPJ":
        if setter == "J":
            assert latch.java.ask("latch", "trySetCount", latch.name, count=1) is True
        else:
            assert latch.world.do(lambda: latch.ours.start(1)) is True
        waits = latch.wait()
        latch.count_down("P" if setter == "J" else "J")
        assert all(wait.result(PROMPTLY) for wait in waits)
        eventually(lambda: subscribers(latch.peek, latch.name, "latch") == 0)
