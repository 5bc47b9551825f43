"""The bars of a lock over several servers."""

from __future__ import annotations

from .bars import Bar, at

BARS: tuple[Bar, ...] = tuple(
    bar
    for world in ("blocking", "asyncio")
    for bar in (
        Bar("10", f"{world}: one hangs, x p50", at(f"redlock.{world}", "ratio"), "<=", 1.3),
        Bar("10", f"{world}: % in one round", at(f"redlock.{world}", "one_round"), ">=", 95.0),
        Bar(
            "10",
            f"{world}: % in one round, one hangs",
            at(f"redlock.{world}", "one_round_hung"),
            ">=",
            95.0,
        ),
    )
)
