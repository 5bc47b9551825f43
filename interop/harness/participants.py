"""Python participants in recipes of Curator for which Interlock has no face (yet).

They are made of the backend's own steps: the leader is a lock of the same queue whose nodes are
named and filled as LeaderLatch does it, and the barriers and numbers ask with `queue_nodes.ask`.
So the client's own link drives them in both worlds, as everything else, by `client.run`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from interlock.api.lock import AsyncLock, Lock
from interlock.backends.zookeeper.kinds import node_ahead, only_queued
from interlock.backends.zookeeper.layout import Order, earlier, first_alone, ranked
from interlock.backends.zookeeper.locks import ZkLocks
from interlock.backends.zookeeper.namespace import Namespace, NodeSpec, QueuePlace
from interlock.backends.zookeeper.queue_nodes import ask, parents
from interlock.backends.zookeeper.transport.requests import (
    EPHEMERAL,
    Children,
    Create,
    Delete,
    Exists,
    Get,
    Put,
    Refusal,
    ZkRequest,
)
from interlock.drive import now
from interlock.model import FOREVER, Terms
from interlock.session.session import Session
from interlock.steps import Steps, Wakes, listen, park

R = TypeVar("R")

#: Seconds for an answer, and until somebody who waits looks again unasked.
ANSWER, POLL = 10.0, 2.0

PERSISTENT = 0
READY = "ready"


# --- LeaderLatch ------------------------------------------------------------------------------


CUTS = ("latch-",)


def _before(children: Sequence[str], mine: str) -> str | None:
    before = ranked(earlier(children, mine, CUTS), CUTS)
    return before[-1] if before else None


LATCHES = Order("-latch-", CUTS, _before, first_alone)


class Leaders(ZkLocks):
    """A lock as LeaderLatch has it: the id of whoever leads, or wants to, is in its node."""

    def __init__(self, namespace: Namespace, identity: str) -> None:
        self._identity = identity
        super().__init__(namespace, LATCHES)

    def _spec(self, name: str, owner: str, lease: float = FOREVER) -> NodeSpec:
        spec = super()._spec(name, owner, lease)
        return replace(spec, data=self._identity.encode())

    def _ahead(
        self, spec: NodeSpec, place: QueuePlace, until: float
    ) -> Steps[tuple[QueuePlace, str | None]]:
        """Its nodes are of no kind of ours, so there is none to be checked."""
        place = yield from only_queued(spec, place, CUTS, until)
        return place, node_ahead(LATCHES, spec, place, self.label)


def candidate(client: Any, path: str, identity: str) -> Any:
    """Who wants to lead; its hold is the leadership."""
    session = client._session
    leaders = Leaders(session.backend.namespace, identity)
    face: Any = Lock if isinstance(session, Session) else AsyncLock
    return face(session, leaders, path, Terms(), None)


def leads(hold: Any) -> bool:
    """Whether it leads for sure: who is cut off does not, until it knows better."""
    return not hold.lost and not hold.suspended


def participants(path: str) -> Steps[list[str]]:
    """The ids of all who lead or want to, the leader first."""
    (listed,) = yield from ask(path, [Children(path)], now() + ANSWER)
    nodes = [f"{path}/{each}" for each in ranked(listed.value, CUTS)]
    answers = yield from ask(path, [Get(each) for each in nodes], now() + ANSWER)
    return [each.value[0].decode() for each in answers if each.value is not Refusal.MISSING]


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


def enter(path: str, member: str, members: int) -> Steps[None]:
    """Come into a double barrier together with the others."""
    create = Create(f"{path}/{member}", flags=EPHEMERAL)
    yield from ask(path, [*parents(path), create], now() + ANSWER)
    yield from _until(path, lambda: _complete(path, members))


def _complete(path: str, members: int) -> Steps[bool]:
    """Whether all are there; whoever sees it first says so."""
    ready = f"{path}/{READY}"
    asks: list[ZkRequest] = [Exists(ready, path), Children(path)]
    seen, listed = yield from ask(path, asks, now() + ANSWER)
    if seen.value is Refusal.MISSING and len(listed.value) < members:
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
    asks: list[ZkRequest] = [Exists(f"{path}/{highest if lowest == member else lowest}", path)]
    if lowest != member:
        asks.append(Delete(f"{path}/{member}"))
    seen, *_ = yield from ask(path, asks, now() + ANSWER)
    return seen.value is Refusal.MISSING and (yield from _deserted(path, member))


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
