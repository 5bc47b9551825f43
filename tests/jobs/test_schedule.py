"""When jobs are due: expressions, intervals, time zones, and what is refused."""

from __future__ import annotations

import builtins
from datetime import UTC, datetime
from typing import Any

import pytest

from interlock import UsageError
from interlock.jobs.schedule import CronSchedule, IntervalSchedule, Schedule


def ms(text: str) -> int:
    """An instant, in UTC unless it says otherwise."""
    when = datetime.fromisoformat(text)
    return round((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)


def following(schedule: Schedule, start: str, count: int = 3) -> list[str]:
    ticks = [schedule.after(ms(start))]
    while len(ticks) < count:
        ticks.append(schedule.after(ticks[-1]))
    return [datetime.fromtimestamp(tick / 1000, UTC).strftime("%d %H:%M:%S") for tick in ticks]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("*/5 * * * *", ["18 10:05:00", "18 10:10:00", "18 10:15:00"]),
        ("0/5 * * * * *", ["18 10:01:05", "18 10:01:10", "18 10:01:15"]),
        ("0/5 * * * * ?", ["18 10:01:05", "18 10:01:10", "18 10:01:15"]),
        ("0 0 12 ? * MON-FRI", ["18 12:00:00", "19 12:00:00", "20 12:00:00"]),
        ("@hourly", ["18 11:00:00", "18 12:00:00", "18 13:00:00"]),
        ("@daily", ["19 00:00:00", "20 00:00:00", "21 00:00:00"]),
        ("@Midnight", ["19 00:00:00", "20 00:00:00", "21 00:00:00"]),
    ],
)
def test_an_expression_of_five_or_six_fields_or_a_word(
    expression: str, expected: list[str]
) -> None:
    assert following(CronSchedule(expression), "2026-11-18T10:01:03") == expected


def test_an_interval_has_the_same_ticks_everywhere() -> None:
    schedule = IntervalSchedule(30, "30 s")

    assert following(schedule, "2026-11-18T10:01:03") == [
        "18 10:01:30",
        "18 10:02:00",
        "18 10:02:30",
    ]


@pytest.mark.parametrize(
    "schedule", [CronSchedule("*/10 * * * * *"), IntervalSchedule(10, "10 s")]
)
def test_the_latest_tick_may_be_the_instant_itself(schedule: Schedule) -> None:
    assert schedule.latest(ms("2026-11-18T10:01:13")) == ms("2026-11-18T10:01:10")
    assert schedule.latest(ms("2026-11-18T10:01:10")) == ms("2026-11-18T10:01:10")
    assert schedule.latest(ms("2026-11-18T10:01:10") - 1) == ms("2026-11-18T10:01:00")
    assert schedule.after(ms("2026-11-18T10:01:10") - 1) == ms("2026-11-18T10:01:10")


def test_a_daily_job_runs_once_on_the_days_when_clocks_change() -> None:
    schedule = CronSchedule("30 2 * * *", "Europe/Berlin")

    # In spring there is no 2:30; in autumn there are two.
    assert following(schedule, "2026-03-27T12:00:00", 3) == [
        "28 01:30:00",
        "29 01:00:00",
        "30 00:30:00",
    ]
    assert following(schedule, "2026-10-24T12:00:00", 2) == ["25 00:30:00", "26 01:30:00"]


def test_a_job_of_every_hour_runs_in_both_hours_of_the_same_name() -> None:
    schedule = CronSchedule("0 * * * *", "Europe/Berlin")

    assert following(schedule, "2026-10-24T23:30:00", 3) == [
        "25 00:00:00",
        "25 01:00:00",
        "25 02:00:00",
    ]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("* * * *", "has 4 fields"),
        ("* * * * * * 2026", "has 7 fields"),
        ("61 * * * *", "is no schedule: bad minute"),
        ("0 0 30 2 *", "is no schedule: bad day-of-month"),
        ("0 0 31 4,6,9,11 *", "is no schedule: bad day-of-month"),
        ("@reboot", "known are @annually"),
        ("", "has 0 fields"),
    ],
)
def test_what_is_no_schedule_is_refused(wrong: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        CronSchedule(wrong)


def test_a_time_zone_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match="no time zone 'Europe/Atlantis'"):
        CronSchedule("@daily", "Europe/Atlantis")
    with pytest.raises(UsageError, match=r"no time zone '\.\./etc/passwd'"):
        CronSchedule("@daily", "../etc/passwd")
    with pytest.raises(TypeError, match="tz must be a str such as 'Europe/Berlin', not 5"):
        CronSchedule("@daily", 5)  # type: ignore[arg-type]


def test_an_interval_is_not_shorter_than_a_store_can_bear() -> None:
    with pytest.raises(UsageError, match="at least 100 ms, not 10 ms"):
        IntervalSchedule(0.01, "10 ms")


def test_without_cronsim_the_sentence_says_what_to_install(monkeypatch: Any) -> None:
    real = builtins.__import__

    def hidden(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "cronsim":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", hidden)

    with pytest.raises(UsageError, match=r"pip install 'interlock\[jobs\]'"):
        CronSchedule("@daily")
