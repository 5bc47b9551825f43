"""A read/write lock, asked for any owner in either world, and what its store looks like."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from interlock.backends.redis.rwlocks import RedisRwLocks
from interlock.drive import now
from interlock.events import Event, Woken
from interlock.model import PROVISIONAL, Busy, LockInfo
from interlock.recipes.lock import Acquisition, Silence, acquire
from interlock.spi import LockStore
from interlock.steps import Steps

from ...support.worlds import World

QUEUE, CHANNEL = "interlock:queue:{k}", "redisson_rwlock:{k}"

READ, WRITE = RedisRwLocks("read", "here"), RedisRwLocks("write", "here")

#: Long enough that no lease ends during a test.
LEASE = 20.0


def reads(number: int, client: int = 1) -> str:
    """An owner of ours that reads, of one of several clients."""
    return f"{client:08d}-0000-8000-8000-000000000000:{number}5"


def writes(number: int, client: int = 1) -> str:
    """An owner of ours that writes."""
    return f"{client:08d}-0000-8000-8000-000000000000:{number}6"


def javas(thread: int = 83) -> str:
    """An owner of Java's."""
    return f"6e3814a1-e847-452b-a982-45baf93a1df2:{thread}"


def hold(owner: str, number: int = 1) -> str:
    """The key that is there while an owner reads."""
    return f"{{k}}:{owner}:rwlock_timeout:{number}"


def mode_of(owner: str) -> RedisRwLocks:
    """The store that an owner's number belongs to."""
    return WRITE if owner.endswith("6") else READ


class Desk:
    """The read/write lock "k", asked from one world."""

    def __init__(self, world: World, url: str, peek: Any) -> None:
        self.world, self.peek = world, peek
        self.client, self.silence = world.connect(url), Silence()
        #: Whose acquisitions did not only ask again, but were woken.
        self.woken: list[str] = []

    def run(self, steps: Steps[Any]) -> Any:
        return self.world.do(lambda: self.client._session.run(steps))

    def ask(self, owner: str, lease: float = LEASE, waits: bool = False) -> int | Busy:
        steps = mode_of(owner).attempt("k", owner, lease, waits, now() + 10)
        answer: int | Busy = self.run(steps)
        return answer

    def gets(self, owner: str, lease: float = LEASE) -> bool:
        return isinstance(self.ask(owner, lease), int)

    def waits(self, *owners: str) -> Busy:
        """Let owners come one after the other, each refused and remembered; the last answer."""
        answers = [self.ask(owner, waits=True) for owner in owners]
        refused = [answer for answer in answers if isinstance(answer, Busy)]
        assert refused == answers
        return refused[-1]

    def waiting(self, owner: str, timeout: float = 10.0) -> Any:
        """Begin to acquire, with all that belongs to it; the future has the grant."""
        began = now()
        terms = (mode_of(owner), "k", owner, LEASE, began, began + timeout, now)
        seeking = Acquisition(*terms, host=self)
        return self.world.start(lambda: self.client._session.run(acquire(seeking)))

    def notify(self, event: Event) -> None:
        """Something happened to an acquisition."""
        if isinstance(event, Woken):
            self.woken.append(event.owner)

    def owe(self, store: LockStore, name: str, owner: str, lease: float) -> None:
        raise AssertionError(f"the withdrawal of {owner} was not confirmed")

    def release(self, owner: str) -> bool:
        released: bool = self.run(mode_of(owner).release("k", owner, now() + 10))
        return released

    def withdraw(self, owner: str, reason: str = "") -> bool:
        held: bool = self.run(READ.withdraw("k", owner, now() + 10, reason))
        return held

    def renew(self, owner: str, lease: float = LEASE) -> bool:
        (renewed,) = self.run(mode_of(owner).renew([("k", owner)], lease, now() + 10))
        return bool(renewed is True)

    def downgrade(self, owner: str, lease: float = LEASE) -> bool:
        done: bool = self.run(WRITE.downgrade("k", owner, lease, now() + 10))
        return done

    def look(self) -> LockInfo | None:
        info: LockInfo | None = self.run(READ.look("k", now() + 10))
        return info

    # --- what Java does, by hand -----------------------------------------------------------

    def java_reads(self, owner: str, count: int = 1, lease: float = LEASE) -> None:
        """Take a read lock `count` times; under its own write lock too."""
        if not self.peek.exists("k"):
            self.peek.hset("k", "mode", "read")
        for _ in range(count):
            number = self.peek.hincrby("k", owner, 1)
            self.peek.set(hold(owner, number), "1", px=round(lease * 1000))
            self.peek.pexpire("k", max(self.peek.pttl("k"), round(lease * 1000)))

    def java_writes(self, owner: str, count: int = 1, lease: float = LEASE) -> None:
        self.peek.hset("k", mapping={"mode": "write", f"{owner}:write": count})
        self.peek.pexpire("k", round(lease * 1000))

    def java_stops_to_write(self, owner: str) -> None:
        """The last `unlock()` of a write lock, and of nothing else."""
        self.peek.delete("k")
        self.peek.publish(CHANNEL, "1")

    def java_stops_to_read(self, owner: str) -> None:
        """The last `unlock()` of the last reader."""
        self.peek.delete("k", hold(owner))
        self.peek.publish(CHANNEL, "0")

    # --- looking -----------------------------------------------------------------------------

    def fields(self) -> dict[str, str]:
        """The hash, as text."""
        found: dict[str, str] = self.peek.hgetall("k")
        return found

    def holders(self) -> list[str]:
        """Who holds it, as the hash has it: writers as owner:write."""
        return [field for field in self.fields() if field != "mode"]

    def queue(self) -> list[str]:
        members: list[str] = self.peek.zrange(QUEUE, 0, -1)
        return members

    def left(self, key: str = "k") -> float:
        """Seconds until a key ends, rounded up to fives; 0 if it is not there, or has no end."""
        return 5.0 * -(-int(self.peek.pttl(key)) // 5000)

    def provisional(self, *keys: str) -> bool:
        """Whether all of these end soon."""
        return all(0 < self.peek.pttl(key) <= PROVISIONAL * 1000 for key in keys)

    def end(self, owner: str, number: int = 1) -> None:
        """Let the lease of a reader end, though the hash lives on."""
        assert self.peek.delete(hold(owner, number)) == 1

    def listeners(self) -> int:
        """How many listen where Java publishes."""
        return int(dict(self.peek.pubsub_numsub(CHANNEL))[CHANNEL])

    @contextmanager
    def subscribed(self, *clients: int) -> Iterator[Subscribed]:
        """Somebody hears for these clients of ours, as they would themselves."""
        topics = [reads(0, client)[:36] for client in clients]
        with Subscribed(self.peek, *(f"interlock:wake:{topic}" for topic in topics)) as subscriber:
            yield subscriber

    @contextmanager
    def java_waits(self) -> Iterator[Subscribed]:
        """A waiter of Java's listens."""
        with Subscribed(self.peek, CHANNEL) as subscriber:
            yield subscriber


class Subscribed:
    """Listens to some channels, and tells what was heard up to now."""

    def __init__(self, peek: Any, *channels: str) -> None:
        self._peek, self._channels, self._heard = peek, channels, list[str]()

    def __enter__(self) -> Subscribed:
        self._pubsub = self._peek.pubsub()
        self._pubsub.subscribe(*self._channels, f"end of {id(self)}")
        for _ in (*self._channels, "end"):
            assert self._pubsub.get_message(timeout=5)["type"] == "subscribe"
        return self

    def __exit__(self, *exit: object) -> None:
        self._pubsub.unsubscribe(*self._channels)
        gone = 0
        while gone < len(self._channels):  # until the server knows it too
            gone += self._pubsub.get_message(timeout=5)["type"] == "unsubscribe"
        self._pubsub.close()

    def heard(self) -> list[str]:
        """Everything that was said before now, in order."""
        self._peek.publish(f"end of {id(self)}", "")
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            message = self._pubsub.get_message(timeout=5)
            if message is not None and message["channel"] not in self._channels:
                return list(self._heard)
            if message is not None:
                self._heard.append(message["data"])
        raise AssertionError("the server did not send what it had to")
