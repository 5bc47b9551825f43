"""The bars of the primitives beyond the lock, and of those beside other languages."""

from __future__ import annotations

from .bars import Bar, at
from .kernel_bars import part
from .kinds import FAIR, FENCED, LEASED, LOCK, READ, SEMAPHORE, WRITE

_FAIR = "interlock fair_lock()"

PRIMITIVES = tuple(
    part("9", f"{world} {kind} pair, of its bare scripts", f"primitives.{world}.{kind}", 0.4)
    for world in ("blocking", "asyncio")
    for kind in (READ, WRITE, SEMAPHORE)
)

FAIRNESS = (
    Bar(
        "10",
        "fair_lock(), 8 processes, x python-redis-lock",
        at(f"fair.no hold time.{_FAIR}", "of_peer"),
        ">=",
        2.0,
    ),
    *(
        Bar(
            "10",
            f"fair_lock(), min/max, {label}",
            at(f"fair.{label}.{_FAIR}", "min_of_max"),
            ">=",
            0.9,
        )
        for label in ("no hold time", "1 ms held")
    ),
)

FOREIGN = (
    *(
        part("11", f"{kind} pair, x Redisson", f"foreign.pairs.one core.Redisson.{kind}", 1)
        for kind in (LOCK, FAIR, FENCED, READ, WRITE, SEMAPHORE, LEASED)
    ),
    part("11", "mutex() pair, x redsync", "foreign.pairs.one core.redsync.mutex()", 1),
    *(
        Bar(
            "11",
            f"{kind} hand-off p50, x {theirs}'s",
            at(f"foreign.handoff.{theirs}.interlock {kind}", "of_limit"),
            "<=",
            1.0,
        )
        for theirs, kind in (("Redisson", LOCK), ("Redisson", FAIR), ("redsync", "mutex()"))
    ),
)

BARS: tuple[Bar, ...] = (*PRIMITIVES, *FAIRNESS, *FOREIGN)
