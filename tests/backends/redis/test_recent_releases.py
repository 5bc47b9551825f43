"""What a link remembers to say again to a new primary."""

from __future__ import annotations

from typing import Any

import pytest

from interlock.backends.redis.backend import RedisBackend
from interlock.backends.redis.keys import tomb_key
from interlock.backends.redis.locks import RedisLockStore
from interlock.backends.redis.scripts import script
from interlock.backends.redis.transport.factories import UrlFactory
from interlock.backends.redis.transport.protocol import packed_together
from interlock.backends.redis.transport.recent_releases import (
    RECENT,
    REMEMBERED,
    TOMB_MS,
    RecentReleases,
    as_withdrawal,
)
from interlock.backends.redis.url import read_url
from interlock.errors import StoreUnavailable
from interlock.steps import Call

BACKEND = RedisBackend(UrlFactory(read_url("redis://localhost")))

STORES: dict[str, tuple[RedisLockStore, str]] = {
    "lock": (BACKEND.locks, "1"),
    "fenced lock": (BACKEND.fenced_locks, "4"),
    "mutex": (BACKEND.mutexes, "2"),
    "fair lock": (BACKEND.fair_locks, "3"),
    "semaphore": (BACKEND.semaphores(3, 2), "7"),
    "leased semaphore": (BACKEND.leased_semaphores(3), "8"),
    "reader": (BACKEND.readers, "5"),
    "writer": (BACKEND.writers, "6"),
}

IDENTITY = "00000000-0000-8000-8000-000000000000"


def first_call(steps: Any) -> Call:
    request: Call = next(iter(steps))
    return request


@pytest.fixture(params=STORES)
def store_and_owner(request: pytest.FixtureRequest) -> tuple[RedisLockStore, str]:
    store, mark = STORES[request.param]
    return store, f"{IDENTITY}:1{mark}"


def test_a_release_is_said_as_the_withdrawal_of_its_store(
    store_and_owner: tuple[RedisLockStore, str],
) -> None:
    store, owner = store_and_owner
    released = first_call(store.release("k", owner, 1.0))
    withdrawn = first_call(store.withdraw("k", owner, 1.0))
    said = as_withdrawal(released)
    assert said is not None
    place = withdrawn.operation.args.index("tomb_ms")
    assert said.args[place] == TOMB_MS
    assert said._replace(args=()) == withdrawn._replace(args=())
    assert said.args[:place] == withdrawn.args[:place]
    assert said.args[place + 1 :] == withdrawn.args[place + 1 :]
    assert tomb_key("k", owner) in said.keys


def test_a_withdrawal_is_said_as_it_was(store_and_owner: tuple[RedisLockStore, str]) -> None:
    store, owner = store_and_owner
    withdrawn = first_call(store.withdraw("k", owner, 1.0))
    assert as_withdrawal(withdrawn) == withdrawn


def test_a_call_by_which_no_owner_leaves_is_not_said_again() -> None:
    letting_in = Call(script("rwlock_release"), ("k", "q", "t"), ("", "me", "k", 0, ""), 1.0)
    settling = Call(script("permits_release"), ("k", "h", "q", "t"), ("7", "me", "c", "", ""), 1.0)
    releases = RecentReleases()
    for each in (letting_in, settling, Call(script("lock_attempt"), ("k",), ("me",), 1.0)):
        releases.note(each, 0.0)
    assert releases.withdrawals() == []


def released(owner: str) -> Call:
    return first_call(BACKEND.locks.release("k", owner, 1.0))


def owners(releases: RecentReleases) -> list[str]:
    return [each.args[0] for each in releases.withdrawals()]


def test_the_latest_are_remembered_in_order_however_long_ago_they_were() -> None:
    releases = RecentReleases()
    for owner, at in (("a", 0.0), ("b", RECENT / 2), ("c", RECENT / 2 + RECENT)):
        releases.note(released(owner), at)
    assert owners(releases) == ["b", "c"]
    for number in range(REMEMBERED + 1):
        releases.note(released(str(number)), 2 * RECENT)
    assert owners(releases) == [str(number) for number in range(1, REMEMBERED + 1)]


def test_of_several_calls_those_that_failed_are_not_said_again() -> None:
    releases = RecentReleases()
    calls = [released("a"), released("b"), released("c")]
    releases.note_together(calls, [[1], StoreUnavailable("read-only"), [0]], 0.0)
    assert owners(releases) == ["a", "c"]


def test_a_server_is_sent_the_text_of_each_script_once() -> None:
    lock, mutex = released("a"), first_call(BACKEND.mutexes.release("k", "b", 1.0))
    data = packed_together([lock, mutex, lock, mutex])
    assert data.count(b"EVAL\r\n") == 2
    assert data.count(b"EVALSHA\r\n") == 2
