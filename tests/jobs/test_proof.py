"""Six processes whose clocks differ run a job that is shorter than that; some runners die."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.eventually import eventually

from .instances import Instances

#: Seconds between ticks, and how far the clocks are apart: three periods each way.
PERIOD, SKEWS = 0.25, [-0.75, -0.45, -0.15, 0.15, 0.45, 0.75]

#: Ticks that are looked at: one of ten kills its runner.
TICKS = 11


def settled(crew: Instances) -> list[int]:
    """Ticks that have all been begun, and have passed on every clock."""
    eventually(lambda: crew.have_begun(crew.ticks(TICKS)), within=60)
    ticks = crew.ticks(TICKS)
    eventually(lambda: crew.have_passed(ticks), within=60)
    return ticks


@pytest.mark.parametrize("store", ["sqlite", "redis", "zookeeper"])
def test_each_tick_is_begun_once_and_only_those_of_dead_runners_do_not_end(
    store: str, url_of: Callable[[str], str], tmp_path: Path
) -> None:
    with Instances(proof_url(url_of, store), tmp_path / "log", SKEWS, PERIOD, False) as crew:
        ticks = settled(crew)
    begun, ended = crew.tokens("begin"), crew.tokens("end")

    assert {tick: len(begun[tick]) for tick in ticks} == dict.fromkeys(ticks, 1)
    deadly = [tick for tick in ticks if crew.is_deadly(tick)]
    assert [tick for tick in ticks if not ended[tick]] == deadly
    assert crew.deaths >= len(deadly) > 0
    assert [tick for tick in begun if len(begun[tick]) > 1] == []


def test_with_retry_dead_each_tick_ends_once_under_a_larger_token(
    url_of: Callable[[str], str], tmp_path: Path
) -> None:
    with Instances(proof_url(url_of, "redis"), tmp_path / "log", SKEWS, PERIOD, True) as crew:
        ticks = settled(crew)
        eventually(lambda: all(crew.tokens("end")[tick] for tick in ticks), within=60)
    begun, ended = crew.tokens("begin"), crew.tokens("end")

    assert {tick: len(ended[tick]) for tick in ticks} == dict.fromkeys(ticks, 1)
    deadly = [tick for tick in ticks if crew.is_deadly(tick)]
    assert deadly
    assert all(len(begun[tick]) == 2 and begun[tick][0] < begun[tick][1] for tick in deadly)


def proof_url(url_of: Callable[[str], str], store: str) -> str:
    """On ZooKeeper the lock of a dead runner ends with its session, so that is short."""
    return url_of(store).replace("session_timeout=100s", "session_timeout=2s")
