"""Whatever the name: both sides keep it under the same keys, byte for byte."""

from __future__ import annotations

from typing import Any

import pytest

from interlock import connect
from interlock.backends.redis.keys import counter_key
from tests.support.eventually import eventually

from ..harness.matrix import BOTH, meets
from ..harness.peers import Actor
from .people import OURS

pytestmark = meets("Redisson", direction=BOTH)

GIVEN = ["k", "{k}", "a{b}c", "ключ", "a b"]

PRIMITIVES = {
    "lock": ("RLock", "lock()"),
    "fair": ("RFairLock", "fair_lock()"),
    "fenced": ("RFencedLock", "fenced_lock()"),
    "read": ("RReadWriteLock", "rwlock()"),
    "write": ("RReadWriteLock", "rwlock()"),
    "semaphore": ("RSemaphore", "semaphore()"),
    "leased_semaphore": ("RPermitExpirableSemaphore", "leased_semaphore()"),
    "latch": ("RCountDownLatch", "latch()"),
}

PARAMS = [
    pytest.param(kind, marks=meets(primitive=primitive, ours=ours))
    for kind, (primitive, ours) in PRIMITIVES.items()
]


def java_uses(java: Actor, kind: str, name: str) -> str:
    """Let Java have it, and answer what it is called while it does."""
    if kind in OURS:
        java.ask(kind, "lock", name)
    elif kind == "latch":
        java.ask("latch", "trySetCount", name, count=2)
    else:
        java.ask(kind, "trySetPermits", name, permits=2)
        java.ask(kind, "tryAcquire", name, lease_ms=60_000)
    return java.owner


def we_use(client: Any, kind: str, name: str) -> str:
    if kind in OURS:
        return str(OURS[kind](client, name).acquire().owner)
    if kind == "latch":
        client.latch(name).start(2)
        return "nobody"
    return str(getattr(client, kind)(name, permits=2).acquire().owner)


def begin(peek: Any, kind: str, name: str) -> None:
    """Begin with nothing; but tokens go on, because only we would begin them at the clock."""
    peek.flushdb()
    if kind == "fenced":
        peek.set(counter_key(name), "7")


def contents(peek: Any, owner: str) -> dict[str, Any]:
    """The keys that are not ours alone, and what is in them, whoever the owner is."""
    keys = [key for key in peek.keys("*") if not key.startswith("interlock:")]
    return {key.replace(owner, "owner"): seen(peek, key, owner) for key in keys}


def seen(peek: Any, key: str, owner: str) -> Any:
    kind = peek.type(key)
    if kind == "hash":
        return {field.replace(owner, "owner"): at for field, at in peek.hgetall(key).items()}
    return peek.get(key) if kind == "string" else kind


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("kind", PARAMS)
def test_keys_and_what_is_in_them_are_the_same(
    kind: str, given: str, redis_url: str, java: Actor, peek: Any
) -> None:
    begin(peek, kind, given)
    owner = java_uses(java, kind, given)
    theirs = contents(peek, owner)
    begin(peek, kind, given)
    with connect(redis_url) as client:
        owner = we_use(client, kind, given)
        assert contents(peek, owner) == theirs
    peek.flushdb()
    eventually(lambda: not java.ask("lock", "isLocked", given))
