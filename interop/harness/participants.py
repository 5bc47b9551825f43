"""Python participants in recipes of Curator for which Interlock has no face (yet).

They are made of the backend's own steps: the barriers and numbers ask with `queue_nodes.ask`.
So the client's own link drives them in both worlds, as everything else, by `client.run`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from interlock.backends.zookeeper.queue_nodes import ask, parents
from interlock.backends.zookeeper.transport.requests import (
    Create,
    Delete,
    Exists,
    Get,
    Put,
    Refusal,
    ZkRequest,
)
from interlock.drive import now
from interlock.steps import Steps, Wakes, listen, park

R = TypeVar("R")

#: Seconds for an answer, and until somebody who waits looks again unasked.
ANSWER, POLL = 10.0, 2.0

PERSISTENT = 0


# --- barriers ---------------------------------------------------------------------------------


def set_barrier(path: str) -> Steps[None]:
    """Shut it; whoever has done so before is as good."""
    yield from ask(path, [*_above(path), Create(path, flags=PERSISTENT)], now() + ANSWER)


def remove_barrier(path: str) -> Steps[None]:
    yield from ask(path, [Delete(path)], now() + ANSWER)


def pass_barrier(path: str) -> Steps[None]:
    """Wait until it is open."""
    yield from _until(path, lambda: _gone(path))


def _gone(path: str) -> Steps[bool]:
    (seen,) = yield from ask(path, [Exists(path, path)], now() + ANSWER)
    return seen.value is Refusal.MISSING


def _until(topic: str, happened: Callable[[], Steps[bool]]) -> Steps[None]:
    """Ask, and wait for a word that asking again is worth it, until it has happened."""
    wakes: Wakes
    with (yield from listen((topic,), now() + POLL)) as wakes:
        while not (yield from happened()):
            yield from park(wakes, now() + POLL)


# --- numbers ----------------------------------------------------------------------------------


def read_number(path: str, size: int) -> Steps[int]:
    """A SharedCount (4 bytes) or a DistributedAtomicLong (8); 0 where there is none."""
    value, _ = yield from _versioned(path)
    assert len(value) in (0, size)
    return int.from_bytes(value, "big", signed=True)


def write_number(path: str, size: int, number: int) -> Steps[None]:
    """Set it, whatever it was."""
    data = number.to_bytes(size, "big", signed=True)
    create = Create(path, data, PERSISTENT)
    yield from ask(path, [*_above(path), create, Put(path, data)], now() + ANSWER)


def add_number(path: str, size: int, change: int) -> Steps[int]:
    """Add to it, in competition with others; answers the sum."""
    while True:
        value, version = yield from _versioned(path)
        total = int.from_bytes(value, "big", signed=True) + change
        data = total.to_bytes(size, "big", signed=True)
        asks: list[ZkRequest] = [Put(path, data, version)]
        if version < 0:
            asks = [*_above(path), Create(path, data, PERSISTENT)]
        *_, done = yield from ask(path, asks, now() + ANSWER)
        if not isinstance(done.value, Refusal):
            return total


def _versioned(path: str) -> Steps[tuple[bytes, int]]:
    (seen,) = yield from ask(path, [Get(path)], now() + ANSWER)
    return (b"", -1) if seen.value is Refusal.MISSING else (seen.value[0], seen.value[1].version)


def _above(path: str) -> list[ZkRequest]:
    """Make every directory that a node lies in."""
    return parents(path.rpartition("/")[0])
