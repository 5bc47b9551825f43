"""The bars of the kernel, in the order of the questions."""

from __future__ import annotations

from .bars import Bar, Read, at, over

_BLOCKING, _ASYNCIO = "pair.blocking.interlock lock()", "pair.asyncio.aio lock()"
_MANY, _ONE = "tasks.1,000 locks.aio lock()", "tasks.1 lock.aio lock()"
_HANDOFF = "handoff.interlock lock()"
_IDLE, _BUSY = "crowd.no hold time.interlock lock()", "crowd.1 ms held.interlock lock()"
_SQLITE = "interlock lock(), sqlite"
_KEPT, _AKEPT = "keeping.redis, threads", "keeping.redis, asyncio"


def _of_limit(path: str) -> Read:
    return at(path, "of_limit")


def _by_cpu(path: str) -> Read:
    return at(path, "of_limit_by_cpu")


def part(number: str, claim: str, path: str, floor: float, goal: float | None = None) -> Bar:
    """At least such a part of the limit."""
    return Bar(number, claim, _of_limit(path), ">=", floor, goal, _by_cpu(path))


def _times(number: str, claim: str, path: str, peer: str, floor: float) -> Bar:
    """At least so many times as fast as a peer."""
    by_cpu = over(_by_cpu(path), _by_cpu(peer))
    return Bar(number, claim, over(_of_limit(path), _of_limit(peer)), ">=", floor, None, by_cpu)


PAIR = (
    part("1", "blocking pair, of the raw hash", _BLOCKING, 0.4, 0.65),
    _times("1", "blocking pair, x redis-py Lock", _BLOCKING, "pair.blocking.redis-py Lock", 1.9),
    _times("1", "blocking pair, x the best peer", _BLOCKING, "pair.blocking.best_peer", 1.0),
    part("1", "asyncio pair, of the raw hash", _ASYNCIO, 0.4, 0.65),
    _times("1", "asyncio pair, x redis.asyncio", _ASYNCIO, "pair.asyncio.best_peer", 2.0),
)

TASKS = (
    part("2", "1,000 tasks, 1,000 locks, of raw mux", _MANY, 0.35, 0.6),
    Bar(
        "2",
        "1,000 locks, x the best peer",
        at(_MANY, "of_peer"),
        ">=",
        8.0,
        None,
        at(_MANY, "of_peer_by_cpu"),
    ),
    Bar("2", "1,000 locks, connections", at(_MANY, "connections"), "<=", 1),
    Bar("2", "1,000 locks, commands a pair", at(_MANY, "commands_a_pair"), "<=", 2.01),
    part("2", "1,000 tasks, 1 lock, of the local queue", _ONE, 0.4),
    Bar("2", "1 lock, commands a pair", at(_ONE, "commands_a_pair"), "<=", 2.2),
)

HANDOFF = (
    Bar("3", "hand-off p50, x bare pub/sub", at(_HANDOFF, "of_limit"), "<=", 2.0, 1.0),
    Bar(
        "3",
        "hand-off p50, x the best peer that does not spin",
        over(at(_HANDOFF, "p50_us"), at("handoff.best_peer", "p50_us")),
        "<=",
        1.0,
    ),
    Bar("3", "a waiter's commands a second", at(_HANDOFF, "commands_a_second"), "<=", 1.0),
)

CROWD = (
    Bar("4", "8 processes, of list hand-over", _of_limit(_IDLE), ">=", 0.25, 0.6),
    Bar(
        "4",
        "8 processes, x the best fair peer",
        over(_of_limit(_IDLE), _of_limit("crowd.no hold time.best_fair_peer")),
        ">=",
        2.0,
    ),
    Bar("4", "min/max, no hold time", at(_IDLE, "min_of_max"), ">=", 0.9),
    Bar("4", "min/max, 1 ms held", at(_BUSY, "min_of_max"), ">=", 0.9),
    Bar("4", "longest wait, no hold time, s", at(_IDLE, "longest_wait"), "<=", 1.0),
    Bar("4", "longest wait, 1 ms held, s", at(_BUSY, "longest_wait"), "<=", 1.0),
)

REENTRANT = (
    Bar("5", "re-entering, blocking, µs", at("reentrant.blocking", "us"), "<=", 5.0),
    Bar("5", "re-entering, asyncio, µs", at("reentrant.asyncio", "us"), "<=", 5.0),
    Bar("5", "commands of re-entering", at("reentrant.blocking", "commands"), "<=", 0),
)

SQLITE = (
    part("6", "SQLite pair, of bare SQLite", f"sqlite.pair.{_SQLITE}", 0.35, 0.6),
    _times(
        "6",
        "SQLite pair, x filelock and diskcache",
        f"sqlite.pair.{_SQLITE}",
        "sqlite.pair.best_peer",
        1.0,
    ),
    Bar("6", "SQLite hand-off p50, µs", at(f"sqlite.handoff.{_SQLITE}", "p50_us"), "<=", 2000),
    Bar("6", "an idle waiter, % of a core", at(f"sqlite.idle.{_SQLITE}", "percent"), "<=", 1.0),
)

KEEPING = (
    Bar("7", "10,000 held, extra threads", at(_KEPT, "threads"), "<=", 1),
    Bar("7", "10,000 held, kB each", at(_KEPT, "kB_each"), "<=", 3.0),
    Bar("7", "10,000 held, missed", at(_KEPT, "missed"), "<=", 0),
    Bar("7", "10,000 held, keeper, % of a core", at(_KEPT, "keeper_percent"), "<=", 5.0),
    Bar("7", "asyncio: extra tasks", at(_AKEPT, "tasks"), "<=", 1),
    Bar("7", "asyncio: kB each", at(_AKEPT, "kB_each"), "<=", 3.0),
    Bar("7", "asyncio: missed", at(_AKEPT, "missed"), "<=", 0),
    Bar("7", "asyncio: keeper, % of a core", at(_AKEPT, "keeper_percent"), "<=", 5.0),
)

IMPORTING = (
    Bar(
        "8",
        "import interlock, ms",
        at("importing.interlock", "ms"),
        "<=",
        60.0,
        None,
        at("importing.interlock", "cpu_ms"),
    ),
    Bar("8", "heavy modules it loads", at("importing.interlock", "forbidden"), "<=", 0),
)

BARS: tuple[Bar, ...] = (
    *PAIR,
    *TASKS,
    *HANDOFF,
    *CROWD,
    *REENTRANT,
    *SQLITE,
    *KEEPING,
    *IMPORTING,
)
