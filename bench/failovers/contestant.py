"""A contestant in Python: clients of one library that take names as they are told, by lines.

    python -m bench.failovers.contestant <library> <sentinels> <service> <lease>

`ready <name>`    the clients that stay take and free a name, so that they are known to work
`begin <prefix> <milliseconds,…>`
                  the first client takes prefix:0, prefix:1, … after so many milliseconds each,
                  and the second client wants each of them a moment later
`late <from> <to>` the first client and one that has just connected want prefix:from to prefix:to
`end`             all that was taken is freed; answered with every claim, see `judging.Claim`
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from math import inf
from typing import Any, Literal, Protocol, TypeAlias

from interlock import LockLost, aio
from interlock.recipes.renewal import BY_ANSWER

from .judging import Claim

#: Seconds by which the second client comes later.
BEHIND = 0.03

#: Seconds until a library that has given up is asked again.
AGAIN = 0.05

#: Seconds by which a program stops before a lease ends that it must watch by itself: it does not
#: know how long the answer was on its way.
MARGIN = 0.5

#: Seconds that a server has to answer: as many as Interlock gives it behind Sentinels.
ANSWER = 2.0

#: Seconds in which everything should be freed.
FREEING = 5.0


class Taken:
    """A lock that was granted, and what the library has said of it since."""

    def __init__(self, owner: str, token: int | None, expires: float) -> None:
        self.owner, self.token = owner, token
        #: When a program that has to watch its lease by itself stops.
        self.expires = expires
        self.told: float | None = None
        self.denied = False

    async def free(self) -> None:
        raise NotImplementedError


class Side(Protocol):
    """A client of a library, with connections of its own."""

    async def take(self, name: str) -> Taken: ...

    async def close(self) -> None: ...


# --- the libraries -------------------------------------------------------------------------------


class InterlockHeld(Taken):
    """Believed until Interlock tells of a loss, or it is released."""

    def __init__(self, hold: aio.Hold) -> None:
        super().__init__(hold.owner, hold.token, inf)
        self._hold = hold
        hold.on_lost(self._note)

    def _note(self, hold: Any) -> None:
        self.told = time.monotonic()
        try:
            hold.ensure()
        except LockLost as loss:
            self.denied = BY_ANSWER in str(loss)

    async def free(self) -> None:
        await self._hold.release()


Replicas: TypeAlias = int | Literal["all"] | None

#: What may be chosen; no words are its default.
REPLICAS: dict[str, Replicas] = {"": None, "0": 0, "1": 1, "2": 2, "all": "all"}


class InterlockSide:
    def __init__(self, replicas: Replicas, sentinels: str, service: str, lease: float) -> None:
        self._client = aio.connect(f"redis+sentinel://{sentinels}/{service}", replicas=replicas)
        self._lease = lease

    async def take(self, name: str) -> Taken:
        return InterlockHeld(await self._client.lock(name, lease=self._lease).acquire())

    async def close(self) -> None:
        await self._client.close()


class RedisPyHeld(Taken):
    """Believed until its timeout: the library tells of no loss, and renews nothing by itself."""

    def __init__(self, lock: Any, lease: float) -> None:
        super().__init__(lock.local.token.decode(), None, time.monotonic() + lease - MARGIN)
        self._lock = lock

    async def free(self) -> None:
        await self._lock.release()


class RedisPySide:
    """By its own Sentinel, and at its defaults but for the time to answer."""

    def __init__(self, sentinels: str, service: str, lease: float) -> None:
        from redis.asyncio.sentinel import Sentinel

        places = [each.rpartition(":") for each in sentinels.split(",")]
        self._sentinel = _untyped(Sentinel)(
            [(host, int(port)) for host, _, port in places], socket_timeout=ANSWER
        )
        self._client = self._sentinel.master_for(service)
        self._lease = lease

    async def take(self, name: str) -> Taken:
        lock = self._client.lock(name, timeout=self._lease)
        await lock.acquire()
        return RedisPyHeld(lock, self._lease)

    async def close(self) -> None:
        await self._client.aclose()
        for each in self._sentinel.sentinels:
            await each.aclose()


def _untyped(thing: Any) -> Any:
    """What redis-py has no types for."""
    return thing


def side_of(library: str, sentinels: str, service: str, lease: float) -> Side:
    if library == "redis-py":
        return RedisPySide(sentinels, service, lease)
    chosen = library.partition("=")[2]
    return InterlockSide(REPLICAS[chosen], sentinels, service, lease)


# --- what they are told --------------------------------------------------------------------------


class Contestant:
    """Two clients that stay, and one that comes with each failover."""

    def __init__(self, connect: Callable[[], Side]) -> None:
        self._connect = connect
        self._first, self._second = connect(), connect()
        self._fresh: Side | None = None
        self._begin("")

    def _begin(self, prefix: str) -> None:
        self._prefix, self._refused = prefix, 0
        self._over = asyncio.Event()
        self._waiting: set[asyncio.Task[None]] = set()
        self._holding: set[asyncio.Task[None]] = set()
        self._claims: list[tuple[str, str, float, Taken]] = []

    async def ready(self, name: str) -> None:
        for each in (self._first, self._second):
            await (await self._insist(each, name)).free()

    async def begin(self, prefix: str, instants: str) -> None:
        self._begin(prefix)
        for number, instant in enumerate(instants.split(",")):
            after = int(instant) / 1000
            self._want(self._first, "first", number, after)
            self._want(self._second, "second", number, after + BEHIND)

    async def late(self, start: str, stop: str) -> None:
        self._fresh = self._connect()
        for number in range(int(start), int(stop)):
            self._want(self._first, "first", number)
            self._want(self._fresh, "fresh", number)

    async def end(self) -> dict[str, Any]:
        """Belief ends here, before anything is freed."""
        at = time.monotonic()
        claims = [_claim(at, *each) for each in self._claims]
        for task in self._waiting:
            task.cancel()
        self._over.set()
        tasks = self._waiting | self._holding
        if tasks:
            await asyncio.wait(tasks, timeout=FREEING)
        if self._fresh is not None:
            with suppress(Exception):
                await self._fresh.close()
        self._fresh = None
        return {"claims": claims, "refused": self._refused}

    def _want(self, side: Side, client: str, number: int, after: float = 0.0) -> None:
        name = f"{self._prefix}:{number}"
        self._waiting.add(asyncio.ensure_future(self._hold(side, client, name, after)))

    async def _hold(self, side: Side, client: str, name: str, after: float) -> None:
        """Take a name, and keep it until the round is over."""
        await asyncio.sleep(after)
        taken = await self._insist(side, name)
        self._claims.append((name, client, time.monotonic(), taken))
        task = asyncio.current_task()
        assert task is not None
        self._waiting.discard(task)
        self._holding.add(task)
        await self._over.wait()
        with suppress(Exception):  # what the library says now comes too late
            await taken.free()

    async def _insist(self, side: Side, name: str) -> Taken:
        while True:
            try:
                return await side.take(name)
            except Exception:
                self._refused += 1
                await asyncio.sleep(AGAIN)


def _claim(at: float, name: str, client: str, granted: float, taken: Taken) -> Claim:
    ended = min(at, taken.expires)
    return Claim(name, client, taken.owner, granted, ended, taken.told, taken.denied, taken.token)


async def serve(library: str, sentinels: str, service: str, lease: str) -> None:
    contestant = Contestant(lambda: side_of(library, sentinels, service, float(lease)))
    _say("ready")
    while line := await asyncio.to_thread(sys.stdin.readline):
        verb, *words = line.split()
        _say(json.dumps(await getattr(contestant, verb)(*words)))


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]))
