"""The hand-over queue: who comes first gets it, whoever is gone is skipped."""

from __future__ import annotations

import time
from concurrent.futures import as_completed
from typing import Any

import pytest

from interlock.backends.redis import RedisBackend, UrlFactory, read_url
from interlock.drive import now, run
from interlock.model import PROVISIONAL, Busy
from tests.support.servers import RedisServer

from ...support.eventually import eventually
from ...support.worlds import World
from .watching import Monitor, litter, tombs

pytestmark = pytest.mark.server

QUEUE = "interlock:queue:{k}"
GHOST = "00000000-0000-8000-8000-0000000000ff:"
#: Numbers of owners end in the digit of their kind.
MARK = {"lock": "1", "mutex": "2"}


def line_up(world: World, peek: Any, locks: list[Any]) -> list[Any]:
    """Let several clients wait, one behind the other."""
    waiting = []
    for lock in locks:
        waiting.append(world.start(lock.acquire))
        eventually(lambda: peek.zcard(QUEUE) == len(waiting))
    return waiting


def test_eight_clients_are_served_in_order_of_arrival(
    world: World, redis_url: str, peek: Any, kind: str
) -> None:
    hold = world.do(getattr(world.connect(redis_url), kind)("k").acquire)
    locks = [getattr(world.connect(redis_url), kind)("k") for _ in range(8)]
    waiting = line_up(world, peek, locks)
    tokens = [hold.token]
    for turn in waiting:
        world.do(hold.release)
        hold = turn.result(5)
        tokens.append(hold.token)
        assert sum(each.done() for each in waiting) == len(tokens) - 1
    world.do(hold.release)
    assert tokens == sorted(set(tokens))
    assert litter(peek) == set()


def test_release_wakes_one_and_only_one(
    world: World, redis_url: str, peek: Any, redis_server: RedisServer
) -> None:
    hold = world.do(world.connect(redis_url).lock("k").acquire)
    waiting = line_up(world, peek, [world.connect(redis_url).lock("k") for _ in range(8)])
    with Monitor(redis_server.port) as monitor:
        world.do(hold.release)
        first = waiting[0].result(5)
        published = [seen for seen in monitor.commands() if seen.verb == "PUBLISH"]
        sent = [seen for seen in monitor.sent() if seen.verb == "EVALSHA"]
    assert [seen.words[2] for seen in published] == ["0", first.owner]
    owners = [word for seen in sent for word in seen.words if word == first.owner]
    assert len(owners) == 1  # the one that was woken asked once
    for turn in waiting:
        world.do(turn.result(5).release)


def test_dead_waiters_are_skipped_because_nobody_hears_for_them(
    world: World, redis_url: str, peek: Any, kind: str
) -> None:
    """A waiter whose process was killed leaves its place, and no subscription."""
    hold = world.do(getattr(world.connect(redis_url), kind)("k").acquire)
    peek.zadd(QUEUE, {GHOST + "11": 1.0, GHOST + "21": 2.0})
    waiting = world.start(getattr(world.connect(redis_url), kind)("k").acquire)
    eventually(lambda: peek.zcard(QUEUE) == 3)
    released = time.monotonic()
    world.do(hold.release)
    got = waiting.result(5)
    assert time.monotonic() - released < 0.5
    world.do(got.release)
    assert litter(peek) == set()


def test_paused_waiter_costs_one_provisional_lease(
    world: World, redis_url: str, peek: Any
) -> None:
    """Somebody hears for it, but it does not claim."""
    with peek.pubsub() as paused:
        paused.subscribe(f"interlock:wake:{GHOST[:36]}")
        assert paused.get_message(timeout=5)
        hold = world.do(world.connect(redis_url).lock("k").acquire)
        peek.zadd(QUEUE, {GHOST + "11": 1.0})
        waiting = world.start(world.connect(redis_url).lock("k").acquire)
        eventually(lambda: peek.zcard(QUEUE) == 2)
        released = time.monotonic()
        world.do(hold.release)
        got = waiting.result(10)
        assert PROVISIONAL - 0.1 < time.monotonic() - released < PROVISIONAL + 0.5
        world.do(got.release)


def test_expired_holder_is_followed_by_the_first_waiter(
    world: World, redis_url: str, peek: Any, kind: str
) -> None:
    """Nobody releases what a dead holder held: whoever asks next performs the hand-over."""
    ghost = GHOST + MARK[kind]
    peek.hset("k", ghost, 1) if kind == "lock" else peek.set("k", ghost)
    peek.pexpire("k", 300)
    locks = [getattr(world.connect(redis_url), kind)("k") for _ in range(3)]
    for turn in line_up(world, peek, locks):
        hold = turn.result(3)
        world.do(hold.release)


def test_try_never_overtakes_a_waiter(redis_url: str, peek: Any, kind: str) -> None:
    backend = RedisBackend(UrlFactory(read_url(redis_url)))
    store = backend.locks if kind == "lock" else backend.mutexes
    link, until = backend.link(), now() + 10
    holder, waiter, hasty = (f"{GHOST}{each}{MARK[kind]}" for each in (1, 2, 3))
    with peek.pubsub() as subscriber:
        subscriber.subscribe(f"interlock:wake:{GHOST[:36]}")
        assert subscriber.get_message(timeout=5)
        run(store.attempt("k", holder, 20.0, False, until), link)
        run(store.attempt("k", waiter, 20.0, True, until), link)
        peek.delete("k")  # as if the holder's lease had run out
        answer = run(store.attempt("k", hasty, 20.0, False, until), link)
        assert isinstance(answer, Busy) and answer.holder == waiter
        assert subscriber.get_message(timeout=5)["data"] == waiter
    assert peek.zcard(QUEUE) == 0  # nor was the try remembered
    link.close()


def test_waiter_that_gives_up_passes_on_what_it_was_handed(
    world: World, redis_url: str, peek: Any, kind: str
) -> None:
    """Handed the lock at the moment of giving up, again and again, it is never stuck."""
    clients = [world.connect(redis_url) for _ in range(3)]
    for tick in range(10):
        hold = world.do(getattr(clients[0], kind)("k").acquire)
        lock = getattr(clients[1], kind)("k", timeout=0.03)
        giving_up = world.start(lambda lock=lock: lock.acquire())  # type: ignore[misc]
        patient = world.start(getattr(clients[2], kind)("k").acquire)
        time.sleep(0.025 + tick % 5 * 0.003)
        world.do(hold.release)
        if giving_up.exception(5) is None:
            world.do(giving_up.result().release)
        world.do(patient.result(5).release)
    assert litter(peek) == tombs(peek)


def test_nothing_is_left_behind_after_contention(
    world: World, redis_url: str, peek: Any, kind: str
) -> None:
    clients = [world.connect(redis_url) for _ in range(4)]
    for _ in range(10):
        waiting = [world.start(getattr(each, kind)("k").acquire) for each in clients]
        for granted in as_completed(waiting, timeout=20):
            world.do(granted.result().release)
    assert litter(peek) == set()
    channels = {f"interlock:wake:{client._session.identity}" for client in clients}
    assert channels & {*peek.pubsub_channels("*")}
    for client in clients:
        world.close_client(client)
    eventually(lambda: not channels & {*peek.pubsub_channels("*")})
