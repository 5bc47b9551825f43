"""The queue of a fair lock, looked at from outside and driven by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from interlock.backends.redis import RedisBackend, UrlFactory, read_url
from interlock.backends.redis.fair_locks import WAIT, RedisFairLocks
from interlock.drive import now, run
from interlock.model import Busy
from interlock.steps import Steps

QUEUE, SCORES = "redisson_lock_queue:{k}", "redisson_lock_timeout:{k}"
SEEN = "interlock:seen:{k}"

#: How long a waiter of ours may be silent, in ms.
GRACE_MS = 5000


def our(client: int, number: int = 1) -> str:
    """An owner of ours, of one of several clients."""
    return f"{client:08d}-0000-8000-8000-000000000000:{number}3"


def javas(client: int, thread: int = 83) -> str:
    """An owner of Java's."""
    return f"{client:08d}-0000-4000-8000-000000000000:{thread}"


def channel(owner: str) -> str:
    """Where Java's waiter listens, and Java's release tells it."""
    return f"redisson_lock__channel:{{k}}:{owner}"


class Desk:
    """The fair lock "k", asked for any owner, and what its store looks like."""

    def __init__(self, url: str, peek: Any) -> None:
        self.peek = peek
        self.link = RedisBackend(UrlFactory(read_url(url))).link()

    def _run(self, steps: Steps[Any]) -> Any:
        return run(steps, self.link)

    def ask(
        self, owner: str, waits: bool = True, wait: float = WAIT, lease: float = 30.0
    ) -> int | Busy:
        store = RedisFairLocks("here", wait)
        answer: int | Busy = self._run(store.attempt("k", owner, lease, waits, now() + 10))
        return answer

    def token(self, owner: str) -> int:
        answer = self.ask(owner)
        assert isinstance(answer, int)
        return answer

    def gets(self, owner: str, **terms: Any) -> bool:
        return isinstance(self.ask(owner, **terms), int)

    def refused(self, owner: str, **terms: Any) -> Busy:
        answer = self.ask(owner, **terms)
        assert isinstance(answer, Busy)
        return answer

    def release(self, owner: str) -> bool:
        released: bool = self._run(RedisFairLocks("here").release("k", owner, now() + 10))
        return released

    def withdraw(self, owner: str, wait: float = WAIT) -> bool:
        held: bool = self._run(RedisFairLocks("here", wait).withdraw("k", owner, now() + 10))
        return held

    def look(self) -> Any:
        return self._run(RedisFairLocks("here").look("k", now() + 10))

    # --- what Java does, by hand -----------------------------------------------------------

    def java_locks(self, owner: str, lease_ms: int = 30_000) -> None:
        self.peek.hset("k", owner, 1)
        self.peek.pexpire("k", lease_ms)

    def java_queues(self, owner: str, left_ms: int | None = None) -> None:
        """Queue, with five minutes behind the last one; or with a score of its own."""
        last = self.peek.zscore(SCORES, self.peek.lindex(QUEUE, -1) or "")
        after = last or self.clock() + max(self.peek.pttl("k"), 0)
        score = after + 300_000 if left_ms is None else self.clock() + left_ms
        self.peek.zadd(SCORES, {owner: score})
        self.peek.rpush(QUEUE, owner)

    def java_unlocks(self) -> None:
        """The last `unlock()`: the head of the queue is told, and stays in it."""
        self.peek.delete("k")
        if (head := self.peek.lindex(QUEUE, 0)) is not None:
            self.peek.publish(channel(head), "0")

    def java_takes_its_turn(self, owner: str) -> None:
        """What the head of the queue does when it is told."""
        assert self.peek.lpop(QUEUE) == owner
        self.peek.zrem(SCORES, owner)
        for other in self.peek.zrange(SCORES, 0, -1):
            self.peek.zincrby(SCORES, -300_000, other)
        self.java_locks(owner)

    # --- looking -----------------------------------------------------------------------------

    def clock(self) -> int:
        """The server's time in ms."""
        seconds, micros = self.peek.time()
        return int(seconds * 1000 + micros // 1000)

    def queue(self) -> list[str]:
        owners: list[str] = self.peek.lrange(QUEUE, 0, -1)
        return owners

    def left(self, owner: str) -> float:
        """Seconds until a waiter counts as dead for Java."""
        return float(self.peek.zscore(SCORES, owner) - self.clock()) / 1000

    def holder(self) -> str | None:
        owners: list[str] = self.peek.hkeys("k")
        return owners[0] if owners else None

    def age(self, seconds: float) -> None:
        """Let time pass for every waiter's score."""
        for owner in self.peek.zrange(SCORES, 0, -1):
            self.peek.zincrby(SCORES, -seconds * 1000, owner)

    @contextmanager
    def heard(self, *owners: str) -> Iterator[Any]:
        """Somebody hears for these owners of ours, as their clients would."""
        with self.peek.pubsub() as subscriber:
            topics = {f"interlock:wake:{owner[:36]}" for owner in owners}
            subscriber.subscribe(*topics)
            for _ in topics:
                assert subscriber.get_message(timeout=5)["type"] == "subscribe"
            yield subscriber
