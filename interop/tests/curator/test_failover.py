"""The leader of an ensemble is killed while both sides work: nobody is let in twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.ensembles import Ensemble
from tests.support.eventually import eventually

from ...harness.contending import (
    Contest,
    Outcome,
    begin,
    contend,
    end,
    left_inside,
    ours,
    written,
)
from ...harness.curators import curator
from ...harness.foreign import SOON, Foreign
from ...harness.matrix import BOTH, meets

KINDS = {
    "mutex": ("InterProcessMutex", "lock()"),
    "smutex": ("InterProcessSemaphoreMutex", "mutex()"),
    "write": ("InterProcessReadWriteLock", "rwlock()"),
}
PARAMS = [pytest.param(of, marks=meets("Curator", *names, BOTH)) for of, names in KINDS.items()]

#: How many are let in before the leader is killed.
SOME = 20

#: Seconds of work in which the leader is killed, and how much of the time they work afterwards.
DURING, PART = 3.0, 0.5


@pytest.fixture(scope="module")
def ensemble() -> Iterator[Ensemble]:
    with Ensemble(3, tick_ms=500) as ensemble:
        yield ensemble


@pytest.fixture(scope="module")
def sides(ensemble: Ensemble) -> Iterator[tuple[Foreign, Foreign]]:
    """A JVM and a Python that know every server."""
    with curator(ensemble.hosts) as jvm, ours(ensemble.url()) as python:
        yield jvm, python


def epoch(token: int) -> int:
    """Which leader's time a token is of."""
    return token >> 32


@pytest.mark.parametrize("of", PARAMS)
def test_nobody_is_let_in_twice_when_the_leader_is_killed(
    of: str,
    ensemble: Ensemble,
    sides: tuple[Foreign, Foreign],
    path: str,
    tmp_path: Path,
    seconds: float,
    record_property: Callable[[str, object], None],
) -> None:
    """Some may be told meanwhile that a server failed; afterwards everybody comes in again."""
    contest = Contest(of, path, tmp_path, DURING)
    during = failing(ensemble, contest, sides)
    after = contend(contest._replace(seconds=seconds * PART), *sides)
    record_property("figures", f"{during}; afterwards {after}")
    assert (during.violations, after.violations, left_inside(contest)) == ([], [], [])
    count, tokens = written(contest)
    assert count == len(tokens)
    assert tokens == sorted(set(tokens))
    assert epoch(tokens[0]) < epoch(min(after.tokens))
    assert after.errors == []
    assert after.javas
    assert all(after.pythons)


def failing(ensemble: Ensemble, contest: Contest, sides: tuple[Foreign, Foreign]) -> Outcome:
    """Let them work while the leader is killed; in the end it is one of the others again."""
    work = begin(contest, *sides)
    tokens = contest.folder / "tokens-0"
    eventually(lambda: tokens.exists() and len(tokens.read_text().split()) > SOME, SOON)
    ensemble.leader().kill()
    try:
        ensemble.leader()
        return end(contest, *work)
    finally:
        ensemble.start()
