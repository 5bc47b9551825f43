"""Python and Java want one name of ZooKeeper as fast as they can: nobody is let in twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.ensembles import Ensemble
from tests.support.zookeepers import ZooKeeperServer

from ...harness.contending import Contest, Outcome, contend, left_inside, ours, written
from ...harness.curators import curator
from ...harness.foreign import Foreign
from ...harness.matrix import BOTH, meets

#: Of each of Curator's kinds: its class, our name for it, and how many are let in.
KINDS = {
    "mutex": ("InterProcessMutex", "lock()", 1),
    "smutex": ("InterProcessSemaphoreMutex", "mutex()", 1),
    "write": ("InterProcessReadWriteLock", "rwlock()", 1),
    "semaphore": ("InterProcessSemaphoreV2", "semaphore()", 2),
}

PARAMS = [
    pytest.param(of, marks=meets("Curator", primitive, face, BOTH))
    for of, (primitive, face, _) in KINDS.items()
]

#: How much of the time each of them works.
PART = 0.6


def check(contest: Contest, outcome: Outcome) -> None:
    """Nobody met one too many, nothing was lost, tokens rose, and everybody came in."""
    assert (outcome.violations, left_inside(contest)) == ([], [])
    assert (outcome.errors, outcome.complaints) == ([], [])
    assert len(set(outcome.tokens)) == len(outcome.tokens)
    assert outcome.javas
    assert all(outcome.pythons)
    if contest.most == 1:
        count, tokens = written(contest)
        assert count == len(tokens)
        assert tokens == outcome.tokens  # which are sorted


@pytest.fixture(scope="module")
def pythons(zookeeper: ZooKeeperServer) -> Iterator[Foreign]:
    with ours(zookeeper.url()) as process:
        yield process


@pytest.mark.parametrize("of", PARAMS)
def test_nobody_is_let_in_twice(
    of: str,
    jvm: Foreign,
    pythons: Foreign,
    path: str,
    tmp_path: Path,
    seconds: float,
    record_property: Callable[[str, object], None],
) -> None:
    contest = Contest(of, path, tmp_path, seconds * PART, KINDS[of][2])
    outcome = contend(contest, jvm, pythons)
    record_property("figures", str(outcome))
    check(contest, outcome)


@meets("Curator", "itself", "none", direction=())
@pytest.mark.parametrize("make", ["thread", "task", "kazoo"])
def test_whoever_meets_one_too_many_says_so(
    make: str, pythons: Foreign, path: str, tmp_path: Path
) -> None:
    """The marker of somebody who did not ask anybody."""
    (tmp_path / "inside-0").mkdir()
    (tmp_path / "inside-0" / "stranger").touch()
    work: dict[str, Any] = {"kind": "lock", "folder": str(tmp_path), "run_ms": 100}
    (told,) = pythons.ask(verb="contend", name=path, contenders=[make], **work)
    assert len(told["violations"]) == len(told["tokens"]) > 0


@meets("kazoo", "Lock, named as Curator's", "lock()", BOTH)
def test_kazoo_reads_the_same_queue(
    jvm: Foreign,
    pythons: Foreign,
    path: str,
    tmp_path: Path,
    seconds: float,
    record_property: Callable[[str, object], None],
) -> None:
    """Its lock, with nodes named as Curator's: a third reading of names and order."""
    three = ("thread", "task", "kazoo", "kazoo")
    contest = Contest("mutex", path, tmp_path, seconds * PART, javas=2, pythons=three)
    outcome = contend(contest, jvm, pythons)
    record_property("figures", str(outcome))
    check(contest, outcome)


@pytest.fixture(scope="module")
def ensemble() -> Iterator[Ensemble]:
    with Ensemble(3, tick_ms=500) as ensemble:
        yield ensemble


@pytest.fixture(scope="module")
def apart(ensemble: Ensemble) -> Iterator[tuple[Foreign, Foreign]]:
    """A JVM and a Python that know one server each, and not the same."""
    first, second, _ = ensemble.members
    with curator(first.hosts) as jvm, ours(second.url()) as python:
        yield jvm, python


@pytest.mark.parametrize("of", PARAMS)
def test_nobody_is_let_in_twice_by_different_servers(
    of: str,
    apart: tuple[Foreign, Foreign],
    path: str,
    tmp_path: Path,
    seconds: float,
    record_property: Callable[[str, object], None],
) -> None:
    contest = Contest(of, path, tmp_path, seconds * PART, KINDS[of][2])
    outcome = contend(contest, *apart)
    record_property("figures", str(outcome))
    check(contest, outcome)
