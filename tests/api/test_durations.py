"""Lengths of time read as people say them, wherever a sentence has one."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

import interlock
from interlock import AcquireTimeout, LockLost
from interlock.words import LONGEST, duration, given, shown

SOURCE = Path(interlock.__file__).parent

#: What looks like a number of seconds printed without the helper.
BARE = re.compile(r"(:\.?\d*[gf]\}|%\.?\d*[gf]) m?s\b")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-1.0, "0 s"),
        (0.0, "0 s"),
        (6.44e-05, "less than 1 ms"),
        (0.00099, "less than 1 ms"),
        (0.001, "1 ms"),
        (0.0123, "12 ms"),
        (0.25, "250 ms"),
        (0.9994, "999 ms"),
        (0.9999, "1 s"),
        (1.0, "1 s"),
        (5, "5 s"),
        (31.52, "31.5 s"),
        (59.9, "59.9 s"),
        (59.97, "1 min"),
        (60.0, "1 min"),
        (320.0, "5 min 20 s"),
        (3599.9, "1 h"),
        (7500.0, "2 h 5 min"),
        (86_400.0, "1 d"),
        (100_000.0, "1 d 3 h"),
        (30 * 86_400.0, "30 d"),
        (math.inf, "ever"),
    ],
)
def test_a_length_of_time_reads_as_people_say_it(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_every_sentence_uses_the_one_helper() -> None:
    files = [path for path in SOURCE.rglob("*.py") if not {"testing", "cli"} & {*path.parts}]
    bare = [path.name for path in files if BARE.search(path.read_text())]

    assert bare == ["words.py"]


@pytest.mark.parametrize("holder", ["host:17", None])
def test_whoever_did_not_wait_is_not_told_to_wait_longer(holder: str | None) -> None:
    error = AcquireTimeout("orders:42", holder, 6.44e-05, 0.0)

    assert "timeout=0" in str(error)
    assert "longer (timeout=)" not in str(error)
    assert "of waiting" not in str(error)
    assert (holder or "held") in str(error)


def test_whoever_waited_is_told_how_long() -> None:
    assert "after 5 s of waiting" in str(AcquireTimeout("orders:42", "host:17", 5.0003, 5.0))
    assert "after 31.5 s: " in str(LockLost("orders:42", 7, 31.52, "silence"))


class Unspeakable:
    def __repr__(self) -> str:
        raise ZeroDivisionError


def test_what_was_given_is_shown_in_a_few_words() -> None:
    assert shown(5) == "5"
    assert shown(-(10**30)) == "a number of 31 digits"
    assert shown(10**5000) == "a number of 5001 digits"
    assert shown("x" * 1000) == "'" + "x" * (LONGEST - 2) + "…"
    assert shown(Unspeakable()) == "an object of type Unspeakable"


def test_a_wrong_type_is_named() -> None:
    assert given(None) == "None"
    assert given(1.5) == "1.5 (float)"
