"""Redisson's RFencedLock and our fenced_lock(): one row of tokens for both."""

from __future__ import annotations

from itertools import takewhile
from typing import Any

import pytest

from interlock.backends.redis.fenced import counter_key
from tests.backends.redis.watching import Monitor, Seen, eventually
from tests.backends.redis.worlds import World

from ..harness.matrix import BOTH, TO_THEM, TO_US, meets
from ..harness.peers import Actor, Cast
from .looking import PROMPTLY, asked_again, subscribers, waiters
from .people import Meeting, Pythonist

pytestmark = meets("Redisson", "RFencedLock", "fenced_lock()")

#: How often each side takes the lock.
TURNS = 50


@pytest.fixture
def fenced(cast: Cast, world: World, redis_url: str, name: str) -> Meeting:
    return Meeting(cast, world, redis_url, "fenced", name)


@meets(direction=BOTH)
def test_tokens_of_both_are_one_row_without_gaps_or_repeats(
    world: World, redis_url: str, java: Actor, name: str, peek: Any, monitor: Monitor
) -> None:
    lock, tokens = world.connect(redis_url).fenced_lock(name), []
    for _ in range(TURNS):
        hold = world.do(lock.acquire)
        world.do(hold.release)
        tokens += [hold.token, java.ask("fenced", "lockAndGetToken", name)]
        java.ask("fenced", "unlock", name)
    assert tokens == list(range(1, 2 * TURNS + 1))
    assert peek.get(counter_key(name)) == str(2 * TURNS)
    assert peek.ttl(counter_key(name)) == -1
    assert ttl_follows_every_write(monitor.commands(), name) >= 2 * TURNS


def ttl_follows_every_write(commands: list[Seen], name: str) -> int:
    """The script that writes a lock gives it a lease, or deletes it; answers how many did."""
    writes = 0
    for index, seen in enumerate(commands):
        if seen.verb in ("HSET", "HINCRBY") and seen.words[1] == name:
            rest = takewhile(lambda other: not other.direct, commands[index:])
            ends = {other.verb for other in rest if other.words[1] == name}
            assert ends & {"PEXPIRE", "DEL"}, seen
            writes += 1
    return writes


@meets(direction=TO_THEM)
def test_java_gets_no_token_for_what_we_hold(
    world: World, redis_url: str, java: Actor, name: str
) -> None:
    hold = world.do(world.connect(redis_url).fenced_lock(name).acquire)
    assert java.ask("fenced", "tryLockAndGetToken", name, lease_ms=1000) is None
    assert java.ask("fenced", "tryLockAndGetToken", name, wait_ms=100, lease_ms=1000) is None
    assert java.ask("fenced", "getToken", name) == hold.token
    world.do(hold.release)
    assert java.ask("fenced", "tryLockAndGetToken", name, lease_ms=1000) == hold.token + 1


@meets(direction=TO_THEM)
def test_javas_waiter_gets_the_next_token_promptly_after_our_release(
    fenced: Meeting, java: Actor, name: str, monitor: Monitor
) -> None:
    holder = fenced.ours()
    token = holder.take().token
    waiting = java.start("fenced", "lockAndGetToken", name)
    eventually(lambda: asked_again(monitor, name))
    holder.give()
    assert waiting.result(PROMPTLY) == token + 1
    java.ask("fenced", "unlock", name)


@meets(direction=TO_US)
def test_our_waiter_gets_the_next_token_promptly_after_javas_release(
    fenced: Meeting, java: Actor, name: str, peek: Any
) -> None:
    token = java.ask("fenced", "lockAndGetToken", name)
    waiter = fenced.ours()
    waiter.seek()
    eventually(lambda: waiters(peek, name) == 1 == subscribers(peek, name))
    java.ask("fenced", "unlock", name)
    assert waiter.turn.result(PROMPTLY).token == token + 1
    assert java.ask("fenced", "getToken", name) == token + 1
    waiter.give()


@meets(direction=BOTH)
def test_whoever_waited_gets_a_greater_token_than_who_had_it_before(
    fenced: Meeting, name: str, peek: Any
) -> None:
    """Three of each side wait; each finds the next number when it gets the lock."""
    holder, line = fenced.ours(), [fenced.person(side) for side in "JPJPJP"]
    tokens = [holder.take().token]
    for person in line:
        person.seek()
    eventually(lambda: waiters(peek, name) == 3 and all(person.parked for person in line))
    holder.give()
    while line:
        person = eventually(lambda: next((each for each in line if each.turn.done()), None))
        tokens.append(int(peek.get(counter_key(name))))
        if isinstance(person, Pythonist):
            assert person.hold.token == tokens[-1]
        person.give()
        line.remove(person)
    assert tokens == list(range(tokens[0], tokens[0] + 7))
