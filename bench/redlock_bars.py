"""The bars of a lock over several servers.

By time alone: to ask servers in parallel saves no processor time.  That stands in the tables.
"""

from __future__ import annotations

from .bars import Bar, at
from .contest import ASYNCIO, GO, JAVA, THREADS
from .redlock_entrants import LOCK, MAJORITY, MUTEX, REDISSON, REDSYNC
from .redlock_peers import BEST, TITLE

HANGING = tuple(
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

BARE = tuple(
    Bar(
        "10",
        f"Redlock, {world}: {kind}, of bare",
        at(f"{TITLE}.all cores.{world}: {kind}", "of_limit"),
        ">=",
        0.5,
    )
    for world in (THREADS, ASYNCIO)
    for kind in (MUTEX, LOCK)
)

PEERS = tuple(
    Bar(
        "10",
        f"Redlock, {ours}, x {theirs}",
        at(f"{TITLE}.all cores.{ours} beside {theirs}", "of_peer"),
        ">=",
        floor,
    )
    for ours, theirs, floor in (
        (f"{THREADS}: {MUTEX}", BEST, 2.0),
        (f"{ASYNCIO}: {MUTEX}", BEST, 2.0),
        (f"{THREADS}: {LOCK}", f"{JAVA}: {REDISSON}", 1.0),
        (f"{THREADS}: {MUTEX}", f"{GO}: {REDSYNC}", 1.0),
    )
)

HUNG = tuple(
    Bar(
        "10",
        f"Redlock, one hangs, {world}: {kind}, x its own",
        at(f"{TITLE}.hung.{world}: {kind}", "ratio"),
        "<=",
        1.3,
    )
    for world in (THREADS, ASYNCIO)
    for kind in (MUTEX, LOCK, MAJORITY)
)

BARS: tuple[Bar, ...] = (*HANGING, *BARE, *PEERS, *HUNG)
