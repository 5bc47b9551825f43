"""Readers and writers: every interleaving of a few of them, with a fault anywhere."""

from __future__ import annotations

import pytest

from interlock.recipes.renewal import BY_CLOCK
from tests.support.sim import (
    LOST_MESSAGES,
    READ,
    WRITE,
    Fault,
    Plan,
    Scenario,
    explore,
)

from .plans import (
    BRISK_READER,
    BRISK_WRITER,
    HASTY_WRITER,
    KEPT,
    PATIENT,
    READER,
    TURNING,
    WRITER,
)
from .test_explore import ALWAYS

PAIRS = {
    "steady": (WRITER, READER),
    "brisk": (BRISK_WRITER, BRISK_READER),
    "turning": (TURNING._replace(work=0.0), BRISK_READER),
}


@pytest.mark.parametrize("shared_ear", [False, True])
@pytest.mark.parametrize("plans", PAIRS.values(), ids=PAIRS)
def test_writer_and_reader_survive_any_fault(plans: tuple[Plan, Plan], shared_ear: bool) -> None:
    report = explore(Scenario(plans, shared_ear=shared_ear))

    assert [fault for fault in Fault if not report.seen[f"fault: {fault.value}"]] == []
    assert report.seen["a late attempt met a tombstone"]


@pytest.mark.slow
def test_writer_and_reader_survive_any_two_faults() -> None:
    report = explore(Scenario((WRITER, READER), faults=2))

    assert [thing for thing in ALWAYS if not report.seen[thing]] == []
    assert not report.seen["several held at the same time"]


def test_writer_that_reads_on_survives_any_two_lost_or_late_messages() -> None:
    report = explore(Scenario((TURNING, READER), faults=2, kinds=LOST_MESSAGES))

    assert report.seen["a writer read on"]
    assert report.seen["several held at the same time"]


TRIPLES = {
    "writer and readers": (WRITER, READER, READER),
    "hasty writer among readers": (READER, HASTY_WRITER, READER),
    "turning writer and readers": (TURNING, READER, READER),
}


@pytest.mark.parametrize("plans", TRIPLES.values(), ids=TRIPLES)
def test_writer_and_two_readers_survive_any_fault(plans: tuple[Plan, ...]) -> None:
    report = explore(Scenario(plans))

    assert [fault for fault in Fault if not report.seen[f"fault: {fault.value}"]] == []
    assert report.seen["several held at the same time"]
    assert report.seen["several were handed a share at the same time"]
    assert report.seen["a waiter was killed after it was handed the lock"]


@pytest.mark.slow
def test_brisk_writer_and_two_readers_survive_any_fault() -> None:
    report = explore(Scenario((BRISK_WRITER, BRISK_READER, BRISK_READER)))

    assert report.seen["several were handed a share at the same time"]
    assert report.seen["a late attempt was put into the queue"]


@pytest.mark.slow
def test_two_writers_and_a_reader_survive_any_fault() -> None:
    report = explore(Scenario((WRITER, WRITER, READER)))

    assert not report.seen["several held at the same time"]
    assert report.seen["a handed-over lock was passed on by withdrawing"]


@pytest.mark.slow
def test_kept_leases_survive_any_lost_or_slow_message() -> None:
    others = PATIENT._replace(want=WRITE), PATIENT._replace(want=READ)
    plans = (KEPT._replace(want=READ), *others)
    report = explore(Scenario(plans, kinds=LOST_MESSAGES | {Fault.SLOW, Fault.REFUSED}))

    assert report.seen["a lease was renewed"]
    assert report.seen["several held at the same time"]
    assert not report.seen[f"a hold was lost: {BY_CLOCK}"]


@pytest.mark.parametrize("rate", [0.99, 1.01])
def test_clocks_may_differ_by_one_percent(rate: float) -> None:
    report = explore(Scenario((WRITER, READER), rate=rate))

    assert report.seen["a release found the lease ended"]


# --- when nothing goes wrong --------------------------------------------------------------------

LONG = 20.0

CALM = {
    "steady": (WRITER, READER, READER, WRITER),
    "brisk": (BRISK_WRITER, BRISK_READER, BRISK_READER, BRISK_WRITER),
    "turning": (TURNING, READER, READER, WRITER),
}


@pytest.mark.parametrize("plans", CALM.values(), ids=CALM)
def test_readers_and_writers_are_served_in_order_and_at_once_when_nothing_goes_wrong(
    plans: tuple[Plan, ...],
) -> None:
    report = explore(Scenario(tuple(plan._replace(wait=LONG) for plan in plans), faults=0))

    assert report.seen["several held at the same time"]
    assert report.seen["several were handed a share at the same time"]
    assert not any(thing.startswith("an acquisition ended") for thing in report.seen)


def test_writer_is_not_starved_by_readers_that_come_again_and_again() -> None:
    """It has time for the readers before it, and not for any that come after it."""
    again = READER._replace(times=3, wait=LONG)
    report = explore(Scenario((again, again, WRITER._replace(wait=1.5)), faults=0))

    assert report.seen["several held at the same time"]
    assert not any(thing.startswith("an acquisition ended") for thing in report.seen)


def test_readers_behind_a_writer_that_gives_up_are_let_in_at_once() -> None:
    report = explore(Scenario((READER, HASTY_WRITER, READER), faults=0))

    assert report.seen["an acquisition ended with AcquireTimeout"]
    assert report.seen["a handed-over lock was claimed"]
    assert report.seen["several held at the same time"]
