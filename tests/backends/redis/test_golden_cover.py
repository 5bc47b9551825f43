"""Every observed case of Redisson's is replayed by some test, and as it was observed.

`golden.json` holds all of them.  Most tests read it; those of counts have tables of their own,
which are held against it here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from interlock.backends.redis import RedisBackend, UrlFactory, read_url
from interlock.backends.redis.semaphores import NEVER
from interlock.drive import now, run
from interlock.errors import StoreMisconfigured
from interlock.model import Busy

from . import (
    test_fair_golden,
    test_fenced_locks,
    test_golden,
    test_latch_golden,
    test_permits_golden,
    test_rw_golden,
)
from .test_permits_golden import NOON
from .watching import messages

EVERY = json.loads(Path(__file__).with_name("golden.json").read_text())["cases"]
BY_NAME: dict[str, list[dict[str, Any]]] = {case["case"]: case["steps"] for case in EVERY}

#: Replayed below, because ours has no such kind: what is meant instead is said there.
HERE = {
    "non-reentrant",
    "spin: no message on release",
    "cross: read lock on the hash of a plain lock is granted",
}


def test_every_case_is_replayed() -> None:
    modules = (test_golden, test_fair_golden, test_rw_golden)
    read = {case["case"] for module in modules for case in module.CASES}
    fenced = {test_fenced_locks.GROWS["case"], test_fenced_locks.WITHOUT_LEASE["case"]}
    leased = {f"expirable permits: {case}" for case in test_permits_golden.LEASED}

    replayed = read | fenced | leased | {"semaphore", "countdown latch"} | HERE
    assert replayed == set(BY_NAME)
    assert len(BY_NAME) == 21


def said(step: dict[str, Any]) -> list[str]:
    return [payload for _, payload in step["published"]]


def value(step: dict[str, Any], key: str = "k") -> Any:
    return step["state"].get(key, {"value": None})["value"]


def test_table_of_the_latch_is_as_observed() -> None:
    observed = [
        (step["op"].removeprefix("latch."), step["reply"], said(step), value(step))
        for step in BY_NAME["countdown latch"]
    ]

    assert [(s.verb, s.reply, s.said, s.left) for s in test_latch_golden.STEPS] == observed


def test_table_of_the_semaphore_is_as_observed() -> None:
    steps, table = BY_NAME["semaphore"], test_permits_golden.SEMAPHORE

    assert [each.free for each in table] == [value(step) for step in steps]
    for each, step in zip(table, steps, strict=True):
        if each.verb != "java_sets":  # what only Java does is done for it, without its words
            assert (each.reply, each.said) == (step["reply"], said(step)), each


@pytest.mark.parametrize("case", test_permits_golden.LEASED)
def test_table_of_leased_permits_is_as_observed(case: str) -> None:
    steps = [step for step in BY_NAME[f"expirable permits: {case}"] if not unknown_id(step)]
    table = test_permits_golden.LEASED[case]

    for each, step in zip(table, steps, strict=True):
        assert each.verb == VERBS[step["op"].removeprefix("permits.")]
        assert (each.reply, each.said, each.free) == (reply(step), said(step), value(step))
        assert each.holders == holders(step)


VERBS = {
    "try_set": "try_set",
    "try_acquire": "try_acquire",
    "release_one": "release",
    "release_many": "release",
}


def unknown_id(step: dict[str, Any]) -> bool:
    """Redisson refuses to release several where one is unknown; ours are released one by one."""
    return bool(step["op"] == "permits.release_many" and step["reply"] == 0)


def reply(step: dict[str, Any]) -> Any:
    """The nearest end is told as an instant; the table counts from noon."""
    told = step["reply"]
    return int(told[1:]) - NOON if isinstance(told, str) and told.startswith(":") else told


def holders(step: dict[str, Any]) -> dict[int, int]:
    members = value(step, "{k}:timeout") or []
    return {int(each[4:], 16): end if end == NEVER else end - NOON for each, end in members}


# --- kinds that ours has not ------------------------------------------------------------------


def attempt(store: Any, step: dict[str, Any], link: Any) -> Any:
    params = step["params"]
    return run(
        store.attempt("k", params["owner"], params["lease_ms"] / 1000, False, now() + 5), link
    )


@pytest.mark.server
def test_a_non_reentrant_lock_of_java_is_a_lock(redis_url: str, peek: Any) -> None:
    """Java refuses the same thread; an owner of ours is one acquisition, so that it repeats."""
    backend = RedisBackend(UrlFactory(read_url(redis_url)))
    link, (first, again, other) = backend.link(), BY_NAME["non-reentrant"]

    assert isinstance(attempt(backend.locks, first, link), int)
    assert peek.hgetall("k") == value(first)
    assert isinstance(attempt(backend.locks, again, link), int)
    assert peek.hgetall("k") == value(again)
    assert isinstance(attempt(backend.locks, other, link), Busy)
    link.close()


@pytest.mark.server
def test_our_release_tells_also_where_a_spin_lock_would_not(redis_url: str, peek: Any) -> None:
    """A spin lock wakes nobody; ours shares its layout, and whoever waits is told."""
    backend = RedisBackend(UrlFactory(read_url(redis_url)))
    link, (taken, released) = backend.link(), BY_NAME["spin: no message on release"]

    with messages(peek, "redisson*") as published:
        assert isinstance(attempt(backend.locks, taken, link), int)
        assert peek.hgetall("k") == value(taken)
        assert run(backend.locks.release("k", released["params"]["owner"], now() + 5), link)
        assert value(released) is None and not peek.exists("k")
        assert published() == [("redisson_lock__channel:{k}", "0")] and said(released) == []
    link.close()


@pytest.mark.server
def test_a_plain_lock_is_not_read_as_a_read_write_lock(redis_url: str, peek: Any) -> None:
    """Redisson grants the read, and releasing one destroys the other: ours refuses it."""
    backend = RedisBackend(UrlFactory(read_url(redis_url)))
    link = backend.link()
    taken, read, write = BY_NAME["cross: read lock on the hash of a plain lock is granted"]

    assert isinstance(attempt(backend.locks, taken, link), int)
    for store, step in ((backend.readers, read), (backend.writers, write)):
        with pytest.raises(StoreMisconfigured, match="in use as a lock"):
            attempt(store, step, link)
        assert peek.hgetall("k") == value(taken)
    link.close()
