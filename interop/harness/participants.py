"""Python participants in recipes of Curator for which Interlock has no face (yet).

They are made of the backend's own steps: the leader is a lock of the same queue whose nodes are
named and filled as LeaderLatch does it, and the barriers and numbers ask with `folder.ask`.  So
the client's own link drives them in both worlds, as everything else, by `client.run`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from interlock.api.lock import AsyncLock, Lock
from interlock.api.worlds import Session
from interlock.backends.zookeeper import queue
from interlock.backends.zookeeper.folder import Spot, Standing, ask, parents
from interlock.backends.zookeeper.ground import Ground
from interlock.backends.zookeeper.locks import ZkLocks
from interlock.backends.zookeeper.names import key
from interlock.backends.zookeeper.wire import (
    EPHEMERAL,
    Ask,
    Children,
    Create,
    Delete,
    Exists,
    Get,
    No,
    Put,
)
from interlock.drive import now
from interlock.model import Terms
from interlock.steps import Steps, Wakes, listen, nothing, park

R = TypeVar("R")

#: Seconds for an answer, and until somebody who waits looks again unasked.
ANSWER, POLL = 10.0, 2.0

PERSISTENT = 0
READY = "ready"


# --- LeaderLatch ------------------------------------------------------------------------------


class Leaders(ZkLocks):
    """A lock as LeaderLatch has it: the id of whoever leads, or wants to, is in its node."""

    node, cuts = "-latch-", ("latch-",)

    def __init__(self, ground: Ground, identity: str) -> None:
        self._identity = identity
        super().__init__(ground)

    def _spot(self, name: str, owner: str) -> Spot:
        return super()._spot(name, owner)._replace(data=self._identity.encode())

    def _check(self, spot: Spot, standing: Standing, until: float) -> Steps[None]:
        return nothing()

    def _nearest(self, children: Sequence[str], mine: str) -> str | None:
        ranked = queue.ranked(children, self.cuts)
        earlier = [each for each in ranked if key(each, *self.cuts) < key(mine, *self.cuts)]
        return earlier[-1] if earlier else None


def candidate(client: Any, path: str, identity: str) -> Any:
    """Who wants to lead; its hold is the leadership."""
    leaders = Leaders(client.backend.ground, identity)
    face: Any = Lock if isinstance(client, Session) else AsyncLock
    return face(client, leaders, path, Terms(), None)


def leads(hold: Any) -> bool:
    """Whether it leads for sure: who is cut off does not, until it knows better."""
    return not hold.lost and not hold.doubtful


def participants(path: str) -> Steps[list[str]]:
    """The ids of all who lead or want to, the leader first."""
    (listed,) = yield from ask(path, [Children(path)], now() + ANSWER)
    nodes = [f"{path}/{each}" for each in queue.ranked(listed.value, Leaders.cuts)]
    answers = yield from ask(path, [Get(each) for each in nodes], now() + ANSWER)
    return [each.value[0].decode() for each in answers if each.value is not No.MISSING]


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
    return seen.value is No.MISSING


def enter(path: str, member: str, members: int) -> Steps[None]:
    """Come into a double barrier together with the others."""
    create = Create(f"{path}/{member}", flags=EPHEMERAL)
    yield from ask(path, [*parents(path), create], now() + ANSWER)
    yield from _until(path, lambda: _complete(path, members))


def _complete(path: str, members: int) -> Steps[bool]:
    """Whether all are there; whoever sees it first says so."""
    ready = f"{path}/{READY}"
    asks: list[Ask] = [Exists(ready, path), Children(path)]
    seen, listed = yield from ask(path, asks, now() + ANSWER)
    if seen.value is No.MISSING and len(listed.value) < members:
        return False
    yield from ask(path, [Create(ready, flags=PERSISTENT)], now() + ANSWER)
    return True


def depart(path: str, member: str) -> Steps[None]:
    """Leave a double barrier together with the others."""
    yield from _until(path, lambda: _deserted(path, member))
    yield from ask(path, [Delete(f"{path}/{READY}")], now() + ANSWER)


def _deserted(path: str, member: str) -> Steps[bool]:
    """Whether we may go: the lowest waits for the highest, and the others for the lowest."""
    (listed,) = yield from ask(path, [Children(path)], now() + ANSWER)
    inside = sorted(each for each in listed.value if each != READY)
    if not inside:
        return True
    lowest, highest = inside[0], inside[-1]
    if inside == [member]:
        yield from ask(path, [Delete(f"{path}/{member}")], now() + ANSWER)
        return True
    asks: list[Ask] = [Exists(f"{path}/{highest if lowest == member else lowest}", path)]
    if lowest != member:
        asks.append(Delete(f"{path}/{member}"))
    seen, *_ = yield from ask(path, asks, now() + ANSWER)
    return seen.value is No.MISSING and (yield from _deserted(path, member))


def _until(topic: str, happened: Callable[[], Steps[bool]]) -> Steps[None]:
    """Ask, and wait for a word that asking again is worth it, until it has happened."""
    wakes: Wakes
    with (yield from listen((topic,))) as wakes:
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
        asks: list[Ask] = [Put(path, data, version)]
        if version < 0:
            asks = [*_above(path), Create(path, data, PERSISTENT)]
        *_, done = yield from ask(path, asks, now() + ANSWER)
        if not isinstance(done.value, No):
            return total


def _versioned(path: str) -> Steps[tuple[bytes, int]]:
    (seen,) = yield from ask(path, [Get(path)], now() + ANSWER)
    return (b"", -1) if seen.value is No.MISSING else (seen.value[0], seen.value[1].version)


def _above(path: str) -> list[Ask]:
    """Make every directory that a node lies in."""
    return parents(path.rpartition("/")[0])
