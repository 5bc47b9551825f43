"""How the observer of `bench.failovers` judges: from what clients believed, and what the new
primary had."""

from __future__ import annotations

import pytest

from bench.failovers.judging import Claim, Failover, Snapshot, judge


def claim(
    client: str,
    granted: float,
    ended: float,
    told: float | None = None,
    token: int | None = None,
    name: str = "k",
) -> Claim:
    return Claim(name, client, client, granted, ended, told, False, token)


def failover(*owners: str) -> Failover:
    """Struck at 1 and promoted at 2; at 3 the new primary has these owners on record."""
    return Failover(1.0, 2.0, [Snapshot(3.0, 3.1, {"k": frozenset(owners)})])


def test_lock_that_the_new_primary_has_is_not_lost() -> None:
    score = judge([claim("a", 0.5, 9.0)], failover("a"))

    assert (score.held, score.lost, score.stale, score.given_up) == (1, 0, 0, 0)


def test_lock_that_the_new_primary_has_not_is_lost_and_may_be_told() -> None:
    silent = judge([claim("a", 0.5, 9.0)], failover("b"))
    told = judge([claim("a", 0.5, 9.0, told=4.0)], failover("b"))

    assert (silent.lost, silent.told) == (1, 0)
    assert (told.lost, told.told, told.told_after) == (1, 1, [2.0])


def test_belief_that_had_ended_is_not_lost() -> None:
    assert judge([claim("a", 0.5, 2.9)], failover()).lost == 0


def test_grant_of_an_old_primary_after_the_promotion_is_stale() -> None:
    score = judge([claim("a", 2.5, 9.0)], failover("b"))

    assert (score.held, score.lost, score.stale) == (0, 0, 1)
    assert score.first_grants == []


def test_holder_that_gave_up_what_it_had_is_counted_apart() -> None:
    score = judge([claim("a", 0.5, 9.0, told=4.0)], failover("a"))

    assert (score.lost, score.told, score.given_up) == (0, 0, 1)


@pytest.mark.parametrize(
    ("first", "second", "fenced"), [(1, 2, 1), (1, 1, 0), (2, 1, 0), (None, None, 0)]
)
def test_later_grant_must_have_the_greater_token(
    first: int | None, second: int | None, fenced: int
) -> None:
    claims = [claim("a", 0.5, 9.0, token=first), claim("b", 2.5, 9.0, token=second)]
    score = judge(claims, failover("b"))

    assert (score.two_believers, score.fenced) == (1, fenced)
    assert score.first_grants == [1.5]


def test_one_after_the_other_are_not_two_believers() -> None:
    told = [claim("a", 0.5, 9.0, told=2.5, token=1), claim("b", 2.5, 9.0, token=2)]
    apart = [claim("a", 0.5, 9.0), claim("b", 0.5, 9.0, name="other")]

    assert judge(told, failover("b")).two_believers == 0
    assert judge(apart, failover("a")).two_believers == 0
