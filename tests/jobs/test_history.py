"""What follows from the history of a job: claims, overlaps, deaths, and what is forgotten."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from interlock.jobs.history import (
    DONE,
    FAILED,
    RUNNING,
    RUNS,
    SKIPPED,
    WINDOW_MS,
    History,
    Rules,
    Run,
    decide,
    finished,
    packed,
    unpacked,
)


def run(tick: int, state: str = DONE, took: float | None = 0.005, owner: str = "a") -> Run:
    return Run("job", state, tick / 1000, "host:1", owner, 7, tick / 1000, took)


def claim(tick: int, owner: str = "b") -> Run:
    return run(tick, RUNNING, None, owner)


def test_a_tick_is_claimed_once() -> None:
    first = decide(History(), claim(1000), Rules(), 1000)
    assert first.claimed
    assert first.history is not None

    second = decide(first.history, claim(1000, "c"), Rules(), 1000)

    assert not second.claimed
    assert second.history is None
    assert second.run.owner == "b"


def test_a_claim_whose_answer_was_lost_is_known_again() -> None:
    first = decide(History(), claim(1000), Rules(), 1000)
    assert first.history is not None

    again = decide(first.history, claim(1000), Rules(), 1000)

    assert again.claimed
    assert again.history is None


def test_a_client_claims_again_what_it_never_ran() -> None:
    """The answer to its claim was lost, or its lock before it could begin."""
    history = History().with_run(claim(1000, "client:1"))

    assert decide(history, claim(1000, "client:2"), Rules(in_order=True), 1000).claimed
    assert not decide(history, claim(1000, "client:2"), Rules(), 1000).claimed
    assert not decide(history, claim(1000, "other:2"), Rules(in_order=True), 1000).claimed


def test_an_earlier_tick_is_still_to_be_claimed_after_a_later_one() -> None:
    """An instance whose clock is ahead begins with a later tick than the others."""
    history = History().with_run(run(14_000))

    assert decide(history, claim(11_000), Rules(), 11_000).claimed


def test_a_tick_that_fell_into_the_run_before_it_is_skipped() -> None:
    history = History().with_run(run(1000, took=2.5))

    decision = decide(history, claim(3000), Rules(), 3000)

    assert not decision.claimed
    assert decision.run.state == SKIPPED
    assert "took 2.5 s" in decision.run.error
    assert decision.history is not None
    assert not decide(decision.history, claim(3000, "c"), Rules(), 3000).claimed
    assert decide(decision.history, claim(4000), Rules(), 4000).claimed


def test_a_run_that_only_began_late_overlaps_nothing() -> None:
    late = replace(run(1000), began=9.0)

    assert decide(History().with_run(late), claim(2000), Rules(), 2000).claimed


def test_of_the_ticks_that_queue_behind_a_run_the_newest_is_run() -> None:
    history = History().with_run(run(1000, took=2.5))
    rules = Rules(queues=True)

    assert decide(history, claim(2000), rules, 3000).run.state == SKIPPED
    assert decide(history, claim(3000), rules, 3000).claimed


def test_a_tick_of_a_dead_runner_is_left_alone_unless_the_job_says_so() -> None:
    history = History().with_run(claim(1000, "dead"))

    assert not decide(history, claim(1000), Rules(), 1000).claimed
    taken = decide(history, claim(1000), Rules({RUNNING}), 1000)

    assert taken.claimed
    assert taken.run.deaths == 1


def test_a_tick_that_kills_its_runners_is_given_up() -> None:
    history, rules = History(), Rules({RUNNING}, deaths=3)
    claims = 0
    for number in range(10):
        decision = decide(history, claim(1000, f"owner {number}"), rules, 1000)
        claims += decision.claimed
        history = decision.history or history

    assert claims == 4


def test_an_end_is_written_by_its_owner_only() -> None:
    history = History().with_run(claim(1000, "a"))

    assert finished(history, run(1000, owner="b")) is None
    ended = finished(history, run(1000, FAILED, owner="a"))

    assert ended is not None
    assert ended.runs[0].state == FAILED


@given(st.lists(st.integers(min_value=1, max_value=10**6), min_size=1, unique=True))
def test_what_is_forgotten_counts_as_settled(ticks: list[int]) -> None:
    history = History()
    for tick in ticks:
        history = history.with_run(run(tick))

    assert len(history.runs) <= RUNS
    assert all(history.run_of(tick) is not None for tick in ticks)
    newest = max(ticks)
    young = [tick for tick in range(max(1, newest - WINDOW_MS + 1), newest) if tick not in ticks]
    assert all(history.run_of(tick) is None for tick in young[:50])


@given(st.lists(st.tuples(st.integers(1, 10**6), st.sampled_from([DONE, RUNNING]), st.text())))
def test_a_history_is_read_as_it_was_written(runs: list[tuple[int, str, str]]) -> None:
    history = History("every 1 s", "host:1 (p)")
    for tick, state, error in runs:
        history = history.with_run(replace(run(tick, state), error=error))

    assert unpacked("job", packed(history)) == history


def test_a_text_that_makes_no_sense_is_no_history() -> None:
    for text in ("", "[]", '{"runs": 5}', '{"ticks": ["x"]}', '{"runs": [{"owner": 1}]}', "{"):
        assert unpacked("job", text).ticks == ()
