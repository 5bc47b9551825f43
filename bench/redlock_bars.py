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

PEERS = "redlock_peers"

BARS += (
    Bar(
        "10", "mutex(), x of bare", at(f"{PEERS}.blocking", "Interlock mutex().of_bare"), ">=", 0.5
    ),
    Bar("10", "blocking: x the best peer", at(f"{PEERS}.blocking", "x_best_peer"), ">=", 2.0),
    Bar("10", "asyncio: x the best peer", at(f"{PEERS}.asyncio", "x_best_peer"), ">=", 2.0),
    Bar(
        "10",
        "majority_of(): one hangs, x p50",
        at(f"{PEERS}.blocking", "Interlock majority_of().hung_ratio"),
        "<=",
        1.3,
    ),
)
