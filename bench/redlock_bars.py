"""The bars of a lock over several servers."""

from __future__ import annotations

from .bars import Bar, at
from .kernel_bars import part
from .redlock_entrants import ASYNCIO, GO, JAVA, LOCK, MAJORITY, MUTEX, REDISSON, REDSYNC, THREADS

CORES = ("all cores", "one core")


def _beside(label: str, ours: str, theirs: str, floor: float) -> Bar:
    """So many times as fast as another."""
    path = f"redlock_peers.{label}.{ours} beside {theirs}"
    claim = f"Redlock, {label}: {ours}, x {theirs}"
    return Bar("10", claim, at(path, "of_peer"), ">=", floor, None, at(path, "of_peer_by_cpu"))


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

PEERS = tuple(
    bar
    for label in CORES
    for bar in (
        *(
            part(
                "10",
                f"Redlock, {label}: {world}: {kind}, of bare",
                f"redlock_peers.{label}.{world}: {kind}",
                0.5,
            )
            for world in (THREADS, ASYNCIO)
            for kind in (MUTEX, LOCK)
        ),
        *(
            _beside(label, f"{world}: {MUTEX}", "the best peer", 2.0)
            for world in (THREADS, ASYNCIO)
        ),
        _beside(label, f"{THREADS}: {LOCK}", f"{JAVA}: {REDISSON}", 1.0),
        _beside(label, f"{THREADS}: {MUTEX}", f"{GO}: {REDSYNC}", 1.0),
    )
)

HUNG = tuple(
    Bar(
        "10",
        f"one hangs: {world}: {kind}, x its own",
        at(f"redlock_peers.hung.{world}: {kind}", "ratio"),
        "<=",
        1.3,
    )
    for world in (THREADS, ASYNCIO)
    for kind in (MUTEX, LOCK, MAJORITY)
)

BARS: tuple[Bar, ...] = (*HANGING, *PEERS, *HUNG)
