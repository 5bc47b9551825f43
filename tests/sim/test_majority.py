"""A majority over simulated stores: many walks, and each rule broken on purpose.

The walks are the same each time; to walk elsewhere, set `INTERLOCK_SEED` to any whole number.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pytest

from interlock import abreast
from interlock.recipes import agreement, majority, multilock
from tests.support.sim import Violation

from .majority import world
from .majority.world import Walk, walk

FIRST = int(os.environ.get("INTERLOCK_SEED", "0"))

#: No control needs more walks; most need a few.
MOST = 1500


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(Walk(), id="three stores"),
        pytest.param(Walk(stores=5, hangs=4), id="five stores"),
        pytest.param(Walk(strikes=8, times=4), id="interrupted often"),
        pytest.param(Walk(processes=5, hangs=0, strikes=0), id="crowded"),
    ],
)
def test_one_believes_at_a_time_and_nothing_is_left(settings: Walk) -> None:
    seen: Counter[str] = Counter()
    for seed in range(FIRST, FIRST + 100):
        seen += walk(settings, seed)

    assert seen["granted"] > 100
    assert seen["kept"] > 50
    assert not settings.strikes or seen["interrupted"] > 20


def caught(settings: Walk) -> str:
    """What goes wrong, on the first walk on which it does."""
    for seed in range(FIRST, FIRST + MOST):
        try:
            walk(settings, seed)
        except Violation as violation:
            return violation.what
    pytest.fail(f"{MOST} walks, and nothing went wrong")


@pytest.mark.slow
def test_less_than_a_majority_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_few(voters: int) -> int:
        return voters // 2

    for module in (agreement, majority, world):
        monkeypatch.setattr(module, "majority", too_few)

    assert "both believe" in caught(Walk(stores=5))


@pytest.mark.slow
def test_lost_members_that_count_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each grant counts from before its question: the time that the others took is subtracted."""

    def held(holds: Any) -> list[Any]:
        return [hold for hold in holds if hold is not None]

    monkeypatch.setattr(majority, "standing", held)
    monkeypatch.setattr(world.Process, "believes", lambda self: bool(self.held))

    assert "both believe" in caught(Walk(hangs=6))


@pytest.mark.slow
def test_member_that_is_let_go_without_a_withdrawal_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def let_go(lane: Any) -> None:
        lane.steps.close()
        lane._end([None])

    monkeypatch.setattr(abreast.ClientLane, "let_go", let_go)

    assert "keeps something" in caught(Walk(hangs=6))


@pytest.mark.slow
def test_round_that_is_not_given_back_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def give_nothing(*args: Any) -> Any:
        return []
        yield

    monkeypatch.setattr(majority, "give_all", give_nothing)

    assert "keeps something" in caught(Walk())


@pytest.mark.slow
def test_interruption_that_restores_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(members: Any, steps: Any, deadline: float, clock: Any) -> Any:
        return (yield from steps)

    monkeypatch.setattr(majority, "or_restore", forgetful)
    assert multilock.or_restore is not forgetful

    assert "keeps something" in caught(Walk(strikes=8))
