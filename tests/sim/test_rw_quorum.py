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
from .quorum.rw_world import QUIET, RwWalk, RwWorld, StreamWorld
from .quorum.world import walk
from .test_quorum import GHOST, OLD_TOKEN, TWO_BELIEVE, seeds

#: No control needs more walks; most need a few.
MOST = 1000


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
    for seed in seeds(60):
        seen += walk(settings, seed, RwWorld)

    assert seen["granted to read"] > 100
    assert seen["granted to write"] > 50
    assert seen["beside"] > 30


def caught(settings: RwWalk, world: type[RwWorld] = RwWorld) -> str:
    """What goes wrong, on the first walk on which it does."""
    for seed in seeds(MOST):
        try:
            walk(settings, seed, world)
        except Violation as violation:
            return violation.what
    pytest.fail(f"{MOST} walks, and nothing went wrong")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        pytest.param(RwWalk(nodes=3, reads_on=False), TWO_BELIEVE, id="writes until answered"),
        pytest.param(RwWalk(rules=Rules(tombstones=False)), GHOST, id="no tombstone"),
        pytest.param(
            RwWalk(nodes=3, rules=Rules(attempts=False)), TWO_BELIEVE, id="attempts not numbered"
        ),
        pytest.param(
            RwWalk(nodes=3, rules=Rules(guard=False)), TWO_BELIEVE, id="no restart guard"
        ),
        pytest.param(
            RwWalk(nodes=3, restarts=8, rules=Rules(clock_floor=False)), OLD_TOKEN, id="no floor"
        ),
    ],
)
def test_a_broken_rule_is_noticed(settings: RwWalk, words: str) -> None:
    assert words in caught(settings)


# --- progress ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("stream", ["read", "write"])
def test_a_client_gets_in_among_those_of_the_other_mode(stream: str) -> None:
    for seed in seeds(15):
        seen = walk(RwWalk(stream=stream, **QUIET), seed, StreamWorld)
        assert seen["granted to read"] and seen["granted to write"]


@pytest.mark.parametrize(
    ("stream", "rules", "words"),
    [
        pytest.param("read", Rules(marks=False), "no write has got in", id="no mark"),
        pytest.param(
            "write", Rules(marks_taken_away=False), "no read has got in", id="marks that stay"
        ),
    ],
)
def test_without_marks_and_their_end_one_mode_starves_the_other(
    stream: str, rules: Rules, words: str
) -> None:
    assert words in caught(RwWalk(stream=stream, rules=rules, **QUIET), StreamWorld)
