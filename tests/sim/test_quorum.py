"""The quorum store over simulated nodes: many walks, and each rule broken on purpose.

The recipes and the store are the real ones, the nodes are those of `quorum.nodes`, which
`tests/backends/redis/redlock/test_nodes_agree.py` holds equal to the scripts.  The walks are the
same each time; to walk elsewhere, set `INTERLOCK_SEED` to any whole number.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from interlock.backends.redis.redlock import decide, locks, votes
from interlock.backends.redis.redlock.decide import RaiseTo
from interlock.backends.redis.redlock.locks import QuorumLocks
from interlock.recipes import agreement
from interlock.steps import Steps
from tests.support.sim import Violation

from .quorum.nodes import Rules
from .quorum.world import Walk, walk

FIRST = int(os.environ.get("INTERLOCK_SEED", "0"))

#: No control needs more walks; most need a few.
MOST = 3000


def seeds(count: int) -> Iterator[int]:
    return iter(range(FIRST, FIRST + count))


def walked(settings: Walk, count: int) -> Counter[str]:
    seen: Counter[str] = Counter()
    for seed in seeds(count):
        seen += walk(settings, seed)
    return seen


# --- the rules as they are -----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(Walk(), id="five nodes"),
        pytest.param(Walk(nodes=3), id="three nodes"),
        pytest.param(Walk(nodes=3, wild=False), id="three nodes, fair proposals"),
        pytest.param(Walk(restarts=12, times=5), id="rolling restarts"),
        pytest.param(Walk(nodes=3, restarts=8, clients=5), id="five clients on three nodes"),
    ],
)
def test_one_believes_at_a_time_and_its_token_is_the_newest(settings: Walk) -> None:
    seen = walked(settings, 100)

    assert seen["granted"] > 100
    assert seen["renewed"] > 100
    assert seen["restarts"] > 100


# --- each rule broken ----------------------------------------------------------------------------


def caught(settings: Walk) -> str:
    """What goes wrong, on the first walk on which it does."""
    for seed in seeds(MOST):
        try:
            walk(settings, seed)
        except Violation as violation:
            return violation.what
    pytest.fail(f"{MOST} walks, and nothing went wrong")


TWO_BELIEVE, OLD_TOKEN, GHOST = "both believe", "is believed after", "after its withdrawal"


class NoWriteBack(QuorumLocks):
    """Believes a token that fewer than a majority store."""

    def _raise(
        self, name: str, owner: str, decision: RaiseTo, votes: Any, until: float
    ) -> Steps[None]:
        for node in decision.nodes:
            votes.stored[node] = decision.token
        return
        yield


class FromTheAnswer(QuorumLocks):
    """Counts a lease from its answer."""

    def valid_until(self, asked: float, lease: float) -> float:
        return super().valid_until(self._quorum.clock(), lease)


class NoMargin(QuorumLocks):
    """Forgets that the clock of a node may run faster."""

    def valid_until(self, asked: float, lease: float) -> float:
        return asked + lease


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        pytest.param(Walk(nodes=3, store=NoWriteBack), OLD_TOKEN, id="no second round"),
        pytest.param(Walk(nodes=3, store=FromTheAnswer), TWO_BELIEVE, id="lease from the answer"),
        pytest.param(Walk(nodes=3, store=NoMargin), TWO_BELIEVE, id="no margin for drift"),
        pytest.param(Walk(rules=Rules(tombstones=False)), GHOST, id="no tombstone"),
        pytest.param(
            Walk(nodes=3, rules=Rules(attempts=False)), TWO_BELIEVE, id="attempts not numbered"
        ),
        pytest.param(Walk(nodes=3, rules=Rules(guard=False)), TWO_BELIEVE, id="no restart guard"),
        pytest.param(
            Walk(nodes=3, restarts=8, rules=Rules(clock_floor=False)),
            OLD_TOKEN,
            id="no floor",
        ),
        pytest.param(Walk(nodes=3, restarts=8, skew=60.0), OLD_TOKEN, id="skew beyond the guard"),
        pytest.param(
            Walk(nodes=3, restarts=8, rules=Rules(capped=False)),
            OLD_TOKEN,
            id="no cap",
        ),
        pytest.param(
            Walk(nodes=3, renewals_end=False), OLD_TOKEN, id="a renewal of what has ended"
        ),
    ],
)
def test_a_broken_rule_is_noticed(settings: Walk, words: str) -> None:
    assert words in caught(settings)


@pytest.mark.slow
def test_less_than_a_majority_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_few(nodes: int) -> int:
        return nodes // 2

    for module in (agreement, decide, locks, votes):
        monkeypatch.setattr(module, "majority", too_few)

    noticed = caught(Walk())
    assert TWO_BELIEVE in noticed or OLD_TOKEN in noticed  # two at once, or two that do not meet
