"""Redisson's RFencedLock and our fenced_lock(): one row of tokens for both."""

from __future__ import annotations

from itertools import takewhile
from typing import Any

import pytest

from interlock.backends.redis.keys import counter_key
from tests.backends.redis.watching import Monitor, Seen
from tests.support.eventually import eventually
from tests.support.worlds import World

from ..harness.matrix import BOTH, TO_THEM, TO_US, meets
from ..harness.modes import everywhere
from ..harness.peers import Actor, Cast
from .looking import PROMPTLY, asked_again, subscribers, waiters
from .people import Meeting, Pythonist

pytestmark = meets("Redisson", "RFencedLock", "fenced_lock()")

#: How often each side takes the lock.
TURNS = 50


@pytest.fixture
def fenced(cast: Cast, world: World, redis_url: str, name: str) -> Meeting:
    return Meeting(cast, world, redis_url, "fenced", name)


@everywhere
@meets(direction=BOTH)
def test_tokens_of_both_are_one_row_without_gaps_or_repeats(
    world: World, redis_url: str, java: Actor, name: str, peek: Any, monitor: Monitor
) -> None:
    """Of a counter that Java began: it goes on by ones, whoever takes the next number."""
    lock, tokens = world.connect(redis_url).fenced_lock(name), []
    for _ in range(TURNS):
        tokens.append(javas_token(java, name))
        tokens.append(our_token(world, lock))
    assert tokens == list(range(1, 2 * TURNS + 1))
    assert peek.get(counter_key(name)) == str(2 * TURNS)
    assert peek.ttl(counter_key(name)) == -1
    assert ttl_follows_every_write(monitor.commands(), name) >= 2 * TURNS


def javas_token(java: Actor, name: str) -> int:
    """Take the lock in Java, and give it back."""
    token: int = java.ask("fenced", "lockAndGetToken", name)
    assert java.ask("fenced", "getToken", name) == token
    java.ask("fenced", "unlock", name)
    return token


def our_token(world: World, lock: Any) -> int:
    """The same here."""
    hold = world.do(lock.acquire)
    world.do(hold.release)
    token: int = hold.token
    return token


def clock(peek: Any) -> int:
    """The server's time in microseconds."""
    seconds, micros = peek.time()
    return int(seconds) * 1_000_000 + int(micros)


@meets(direction=BOTH)
def test_java_counts_on_from_a_row_that_we_began_at_the_clock(
    world: World, redis_url: str, java: Actor, name: str, peek: Any
) -> None:
    lock, tokens = world.connect(redis_url).fenced_lock(name), [clock(peek)]
    for _ in range(TURNS):
        tokens.append(our_token(world, lock))
        tokens.append(javas_token(java, name))
        assert tokens[-1] == tokens[-2] + 1
    assert tokens == sorted(set(tokens))
    assert tokens[-1] < clock(peek)
    assert peek.get(counter_key(name)) == str(tokens[-1])
    assert peek.ttl(counter_key(name)) == -1


@meets(direction=BOTH)
@pytest.mark.parametrize("lose", ["flushall", "counter"])
def test_tokens_of_both_grow_on_where_we_come_first_after_a_loss(
    world: World, redis_url: str, java: Actor, name: str, peek: Any, lose: str
) -> None:
    lock, tokens = world.connect(redis_url).fenced_lock(name), [0]
    for _ in range(3):
        tokens += [our_token(world, lock), javas_token(java, name), javas_token(java, name)]
        peek.flushall() if lose == "flushall" else peek.delete(counter_key(name))
    assert tokens == sorted(set(tokens))


@meets(direction=BOTH)
@pytest.mark.parametrize("first", ["ours", "javas"])
def test_an_old_small_counter_goes_on_by_ones(
    world: World, redis_url: str, java: Actor, name: str, peek: Any, first: str
) -> None:
    peek.set(counter_key(name), "7")
    lock, tokens = world.connect(redis_url).fenced_lock(name), []
    for turn in range(6):
        ours = (turn % 2 == 0) == (first == "ours")
        tokens.append(our_token(world, lock) if ours else javas_token(java, name))
    assert tokens == [8, 9, 10, 11, 12, 13]


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


@everywhere
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


@everywhere
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


@everywhere
@meets(direction=TO_US)
def test_our_waiter_gets_the_next_token_promptly_after_javas_release(
    fenced: Meeting, java: Actor, name: str, peek: Any
) -> None:
    token = java.ask("fenced", "lockAndGetToken", name)
    assert token == 1  # a row that Java began
    waiter = fenced.ours()
    waiter.seek()
    eventually(lambda: waiters(peek, name) == 1 == subscribers(peek, name))
    java.ask("fenced", "unlock", name)
    assert waiter.turn.result(PROMPTLY).token == token + 1
    assert java.ask("fenced", "getToken", name) == token + 1
    waiter.give()


@everywhere
@meets(direction=BOTH)
def test_whoever_waited_gets_a_greater_token_than_who_had_it_before(
    fenced: Meeting, name: str, peek: Any
) -> None:
    """Three of each side wait; each finds the next number when it gets the lock."""
    peek.set(counter_key(name), "41")
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
