"""The events are public, and the page about them has every one with its fields."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

import interlock
from interlock import events

PAGE = Path(__file__).parents[2] / "docs" / "observing.md"

#: A row of the table: an event, its fields, and when it is told.
ROW = re.compile(r"^\| `(\w+)` \|([^|]*)\| ([^|]+) \|$", re.MULTILINE)

EVENTS: list[type[events.Event]] = [
    kind
    for name, kind in sorted(vars(events).items())
    if isinstance(kind, type) and issubclass(kind, events.Event) and name != "Event"
]


def fields(kind: type[events.Event]) -> list[str]:
    return [field.name for field in dataclasses.fields(kind)]


def test_the_page_has_every_event() -> None:
    rows = [row[1] for row in ROW.finditer(PAGE.read_text())]

    assert sorted(rows) == [kind.__name__ for kind in EVENTS]


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
def test_the_page_has_every_field(kind: type[events.Event]) -> None:
    (row,) = [row for row in ROW.finditer(PAGE.read_text()) if row[1] == kind.__name__]

    assert re.findall(r"`(\w+)`", row[2]) == fields(kind)[2:]
    assert fields(kind)[:2] == fields(events.Event)


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
def test_an_event_does_not_change_and_says_what_it_is(kind: type[events.Event]) -> None:
    event = kind(*fields(kind))

    with pytest.raises(dataclasses.FrozenInstanceError):
        event.name = "another"  # type: ignore[misc]
    assert isinstance(event, interlock.Event)
    assert (kind.__doc__ or "").strip()
    assert kind.__module__ == "interlock.events"


def test_events_and_observers_are_public() -> None:
    assert {"Event", "Observer"} <= set(interlock.__all__)
    assert interlock.events is events
    assert interlock.Observer == events.Observer
