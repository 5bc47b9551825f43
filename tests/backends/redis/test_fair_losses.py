"""What if the answer is lost right here?  A fair lock keeps its queue and counts to one."""

from __future__ import annotations

from typing import Any

import pytest

from interlock import StoreUnavailable
from tests.support.faults import FaultProxy

from ...support.eventually import eventually
from ...support.worlds import World
from .fairness import QUEUE, SCORES, SEEN
from .watching import litter, sha, tombs

pytestmark = pytest.mark.server

ROUNDS = 30


@pytest.fixture
def lock(world: World, proxy: FaultProxy) -> Any:
    """A lock of a client behind the proxy; the server knows the scripts."""
    lock = world.connect(f"redis://127.0.0.1:{proxy.port}").fair_lock("k")
    world.do(world.do(lock.acquire).release)
    return lock


def test_lost_reply_to_acquire_leaves_no_ghost_and_counts_to_one(
    world: World, lock: Any, proxy: FaultProxy, peek: Any
) -> None:
    """D1: a question that is executed twice is one hold."""
    for _ in range(ROUNDS):
        proxy.lose_reply(sha("fair_attempt"))
        hold = world.do(lock.acquire)
        assert peek.hgetall("k") == {hold.owner: "1"}
        assert peek.pttl("k") > 0
        world.do(hold.release)
        assert not peek.exists("k")
    assert proxy.fired == ROUNDS
    assert litter(peek) == tombs(peek)


def test_lost_reply_to_release_is_no_false_alarm(
    world: World, lock: Any, proxy: FaultProxy, peek: Any
) -> None:
    for _ in range(ROUNDS):
        hold = world.do(lock.acquire)
        proxy.lose_reply(sha("fair_release"))
        world.do(hold.release)  # neither NotHeld nor LockLost
        assert not peek.exists("k")
    assert proxy.fired == ROUNDS
    assert litter(peek) == tombs(peek)


def hears(peek: Any, owner: str) -> bool:
    """Whether the owner's client listens."""
    ((_, listeners),) = peek.pubsub_numsub(f"interlock:wake:{owner[:36]}")
    return bool(listeners)


def test_lost_reply_to_a_waiter_keeps_its_place(
    world: World, redis_url: str, lock: Any, proxy: FaultProxy, peek: Any
) -> None:
    hold = world.do(world.connect(redis_url).fair_lock("k").acquire)
    first = world.start(lock.acquire)
    eventually(lambda: peek.llen(QUEUE) == 1)
    second = world.start(world.connect(redis_url).fair_lock("k").acquire)
    eventually(lambda: peek.llen(QUEUE) == 2)
    order = peek.lrange(QUEUE, 0, -1)
    proxy.lose_reply(sha("fair_attempt"))
    eventually(lambda: proxy.fired == 1)  # it asks again and again
    lost = peek.zscore(SEEN, order[0])
    # The lost connection may have been its wake connection: once it has asked anew it hears again.
    eventually(lambda: peek.zscore(SEEN, order[0]) > lost and hears(peek, order[0]))
    assert peek.lrange(QUEUE, 0, -1) == order
    world.do(hold.release)
    world.do(first.result(5).release)
    world.do(second.result(5).release)
    assert litter(peek) == tombs(peek)


def test_failed_try_whose_reply_was_lost_leaves_nothing(
    world: World, lock: Any, proxy: FaultProxy, peek: Any
) -> None:
    for _ in range(ROUNDS):
        proxy.lose_reply(sha("fair_attempt"))
        with pytest.raises(StoreUnavailable):
            world.do(lambda: lock.acquire(timeout=0))
        assert not peek.exists("k", QUEUE, SCORES, SEEN)
    assert proxy.fired == ROUNDS
