"""Read/write locks over simulated nodes: many walks, and each rule broken on purpose.

As `test_quorum`: the recipes and the store are the real ones, the nodes are those of
`quorum.rw_nodes`, which `tests/backends/redis/redlock/test_rw_nodes_agree.py` holds equal to the
scripts.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.sim import Violation

from .quorum.nodes import Rules
from .quorum.rw_world import RwWalk, RwWorld
from .quorum.world import walk
from .test_quorum import GHOST, OLD_TOKEN, TWO_BELIEVE, seeds

MOST = 3000


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(RwWalk(), id="five nodes"),
        pytest.param(RwWalk(nodes=3, clients=5), id="five clients on three nodes"),
        pytest.param(RwWalk(restarts=12, times=5), id="rolling restarts"),
        pytest.param(RwWalk(nodes=3, wild=False), id="three nodes, fair proposals"),
    ],
)
def test_readers_share_it_and_a_writer_has_it_alone(settings: RwWalk) -> None:
    seen: Counter[str] = Counter()
    for seed in seeds(100):
        seen += walk(settings, seed, RwWorld)

    print(seen)
    assert seen["granted to read"] > 100
    assert seen["granted to write"] > 50
    assert seen["beside"] > 30


def caught(settings: RwWalk) -> str:
    for seed in seeds(MOST):
        try:
            walk(settings, seed, RwWorld)
        except Violation as violation:
            print(seed)
            return violation.what
    pytest.fail(f"{MOST} walks, and nothing went wrong")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        pytest.param(
            RwWalk(nodes=3, restarts=8, rules=Rules(readers_heal_beside_a_writer=True)),
            TWO_BELIEVE,
            id="readers heal beside a writer",
        ),
        pytest.param(
            RwWalk(nodes=3, restarts=8, rules=Rules(writers_heal_beside_readers=True)),
            TWO_BELIEVE,
            id="writers heal beside readers",
        ),
        pytest.param(
            RwWalk(nodes=3, restarts=8, rules=Rules(writers_heal_as_readers=True)),
            TWO_BELIEVE,
            id="writers heal as readers",
        ),
        pytest.param(RwWalk(nodes=3, reads_on=False), TWO_BELIEVE, id="writes until it is answered"),
        pytest.param(RwWalk(rules=Rules(tombstones=False)), GHOST, id="no tombstone"),
        pytest.param(
            RwWalk(nodes=3, rules=Rules(attempts=False)), TWO_BELIEVE, id="attempts not numbered"
        ),
        pytest.param(RwWalk(nodes=3, rules=Rules(guard=False)), TWO_BELIEVE, id="no restart guard"),
        pytest.param(
            RwWalk(nodes=3, restarts=8, rules=Rules(clock_floor=False)), OLD_TOKEN, id="no floor"
        ),
    ],
)
def test_a_broken_rule_is_noticed(settings: RwWalk, words: str) -> None:
    assert words in caught(settings)
