"""What the demo's counters and its score do, without any process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interlock.cli.demo_counter import FencedCounter, LooseCounter
from interlock.cli.demo_picture import counters, events, workers
from interlock.cli.demo_score import Score, WorkerState
from interlock.errors import StaleToken


def test_fenced_counter_refuses_an_older_token(tmp_path: Path) -> None:
    counter = FencedCounter(tmp_path / "counter")
    counter.create()
    counter.write(1, token=7)

    with pytest.raises(StaleToken) as refusal:
        counter.write(2, token=6)

    assert (refusal.value.token, refusal.value.newest) == (6, 7)
    assert counter.read() == 1


def test_fenced_counter_takes_the_same_token_and_newer_ones(tmp_path: Path) -> None:
    counter = FencedCounter(tmp_path / "counter")
    counter.create()

    for value, token in ((1, 7), (2, 7), (3, 8)):
        counter.write(value, token)

    assert counter.read() == 3


def test_loose_counter_takes_anything(tmp_path: Path) -> None:
    counter = LooseCounter(tmp_path / "loose")
    counter.create()

    counter.write(5, writer=1)
    counter.write(1, writer=2)

    assert counter.read() == 1


def performed() -> Score:
    """A score in which everything went as it should."""
    score = Score(
        2.0, {number: WorkerState(number, 100 + number) for number in (1, 2, 3)}, began=10.0
    )
    _hear(score, 1, "holds", 11, token=1)
    score.strike(1, 11.5, "killed", "is killed")
    _hear(score, 2, "holds", 13, token=2)
    score.strike(2, 13.5, "paused", "is paused")
    _hear(score, 3, "holds", 15, token=3)
    _hear(score, 3, "counted", 15.1, value=1)
    _hear(score, 2, "refused", 16, token=2, newest=3, value=1)
    _hear(score, 2, "lost", 16.1, token=2)
    score.counter = 1
    return score


def _hear(score: Score, number: int, what: str, at: float, **facts: Any) -> None:
    score.hear(number, {"what": what, "at": at, **facts})


def test_a_play_that_went_well_has_no_complaints() -> None:
    score = performed()

    assert list(score.complaints()) == []
    assert score.recoveries == [1.5, 1.5]


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda score: setattr(score, "counter", 0), "the counter is 0 after 1"),
        (lambda score: score.losses.clear(), "did not report its loss"),
        (lambda score: score.refusals.clear(), "was not refused"),
        (lambda score: score.recoveries.pop(), "no worker took the lock over"),
        (lambda score: score.paused.clear(), "did not report its loss"),
    ],
)
def test_whatever_went_wrong_is_complained_of(spoil: Any, complaint: str) -> None:
    score = performed()

    spoil(score)

    assert complaint in "; ".join(score.complaints())


def test_only_one_worker_is_shown_as_the_holder() -> None:
    score = performed()
    _hear(score, 2, "holds", 17, token=4)
    _hear(score, 3, "waits", 17.1)

    assert [worker.number for worker in score.workers.values() if worker.holding] == [2]
    assert [worker.number for worker in score.waiting] == [3]


def test_a_worker_lingers_until_it_reports_something_else() -> None:
    """Also where a broken lock lets another one hold meanwhile: the script waits for it."""
    score = performed()
    _hear(score, 3, "lingers", 17)
    _hear(score, 2, "holds", 17.1, token=4)
    assert score.lingering == {3}

    _hear(score, 3, "counted", 17.2, value=2)
    assert score.lingering == set()


@pytest.mark.parametrize(("width", "height"), [(80, 24), (100, 30)])
def test_picture_fits_the_terminal(width: int, height: int) -> None:
    from rich.console import Console, Group

    score = performed()
    score.workers.update({number: WorkerState(number, 100 + number) for number in range(4, 9)})
    console = Console(width=width, height=height, record=True, force_terminal=True, quiet=True)

    lines = console.render_lines(
        Group(workers(score, 17.0), counters(score), events(score, height - 18)), pad=False
    )

    assert len(lines) <= height - 2
    assert max(sum(segment.cell_length for segment in line) for line in lines) <= width
