"""How lengths of time, and what a caller has given, read in a sentence."""

from __future__ import annotations

import math

#: What is longer is cut: a sentence is read by people.
LONGEST = 60

#: Integers from here on are told by their number of digits.
LONG = 10**20

_DIGITS_OF_A_BIT = 0.30102999566398120


def duration(seconds: float) -> str:
    """A length of time as people say it: "12 ms", "31.5 s", "5 min 20 s", "2 h", (for) "ever"."""
    if seconds == math.inf:
        return "ever"
    if seconds < 0.9995:
        return _brief(seconds)
    if seconds < 59.95:
        return f"{seconds:.3g} s"
    whole = round(seconds)
    for size, unit, part, smaller in ((86_400, "d", 3600, "h"), (3600, "h", 60, "min")):
        if whole >= size:
            return _parts(whole // size, unit, whole % size // part, smaller)
    return _parts(whole // 60, "min", whole % 60, "s")


def _brief(seconds: float) -> str:
    if seconds <= 0:
        return "0 s"
    return "less than 1 ms" if seconds < 0.001 else f"{seconds * 1000:.0f} ms"


def _parts(number: int, unit: str, rest: int, smaller: str) -> str:
    return f"{number} {unit} {rest} {smaller}" if rest else f"{number} {unit}"


def given(value: object) -> str:
    """A value of a wrong type: what it is, and of which type."""
    return "None" if value is None else f"{shown(value)} ({type(value).__name__})"


def shown(value: object) -> str:
    """A value that a caller gave, short enough for a sentence."""
    if isinstance(value, int) and abs(value) >= LONG:
        # Python refuses to print the longest, and people to read them.
        return f"a number of {int(value.bit_length() * _DIGITS_OF_A_BIT) + 1} digits"
    try:
        text = repr(value)
    except Exception:
        return f"an object of type {type(value).__name__}"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
