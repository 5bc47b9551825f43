"""When a job is due: cron expressions, and intervals.  Pure: the clock is passed in.

A tick is an instant of the wall clock in whole milliseconds since 1970.  Instances that know the
same schedule name the same ticks, without talking to each other.
"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from typing import Any, Protocol

from ..errors import UsageError
from ..words import given, shown

ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}

#: Milliseconds between the ticks of an interval, at least.
SHORTEST_MS = 100

#: The fields in which Quartz and Spring write `?` for "any day".
DAY_FIELDS = (-3, -1)


class Schedule(Protocol):
    """When a job is due."""

    #: How it is told to users, and compared between instances.
    text: str

    def after(self, tick: int) -> int:
        """The first tick after an instant."""
        ...

    def latest(self, instant: int) -> int:
        """The last tick that is not after an instant."""
        ...


class IntervalSchedule:
    """Every so many milliseconds since 1970, so that instances agree without a first one."""

    def __init__(self, seconds: float, text: str) -> None:
        self._period = round(seconds * 1000)
        if self._period < SHORTEST_MS:
            raise UsageError(f"every must be at least 100 ms, not {text}")
        self.text = f"every {text}"

    def after(self, tick: int) -> int:
        return (tick // self._period + 1) * self._period

    def latest(self, instant: int) -> int:
        return instant // self._period * self._period


class CronSchedule:
    """A cron expression in a time zone; daylight saving is as in Debian's cron."""

    def __init__(self, expression: str, tz: str | tzinfo | None = None) -> None:
        self._zone = zone_of(tz)
        self._fields = read_expression(expression)
        name = "UTC" if self._zone is UTC else str(self._zone)
        self.text = f"{' '.join(expression.split())} ({name})"
        self._at(datetime.now(self._zone), expression)

    def _at(self, start: datetime, expression: str) -> None:
        """Refuse what cannot be read, and what never comes."""
        from cronsim import CronSimError

        try:
            next(_simulation(self._fields, start))
        except CronSimError as error:
            raise UsageError(f"{shown(expression)} is no schedule: {str(error).lower()}") from None
        except StopIteration:
            raise UsageError(f"the schedule {shown(expression)} never comes") from None

    def after(self, tick: int) -> int:
        return self._ms(next(_simulation(self._fields, self._time(tick))))

    def latest(self, instant: int) -> int:
        # Backwards it begins before the instant that it is given, which may be a tick itself.
        start = self._time(instant - instant % 1000 + 1000)
        return self._ms(next(_simulation(self._fields, start, reverse=True)))

    def _time(self, instant: int) -> datetime:
        return datetime.fromtimestamp(instant // 1000, self._zone)

    def _ms(self, when: datetime) -> int:
        return round(when.timestamp() * 1000)


def _simulation(fields: str, start: datetime, reverse: bool = False) -> Any:
    from cronsim import CronSim

    return CronSim(fields, start, reverse=reverse)


def read_expression(expression: object) -> str:
    """Five or six fields as cronsim reads them; raises UsageError for anything else."""
    if not isinstance(expression, str):
        raise TypeError(f"a schedule must be a str such as '*/5 * * * *', not {given(expression)}")
    _need_cronsim()
    text = expression.strip()
    if text.startswith("@"):
        if text.lower() not in ALIASES:
            known = ", ".join(sorted(ALIASES))
            raise UsageError(f"{shown(text)} is no schedule; known are {known}")
        return ALIASES[text.lower()]
    fields = text.split()
    if len(fields) not in (5, 6):
        raise UsageError(
            f"{shown(expression)} has {len(fields)} fields; a schedule has five (minute, hour, "
            "day, month, weekday), or six with the seconds first"
        )
    for place in DAY_FIELDS:
        if fields[place] == "?":
            fields[place] = "*"
    return " ".join(fields)


def zone_of(tz: object) -> tzinfo:
    """A time zone by its name; UTC where there is none, because instances must agree."""
    if tz is None:
        return UTC
    if isinstance(tz, tzinfo):
        return tz
    if not isinstance(tz, str):
        raise TypeError(f"tz must be a str such as 'Europe/Berlin', not {given(tz)}")
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(tz)
    except (OSError, ValueError, LookupError):
        raise UsageError(
            f"there is no time zone {shown(tz)}; a name reads like 'Europe/Berlin', and systems "
            "without a list of time zones need the package tzdata"
        ) from None


def _need_cronsim() -> None:
    try:
        import cronsim  # noqa: F401
    except ImportError:
        raise UsageError(
            "cron() needs the package cronsim: pip install 'interlock[jobs]'; every() and once() "
            "do without"
        ) from None
