"""Redisson's RSpinLock, which tells nobody, and our lock() on the same names."""

from __future__ import annotations

from typing import Any

from interlock.recipes.lock import POLL_CAP
from tests.support.eventually import eventually
from tests.support.worlds import World

from ..harness.matrix import TO_THEM, TO_US, meets
from ..harness.peers import Actor
from .looking import SLACK, waiters

pytestmark = meets("Redisson", "RSpinLock", "lock()")


@meets(direction=TO_THEM)
def test_java_spins_until_our_release(
    world: World, redis_url: str, java: Actor, name: str, peek: Any
) -> None:
    hold = world.do(world.connect(redis_url).lock(name).acquire)
    assert java.ask("spin", "tryLock", name) is False
    spinning = java.start("spin", "lock", name)
    assert not spinning.done()
    world.do(hold.release)
    spinning.result(SLACK)
    assert peek.hgetall(name) == {java.owner: "1"}
    java.ask("spin", "unlock", name)


@meets(direction=TO_US)
def test_our_waiter_finds_out_by_asking(
    world: World, redis_url: str, java: Actor, name: str, peek: Any
) -> None:
    java.ask("spin", "lock", name)
    waiting = world.start(world.connect(redis_url).lock(name).acquire)
    eventually(lambda: waiters(peek, name) == 1)
    java.ask("spin", "unlock", name)
    world.do(waiting.result(POLL_CAP + SLACK).release)
