"""The store has done what we asked, and its answer is lost: nothing happens twice.

Java waits all the time, so what happened too often, or not at all, would be felt there.
"""

from __future__ import annotations

from itertools import cycle, islice
from typing import Any

import pytest

from interlock.backends.redis.keys import fair_keys, rw_channel
from tests.backends.redis.watching import messages, sha
from tests.support.eventually import eventually
from tests.support.faults import FaultProxy
from tests.support.worlds import World

from ..harness.matrix import TO_THEM, meets
from ..harness.peers import Actor, Cast
from .looking import PROMPTLY, channel
from .people import OURS, Javan

pytestmark = meets("Redisson", direction=TO_THEM)

#: How often each world takes and gives a permit without seeing every answer.
RUNS = 1000

#: For each kind: its scripts, Redisson's name for it, ours, and what a release publishes there.
#: The head of a fair queue hears it again while it has not taken the lock; the channel is its own.
KINDS = {
    "fair": ("fair", "RFairLock", "fair_lock()", (["0"], ["0", "0"])),
    "fenced": ("lock", "RFencedLock", "fenced_lock()", (["0"],)),
    "read": ("rwlock", "RReadWriteLock", "rwlock()", (["0"],)),
    "write": ("rwlock", "RReadWriteLock", "rwlock()", (["1", "0"],)),
}

#: Which answers are lost; who has not seen the first one gives back by withdrawing.
LOST = {"attempt": ["attempt"], "release": ["release"], "both": ["attempt", "withdraw"]}

PARAMS = [
    pytest.param(kind, marks=meets(primitive=primitive, ours=ours))
    for kind, (_, primitive, ours, _) in KINDS.items()
]


def script_of(kind: str, verb: str) -> bytes:
    """The script that does it; each kind releases and withdraws with the same one."""
    if kind == "read" and verb != "attempt":
        return sha("rwlock_leave")
    layout = KINDS[kind][0] if kind in KINDS else "permits"
    return sha(f"{layout}_{'attempt' if verb == 'attempt' else 'release'}")


def heard_by(java: Javan, kind: str, name: str) -> str:
    """Where Java's waiter listens."""
    channels = {
        "fair": fair_keys(name).channels + java.owner,
        "fenced": channel(name),
    }
    return channels.get(kind, rw_channel(name))


@pytest.mark.parametrize("lost", sorted(LOST))
@pytest.mark.parametrize("kind", PARAMS)
def test_lost_reply_is_one_hold_and_one_release(
    kind: str, lost: str, world: World, proxy: FaultProxy, cast: Cast, name: str, peek: Any
) -> None:
    """Java's writer waits behind our reader, and whoever it is behind the others."""
    lock = OURS[kind](world.connect(f"redis://127.0.0.1:{proxy.port}"), name)
    world.do(world.do(lock.acquire).release)  # teaches the server the scripts
    java = Javan(cast.actor(), "write" if kind == "read" else kind, name)
    with messages(peek, heard_by(java, kind, name).replace("[", "\\[")) as heard:
        for verb in LOST[lost]:
            proxy.lose_reply(script_of(kind, verb))
        hold = world.do(lock.acquire)
        counts = {key: count for key, count in peek.hgetall(name).items() if key != "mode"}
        assert list(counts.values()) == ["1"]
        java.seek()
        eventually(lambda: java.parked)
        world.do(hold.release)
        java.turn.result(PROMPTLY)
        assert proxy.fired == len(LOST[lost])
        assert [payload for _, payload in heard()] in KINDS[kind][3]
    assert not any(hold.owner in field for field in peek.hgetall(name))
    java.give()


SEMAPHORES = [
    pytest.param("semaphore", marks=meets(primitive="RSemaphore", ours="semaphore()")),
    pytest.param(
        "leased_semaphore",
        marks=meets(primitive="RPermitExpirableSemaphore", ours="leased_semaphore()"),
    ),
]


@pytest.mark.parametrize("kind", SEMAPHORES)
def test_permits_are_exact_however_many_replies_are_lost(
    kind: str, world: World, proxy: FaultProxy, java: Actor, name: str
) -> None:
    """Java takes one of three permits before, and all of them after."""
    java.ask(kind, "trySetPermits", name, permits=3)
    permit = take(java, kind, name)
    client = world.connect(f"redis://127.0.0.1:{proxy.port}")
    semaphore = getattr(client, kind)(name)
    runs = RUNS if kind == "semaphore" else RUNS // 10
    for lost in islice(cycle(LOST.values()), runs):
        for verb in lost:
            proxy.lose_reply(script_of(kind, verb))
        world.do(world.do(semaphore.acquire).release)
    assert proxy.fired >= runs
    give(java, kind, name, permit)
    eventually(lambda: java.ask(kind, "availablePermits", name) == 3)
    for _ in range(3):
        take(java, kind, name)
    assert world.do(lambda: semaphore.acquire(blocking=False)) is None


def take(java: Actor, kind: str, name: str) -> Any:
    permit = java.ask(kind, "tryAcquire", name, lease_ms=60_000)
    assert permit
    return permit


def give(java: Actor, kind: str, name: str, permit: Any) -> None:
    which = {"permit": permit} if kind == "leased_semaphore" else {}
    java.ask(kind, "release", name, **which)
