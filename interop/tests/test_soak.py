"""Python and Java work hard on the same names: nobody is let in twice, nobody starves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interlock.testing.servers import RedisServer
from tests.backends.redis.watching import eventually

from ..harness.foreign import Foreign
from ..harness.matrix import BOTH, meets
from ..harness.soaking import Shape, soak
from .looking import left_behind

#: One hot name that two of each side always want; and four, with two of each side on each.
SHAPES = {"hot": Shape(2, 1, 2), "many": Shape(2, 4, 8, names=4)}

#: Redisson's name for each kind, ours, how much of the time it works, and which part of the
#: grants each side has at least.  Locks take turns; what is free for whoever comes first depends
#: on who is quicker just now.  Java tries several locks in another order than ours first, and
#: gives up where that makes a circle: all it can expect is to come in at all.
KINDS = {
    "lock": ("RLock", "lock()", 1.0, 0.25),
    "fair_lock": ("RFairLock", "fair_lock()", 1.0, 0.25),
    "fenced_lock": ("RFencedLock", "fenced_lock()", 1.0, 0.25),
    "write": ("RReadWriteLock", "rwlock()", 1.0, 0.1),
    "rwlock": ("RReadWriteLock", "rwlock()", 1.0, 0.1),
    "semaphore": ("RSemaphore", "semaphore()", 0.5, 0.1),
    "leased_semaphore": ("RPermitExpirableSemaphore", "leased_semaphore()", 0.5, 0.1),
    "multilock": ("RedissonMultiLock", "multilock()", 0.5, 0.0),
}

PARAMS = [
    pytest.param(kind, marks=meets("Redisson", primitive, ours, BOTH))
    for kind, (primitive, ours, *_) in KINDS.items()
]


def tokens(peek: Any) -> set[str]:
    """Redisson's counters of fencing tokens, which stay."""
    return set(peek.keys("redisson_lock_token:*"))


@pytest.mark.parametrize("shape", sorted(SHAPES))
@pytest.mark.parametrize("kind", PARAMS)
def test_no_update_is_lost_and_each_side_gets_its_share(
    kind: str,
    shape: str,
    redis_server: RedisServer,
    jvm: Foreign,
    peek: Any,
    seconds: float,
    name: str,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    *_, part, least = KINDS[kind]
    run = seconds * part
    outcome = soak(kind, SHAPES[shape], run, redis_server.port, jvm, tmp_path, name)
    record_property("figures", str(outcome))
    assert outcome.counts == dict(outcome.total)
    free = {each: peek.get(each) for each in outcome.counts}
    assert set(free.values()) == ({"1"} if "semaphore" in kind else {None})
    eventually(lambda: left_behind(peek) <= free.keys() | tokens(peek))
    assert least <= outcome.share <= 1 - least
    for side in (outcome.javas, outcome.ours):
        assert min(side.values()) > 0
