"""What can be seen of a lock from outside."""

from __future__ import annotations

from typing import Any

from interlock.backends.redis import keys
from tests.backends.redis.watching import Monitor, litter

#: With leases of 20 s and more, and a poll cap of at least 1 s, only a message is so quick.
PROMPTLY = 0.9

#: How much later than the end of a lease a waiter may have what it waited for.
SLACK = 1.5


def channel(name: str) -> str:
    """Where Redisson's waiters listen, by its rule: a name with a brace is its own tag."""
    tag = name if "{" in name else "{" + name + "}"
    return "redisson_lock__channel:" + tag


#: Where Redisson's waiters listen, for each kind of thing that has one channel for all.
CHANNELS = {
    "lock": channel,
    "rwlock": keys.rw_channel,
    "semaphore": lambda name: keys.count_keys(name).channel,
    "latch": keys.latch_channel,
}


def subscribers(peek: Any, name: str, kind: str = "lock") -> int:
    """How many clients listen where Redisson's waiters do."""
    where = CHANNELS[kind](name)
    return int(dict(peek.pubsub_numsub(where))[where])


def waiters(peek: Any, name: str) -> int:
    """How many of ours stand in the queue."""
    return int(peek.zcard(keys.queue_key(name)))


def queue(peek: Any, name: str) -> list[str]:
    """Who waits for a fair lock, of both sides, in order."""
    owners: list[str] = peek.lrange(keys.fair_keys(name).queue, 0, -1)
    return owners


def scores(peek: Any, name: str) -> dict[str, float]:
    """From when on each of them counts as dead, in ms."""
    return dict(peek.zrange(keys.fair_keys(name).scores, 0, -1, withscores=True))


def left_behind(peek: Any) -> set[str]:
    """What is there though nobody holds or waits: all but what ends by itself, or never."""
    passing = ("interlock:tomb:", "interlock:courtesy:", "redisson_unlock_latch:")
    return {key for key in litter(peek) if not key.startswith(passing)}


def asked_again(monitor: Monitor, name: str) -> bool:
    """Whether Java has listened and then asked: of what waits without a thread."""
    heard = False
    for seen in monitor.sent():
        if seen.verb in ("SUBSCRIBE", "SSUBSCRIBE") and channel(name) in seen.words:
            heard = True
        elif heard and seen.verb == "EVALSHA" and name in seen.words:
            return True
    return False
