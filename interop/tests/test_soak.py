"""Python and Java work hard on the same names: nobody is let in twice, nobody starves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.eventually import eventually

from ..harness.foreign import Foreign
from ..harness.matrix import BOTH, meets
from ..harness.soaking import Outcome, Shape, soak
from .looking import left_behind

#: One hot name that two of each side always want; and four, with two of each side on each.
SHAPES = {"hot": Shape(2, 1, 2), "many": Shape(2, 4, 8, names=4)}

#: How often they work until the shares of all turns together are told.
TURNS = 4

#: Redisson's name for each kind, ours, how much of the time it works, and which part of the
#: grants each side has at least.  Locks take turns; what is free for whoever comes first depends
#: on who is quicker just now.  Java tries several locks in another order than ours first, and
#: gives up where that makes a circle: all it can expect is to come in at all.
KINDS = {
    "lock": ("RLock", "lock()", 1.0, 0.25),
    "fair_lock": ("RFairLock", "fair_lock()", 1.0, 0.25),
    "fenced_lock": ("RFencedLock", "fenced_lock()", 1.0, 0.25),
    "write": ("RReadWriteLock", "rwlock()", 1.0, 0.2),
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
    redis_url: str,
    jvm: Foreign,
    peek: Any,
    seconds: float,
    name: str,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    *_, part, least = KINDS[kind]
    share, known = Share(), set[str]()
    for turn in range(TURNS):
        folder = tmp_path / str(turn)
        folder.mkdir()
        run = (seconds * part, redis_url, jvm, folder, f"{name}-{turn}")
        outcome = soak(kind, SHAPES[shape], *run)
        record_property("figures", str(outcome))
        check(kind, outcome, peek, known)
        if least <= share.with_(outcome) <= 1 - least:
            return  # what is enough in one turn need not be tried again
    assert least <= share.ours / share.total <= 1 - least


#: What also works together on several servers: there for half of the time.
SEVERAL = [
    each
    for each in PARAMS
    if {"lock", "fair_lock", "fenced_lock", "rwlock", "semaphore"} & {*each.values}
]


@pytest.mark.modes("sentinel", "cluster")
@pytest.mark.parametrize("kind", SEVERAL)
def test_no_update_is_lost_behind_sentinels_and_in_a_cluster(
    kind: str,
    redis_url: str,
    jvm: Foreign,
    peek: Any,
    seconds: float,
    name: str,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    """Four names, which lie on different nodes of a cluster; neither side starves."""
    outcome = soak(kind, SHAPES["many"], seconds / 2, redis_url, jvm, tmp_path, name)
    record_property("figures", str(outcome))
    check(kind, outcome, peek, set())
    assert 0.05 <= outcome.share <= 0.95


def check(kind: str, outcome: Outcome, peek: Any, known: set[str]) -> None:
    """Nothing was lost, everybody came in, and nothing is left behind but what was made."""
    known |= outcome.counts.keys()
    assert outcome.counts == dict(outcome.total)
    free = {each: peek.get(each) for each in outcome.counts}
    assert set(free.values()) == ({"1"} if "semaphore" in kind else {None})
    eventually(lambda: left_behind(peek) <= known | tokens(peek))
    for side in (outcome.javas, outcome.ours):
        assert min(side.values()) > 0


class Share:
    """Our part of all grants, over several turns: the machine may have been busy in one."""

    def __init__(self) -> None:
        self.ours = self.total = 0

    def with_(self, outcome: Outcome) -> float:
        self.ours += outcome.ours.total()
        self.total += outcome.total.total()
        return self.ours / self.total
