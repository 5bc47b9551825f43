"""Fenced locks: Redisson's RFencedLock, whose tokens are one counter for Java and for us."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interlock import StoreError, StoreMisconfigured
from interlock.backends.redis import RedisBackend, UrlFactory, read_url
from interlock.backends.redis.keys import TOKENS
from interlock.backends.redis.locks import RedisFencedLocks, RedisLocks
from interlock.backends.redis.scripts import script
from interlock.drive import now, run
from interlock.model import Busy
from interlock.steps import Call
from tests.support.faults import FaultProxy
from tests.support.servers import RedisServer

from ...support.eventually import eventually
from ...support.worlds import World
from .watching import Monitor, Seen, litter, sha, tombs

pytestmark = pytest.mark.server

COUNTER, CHANNEL = "redisson_lock_token:{k}", "redisson_lock__channel:{k}"
ROUNDS = 30

ALL = json.loads(Path(__file__).with_name("golden.json").read_text())["cases"]
GROWS, WITHOUT_LEASE = [case for case in ALL if case["case"].startswith("fenced:")]


class Desk:
    """The fenced lock "k", asked for any owner."""

    def __init__(self, url: str) -> None:
        self.link = RedisBackend(UrlFactory(read_url(url))).link()
        self.store = RedisFencedLocks("here")

    def ask(self, owner: str, waits: bool = False, lease: float = 30.0) -> int | Busy:
        steps = self.store.attempt("k", owner, lease, waits, now() + 10)
        return run(steps, self.link)

    def release(self, owner: str) -> bool:
        return run(self.store.release("k", owner, now() + 10), self.link)


@pytest.fixture
def desk(redis_url: str) -> Iterator[Desk]:
    desk = Desk(redis_url)
    yield desk
    desk.link.close()


def java_takes(peek: Any) -> int:
    """What `lockAndGetToken()` does in Java."""
    token = int(peek.incr(COUNTER))
    peek.hset("k", f"{uuid.uuid4()}:83", 1)
    peek.pexpire("k", 20_000)
    return token


def java_unlocks(peek: Any) -> None:
    peek.delete("k")
    peek.publish(CHANNEL, "0")


def clock(peek: Any) -> int:
    """The server's time in microseconds."""
    seconds, micros = peek.time()
    return int(seconds) * 1_000_000 + int(micros)


def left_behind(peek: Any) -> set[str]:
    """The counter stays: numbers must not come twice."""
    return litter(peek) - {COUNTER}


def test_transitions_are_redissons(desk: Desk, peek: Any) -> None:
    """But for the count, which is ours to keep, and the release that is not the last.  A counter
    that is there goes on; where none is, Redisson would have begun at 1."""
    peek.set(COUNTER, "0")
    for step in GROWS["steps"]:
        owner = step["params"]["owner"]
        if step["op"] == "fenced.try_acquire_token":
            answer, (left, token) = desk.ask(owner), step["reply"]
            assert isinstance(answer, Busy) if left > 0 else answer == token
        elif step["reply"] == 1:
            assert desk.release(owner)
        else:
            continue  # in the process, and not in the store
        counter, lock = step["state"][COUNTER], step["state"].get("k", {"value": {}})
        assert (peek.get(COUNTER), peek.pttl(COUNTER)) == (counter["value"], -1)
        assert peek.hgetall("k") == dict.fromkeys(lock["value"], "1")


def test_a_lock_without_a_lease_is_held_and_never_taken_for_granted(desk: Desk, peek: Any) -> None:
    """D3: a lock that never expires is not one's own."""
    (owner,) = WITHOUT_LEASE["steps"][0]["state"]["k"]["value"]
    peek.hset("k", owner, 1)
    asked = WITHOUT_LEASE["steps"][1]
    assert asked["reply"] == [-1, -1]  # what Java takes for a grant
    assert desk.ask(asked["params"]["owner"]) == Busy(owner, None, foreign=True)
    assert not peek.exists(COUNTER)


def test_tokens_are_counted_with_java_without_gap_or_repetition(
    world: World, redis_url: str, peek: Any
) -> None:
    """A counter that Java began goes on by ones, whoever takes the next number."""
    lock, tokens = world.connect(redis_url).fenced_lock("k"), [java_takes(peek)]
    java_unlocks(peek)
    for _ in range(50):
        hold = world.do(lock.acquire)
        tokens.append(hold.token)
        world.do(hold.release)
        tokens.append(java_takes(peek))
        java_unlocks(peek)
    assert tokens == list(range(1, 102))
    assert peek.pttl(COUNTER) == -1
    assert left_behind(peek) == set()
    assert not peek.exists("interlock:tokens")


def test_where_there_is_no_counter_it_begins_at_the_clock_and_java_counts_on(
    world: World, redis_url: str, peek: Any
) -> None:
    lock, tokens = world.connect(redis_url).fenced_lock("k"), [clock(peek)]
    for _ in range(20):
        hold = world.do(lock.acquire)
        tokens.append(hold.token)
        assert peek.get(COUNTER) == str(hold.token)
        world.do(hold.release)
        assert java_takes(peek) == hold.token + 1
        tokens.append(hold.token + 1)
        java_unlocks(peek)
    assert tokens == sorted(set(tokens))
    assert tokens[-1] <= clock(peek)
    assert peek.pttl(COUNTER) == -1


@pytest.mark.parametrize("count", [7, 10**15 - 1, 4 * 10**15, 2**53 - 2])
def test_a_counter_that_is_there_goes_on_exactly(
    world: World, redis_url: str, peek: Any, count: int
) -> None:
    """A small one, and one that is ahead of the clock."""
    peek.set(COUNTER, str(count))
    hold = world.do(world.connect(redis_url).fenced_lock("k").acquire)
    assert hold.token == count + 1
    assert peek.get(COUNTER) == str(count + 1)
    world.do(hold.release)


def test_tokens_grow_though_the_counter_vanishes_while_the_lock_is_held(
    world: World, proxy: FaultProxy, peek: Any
) -> None:
    """Also where the holder itself asks again, because its answer was lost."""
    client = world.connect(f"redis://127.0.0.1:{proxy.port}")
    lock, tokens = client.fenced_lock("k"), [0]
    for lost in (False, True):
        if lost:
            proxy.lose_reply(sha("lock_attempt"))
        hold = world.do(lock.acquire)
        tokens.append(hold.token)
        peek.delete(COUNTER)
        assert world.do(lambda: client.inspect("k")).token is None
        world.do(hold.release)
    assert proxy.fired == 1
    assert tokens == sorted(set(tokens))


def test_a_refused_attempt_takes_no_token(world: World, redis_url: str, peek: Any) -> None:
    hold = world.do(world.connect(redis_url).fenced_lock("k").acquire)
    other = world.connect(redis_url).fenced_lock("k")
    for _ in range(5):
        assert world.do(lambda: other.acquire(blocking=False)) is None
    assert peek.get(COUNTER) == str(hold.token)
    world.do(hold.release)


def test_a_handed_over_lock_takes_one_token_for_each_grant(
    world: World, redis_url: str, peek: Any
) -> None:
    peek.set(COUNTER, "6")
    hold = world.do(world.connect(redis_url).fenced_lock("k").acquire)
    waiting = []
    for _ in range(4):
        waiting.append(world.start(world.connect(redis_url).fenced_lock("k").acquire))
        eventually(lambda: peek.zcard("interlock:queue:{k}") == len(waiting))
    tokens = [hold.token]
    for turn in waiting:
        world.do(hold.release)
        hold = turn.result(5)
        tokens.append(hold.token)
    world.do(hold.release)
    assert tokens == [7, 8, 9, 10, 11]
    assert left_behind(peek) == set()


def test_our_waiter_is_woken_by_javas_message(world: World, redis_url: str, peek: Any) -> None:
    java_takes(peek)
    waiting = world.start(world.connect(redis_url).fenced_lock("k").acquire)
    eventually(lambda: dict(peek.pubsub_numsub(CHANNEL))[CHANNEL] == 1)
    eventually(lambda: peek.zcard("interlock:queue:{k}") == 1)
    java_unlocks(peek)
    hold = waiting.result(5)
    assert hold.token == 2
    world.do(hold.release)


def test_lost_replies_leave_a_count_of_one_and_tokens_that_grow(
    world: World, proxy: FaultProxy, peek: Any
) -> None:
    """D1: a question that is executed twice is one hold."""
    lock = world.connect(f"redis://127.0.0.1:{proxy.port}").fenced_lock("k")
    tokens = [0]
    world.do(world.do(lock.acquire).release)
    for _ in range(ROUNDS):
        proxy.lose_reply(sha("lock_attempt"))
        hold = world.do(lock.acquire)
        assert peek.hgetall("k") == {hold.owner: "1"}
        assert hold.token > tokens[-1]
        tokens.append(hold.token)
        world.do(hold.release)
        assert not peek.exists("k")
    assert proxy.fired == ROUNDS
    assert left_behind(peek) == tombs(peek)


def leases(commands: list[Seen]) -> Iterator[tuple[Seen, bool]]:
    """After each command, whether the lock is there without a lease."""
    bare = False
    for seen in commands:
        if len(seen.words) > 1 and seen.words[1] == "k":
            bare = {"HSET": True, "PEXPIRE": False, "DEL": False}.get(seen.verb, bare)
        yield seen, bare


def test_the_lock_is_never_there_without_a_lease(
    world: World, redis_url: str, peek: Any, redis_server: RedisServer
) -> None:
    """D3: not even between two commands of clients, or Java would take it for its own."""
    with Monitor(redis_server.port) as monitor:
        first, second = (world.connect(redis_url).fenced_lock("k") for _ in range(2))
        for _ in range(10):
            hold = world.do(first.acquire)
            waiting = world.start(second.acquire)
            eventually(lambda: peek.zcard("interlock:queue:{k}") == 1)
            world.do(hold.release)
            world.do(waiting.result(5).release)
        commands = monitor.commands()
    assert sum(seen.verb == "HSET" for seen in commands) >= 30  # grants, and hand-overs
    # What a client sends comes after everything that the last script did.
    assert [seen for seen, bare in leases(commands) if bare and seen.direct] == []


def test_a_counter_that_is_no_number_grants_nothing(
    world: World, redis_url: str, peek: Any
) -> None:
    peek.set(COUNTER, "many")
    with pytest.raises(StoreError, match="not an integer"):
        world.do(world.connect(redis_url).fenced_lock("k").acquire)
    assert not peek.exists("k")
    assert peek.get(COUNTER) == "many"


def test_a_plain_lock_of_the_same_name_is_refused(world: World, redis_url: str, peek: Any) -> None:
    client = world.connect(redis_url)
    hold = world.do(client.lock("k").acquire)
    with pytest.raises(StoreMisconfigured, match="fenced_lock"):
        world.do(world.connect(redis_url).fenced_lock("k").acquire)
    assert peek.hgetall("k") == {hold.owner: "1"}
    world.do(hold.release)


def asked_by(store: RedisLocks) -> Call:
    request = next(store.attempt("k", "me:1", 30.0, False, now() + 10))
    assert isinstance(request, Call)
    return request


def test_only_the_token_is_another_than_that_of_a_plain_lock(desk: Desk) -> None:
    """One script serves both, and what it is told of a fenced lock counts for the token only."""
    fenced, plain = asked_by(desk.store), asked_by(RedisLocks("here"))
    code = script("lock_attempt").text.partition("\nlocal wake")[2]
    algorithm = code.partition("-- The token first")[0]

    assert fenced.operation is plain.operation is script("lock_attempt")
    assert fenced.args == (*plain.args, 1)
    assert set(fenced.keys) ^ set(plain.keys) == {COUNTER, TOKENS}
    assert "fenced" not in algorithm and "tokens" not in algorithm
    assert not {"INCR", "SET"} & {*algorithm.split("'")}
    assert desk.store.kind_code == "4"
