"""A name is one kind of thing: what Java uses as one, we refuse to use as another.

Refused is what can be told from what Java has written.  Its plain, fair and fenced locks look
the same, and so do a semaphore and a latch; see docs/interop.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from interlock import StoreMisconfigured
from tests.support.worlds import World

from ..harness.matrix import TO_US, meets
from ..harness.peers import Actor
from .looking import left_behind

pytestmark = meets("Redisson", direction=TO_US)

Question = Callable[[Any, str], Any]

#: One question of each kind of ours; none of them waits.
QUESTIONS: dict[str, Question] = {
    "lock": lambda client, name: client.lock(name).acquire(blocking=False),
    "fair": lambda client, name: client.fair_lock(name).acquire(blocking=False),
    "fenced": lambda client, name: client.fenced_lock(name).acquire(blocking=False),
    "mutex": lambda client, name: client.mutex(name).acquire(blocking=False),
    "read": lambda client, name: client.rwlock(name).read().acquire(blocking=False),
    "write": lambda client, name: client.rwlock(name).write().acquire(blocking=False),
    "semaphore": lambda client, name: client.semaphore(name, permits=1).acquire(blocking=False),
    "leased": lambda client, name: client.leased_semaphore(name).acquire(blocking=False),
    "set_permits": lambda client, name: client.semaphore(name).set_permits(5),
    "latch": lambda client, name: client.latch(name).wait(timeout=0),
    "set_latch": lambda client, name: client.latch(name).start(5),
    "count_down": lambda client, name: client.latch(name).count_down(),
}

LOCKS = {"lock", "fair", "fenced", "mutex", "read", "write"}
COUNTED = set(QUESTIONS) - LOCKS


def java_uses(java: Actor, kind: str, name: str) -> None:
    """Let Java hold something, or have something to hold."""
    if kind in ("lock", "fair", "fenced", "read", "write"):
        java.ask(kind, "lock", name)
    elif kind == "latch":
        java.ask("latch", "trySetCount", name, count=2)
    else:
        java.ask(kind, "trySetPermits", name, permits=2)
        java.ask(kind, "tryAcquire", name, lease_ms=60_000)


def row(kind: str, primitive: str, ours: str, refused: set[str]) -> list[Any]:
    mark = meets(primitive=primitive, ours=ours)
    return [pytest.param(kind, question, marks=mark) for question in sorted(refused)]


#: What Java uses the name as, and what of ours is refused then.
CASES = [
    *row("lock", "RLock", "lock()", {"read", "write", "mutex"} | COUNTED),
    *row("fair", "RFairLock", "fair_lock()", {"read", "write", "mutex"} | COUNTED),
    *row("fenced", "RFencedLock", "fenced_lock()", {"read", "write", "mutex"} | COUNTED),
    *row("read", "RReadWriteLock", "rwlock()", LOCKS - {"read", "write"} | COUNTED),
    *row("write", "RReadWriteLock", "rwlock()", LOCKS - {"read", "write"} | COUNTED),
    *row("semaphore", "RSemaphore", "semaphore()", LOCKS),
    *row(
        "leased_semaphore",
        "RPermitExpirableSemaphore",
        "leased_semaphore()",
        set(QUESTIONS) - {"leased"},
    ),
    *row("latch", "RCountDownLatch", "latch()", LOCKS),
]


@pytest.mark.parametrize(("kind", "question"), CASES)
def test_what_java_uses_as_one_thing_is_refused_as_another(
    kind: str, question: str, world: World, redis_url: str, java: Actor, name: str, peek: Any
) -> None:
    java_uses(java, kind, name)
    client, before = world.connect(redis_url), contents(peek)
    with pytest.raises(StoreMisconfigured):
        world.do(lambda: QUESTIONS[question](client, name))
    assert contents(peek) == before


def contents(peek: Any) -> dict[str, Any]:
    """Everything but what passes by itself."""
    return {key: peek.dump(key) for key in left_behind(peek)}
