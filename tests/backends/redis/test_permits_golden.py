"""Redisson's own state transitions of semaphores, replayed against our scripts.

The tables hold what Redisson's semaphores answer, publish and leave in the store after each
operation.  Ours must do the same wherever the two mean the same.  They differ on purpose:

- Permits that nobody has set: Redisson's waiters wait for ever, ours are told (`UNSET`).
- A number of zero or less is never published: it would strike down Java's listener.
- The same question asked twice takes one permit (D1).
- Nothing is taken for ever: what Redisson keeps until `NEVER`, ours has for a long lease.
- An owner is one acquisition of one id, so several ids are several questions.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import redis

from interlock import StoreMisconfigured
from interlock.backends.redis import RedisBackend, UrlFactory, read_url
from interlock.backends.redis.semaphores import NEVER, RedisPermitStore
from interlock.drive import now, run
from interlock.model import LONGEST_LEASE, Busy
from interlock.steps import Steps
from tests.support.servers import RedisServer

from .counted import CHANNEL, LEASES, SHARES, permits_of
from .watching import messages

pytestmark = pytest.mark.server

UNSET = "unset"
CLIENT = "6e3814a1-e847-852b-a982-000000000000"

#: The instant at which Redisson's permits were observed, in epoch milliseconds.
NOON = 1_790_000_000_000


class Step(NamedTuple):
    """An operation of Redisson's, what it answered and said, and what was free after it."""

    verb: str
    permits: int
    reply: Any
    said: list[str]
    free: str | None
    #: Where ours is meant to differ.
    our_reply: Any = None
    our_words: list[str] | None = None


SEMAPHORE = [
    Step("try_acquire", 1, 0, [], None, our_reply=UNSET),
    Step("try_set", 3, 1, ["3"], "3"),
    Step("try_set", 5, 0, [], "3"),
    Step("try_acquire", 2, 1, [], "1"),
    Step("try_acquire", 2, 0, [], "1"),
    Step("release", 2, None, ["3"], "3"),
    Step("set_total", 7, None, ["7"], "7"),  # which is addPermits(4)
    Step("java_sets", -13, None, [], "-13"),  # which is addPermits(-20)
    Step("release", 1, None, ["-12"], "-12", our_words=[]),
    Step("java_sets", 0, None, [], "0"),  # which is drainPermits()
    Step("release", 1, 1, ["1"], "1"),
]


class Leased(NamedTuple):
    """An operation on permits with ids, at so many ms past noon; who holds until when after it."""

    verb: str
    ids: list[int]
    at: int
    ends: int
    reply: Any
    said: list[str]
    free: str | None
    holders: dict[int, int]
    our_reply: Any = None
    our_words: list[str] | None = None
    our_free: str | None = None


LEASED = {
    "acquire, full, reclaim of an expired one, release": [
        Leased("try_acquire", [1], 0, NEVER, None, [], None, {}, our_reply=UNSET),
        Leased("try_set", [3], 0, 0, 1, ["3"], "3", {}),
        Leased("try_acquire", [1], 0, NEVER, "OK", [], "2", {1: NEVER}),
        Leased("try_acquire", [2], 0, 5000, "OK", [], "1", {2: 5000, 1: NEVER}),
        Leased("try_acquire", [3], 0, 9000, "OK", [], "0", {2: 5000, 3: 9000, 1: NEVER}),
        Leased("try_acquire", [4], 0, NEVER, 5000, [], "0", {2: 5000, 3: 9000, 1: NEVER}),
        Leased("try_acquire", [4], 6000, NEVER, "OK", ["1"], "0", {3: 9000, 1: NEVER, 4: NEVER}),
        Leased("release", [1], 0, 0, 1, ["1"], "1", {3: 9000, 4: NEVER}),
        Leased("release", [1], 0, 0, 0, [], "1", {3: 9000, 4: NEVER}),
        Leased("release", [3], 99_999, 0, 0, ["2"], "2", {4: NEVER}),
    ],
    "many": [
        Leased("try_set", [3], 0, 0, 1, ["3"], "3", {}),
        Leased("try_acquire", [1, 2], 0, NEVER, "OK", [], "1", {1: NEVER, 2: NEVER}),
        Leased("release", [1, 2], 0, 0, 2, ["2"], "3", {}, our_reply=1, our_words=["2", "3"]),
    ],
    "the same acquire executed twice leaks one permit": [
        Leased("try_set", [3], 0, 0, 1, ["3"], "3", {}),
        Leased("try_acquire", [1], 0, NEVER, "OK", [], "2", {1: NEVER}),
        Leased("try_acquire", [1], 0, NEVER, "OK", [], "1", {1: NEVER}, our_free="2"),
        Leased("release", [1], 0, 0, 1, ["2"], "2", {}, our_words=["3"], our_free="3"),
    ],
}


class Replay:
    """Our operations, with Redisson's replies."""

    def __init__(self, url: str, peek: Any, bare: Any) -> None:
        self.link = RedisBackend(UrlFactory(read_url(url))).link()
        self.peek, self.bare = peek, bare

    def run(self, steps: Steps[Any]) -> Any:
        return run(steps, self.link)

    def ask(self, store: RedisPermitStore, owner: str, lease: float) -> Any:
        try:
            answer = self.run(store.attempt("k", owner, lease, False, now() + 5))
        except StoreMisconfigured:
            return UNSET
        return answer if isinstance(answer, Busy) else 1

    def try_set(self, store: RedisPermitStore, permits: int) -> int:
        before = self.peek.get("k")
        self.run(store._set_total("k", permits, True, now() + 5))
        return int(self.peek.get("k") != before)


class Plain(Replay):
    """Of semaphores."""

    def __init__(self, url: str, peek: Any, bare: Any) -> None:
        super().__init__(url, peek, bare)
        self._numbers = itertools.count(1)
        self._holder = ""

    def try_acquire(self, permits: int) -> Any:
        owner = f"{CLIENT}:{next(self._numbers)}7"
        answer = self.ask(permits_of("semaphore", None, permits), owner, 60.0)
        if answer == 1:
            self._holder = owner
        return 0 if isinstance(answer, Busy) else answer

    def release(self, permits: int) -> None:
        """Java gives back without having taken; for us somebody must have."""
        owner = self._holder or f"{CLIENT}:{next(self._numbers)}7"
        if not self._holder:
            self.peek.zadd(SHARES, {f"{owner}*{permits}": 9e12})
        assert self.run(permits_of("semaphore", None, permits).release("k", owner, now() + 5))
        self._holder = ""

    def set(self, permits: int) -> int:
        return self.try_set(permits_of("semaphore"), permits)

    def set_total(self, permits: int) -> None:
        self.run(permits_of("semaphore").set_permits("k", permits, now() + 5))

    def java_sets(self, permits: int) -> None:
        self.peek.set("k", permits)


class Ids(Replay):
    """Of permits with ids: they are owners here, as for strangers."""

    def try_acquire(self, step: Leased) -> Any:
        lease = LONGEST_LEASE if step.ends == NEVER else (step.ends - step.at) / 1000
        answers = [self.ask(permits_of("leased_semaphore"), spelled(id), lease) for id in step.ids]
        if isinstance(answers[-1], Busy):
            return round((answers[-1].left or 0) * 1000)
        return "OK" if answers[-1] == 1 else answers[-1]

    def release(self, step: Leased) -> Any:
        store = permits_of("leased_semaphore")
        given = [self.run(store.release("k", spelled(id), now() + 5)) for id in step.ids]
        return int(all(given))

    def set(self, step: Leased) -> Any:
        return self.try_set(permits_of("leased_semaphore"), step.ids[0])

    def turn_to(self, at: int, holders: dict[int, int]) -> None:
        """Let it be so many ms past noon."""
        for id, ends in holders.items():
            score = NEVER if ends == NEVER else round(time.time() * 1000) + ends - at
            self.bare.zadd(LEASES, {bytes.fromhex(spelled(id)): score}, xx=True)


def spelled(id: int) -> str:
    return f"{id:032x}"


@pytest.fixture
def bare(redis_server: RedisServer, redis_url: str) -> Iterator[Any]:
    with redis.Redis(port=redis_server.port) as client:
        yield client


def test_semaphore_is_redissons(redis_url: str, peek: Any, bare: Any) -> None:
    replay = Plain(redis_url, peek, bare)
    with messages(peek, "redisson*") as published:
        for step in SEMAPHORE:
            already = len(published())
            verb = getattr(replay, step.verb.replace("try_set", "set"))
            reply = verb(step.permits)
            if step.verb.startswith("try"):
                assert reply == (step.reply if step.our_reply is None else step.our_reply), step
            said = step.said if step.our_words is None else step.our_words
            assert published()[already:] == [(CHANNEL, word) for word in said], step
            assert peek.get("k") == step.free, step
    assert peek.zcard(SHARES) == 0
    replay.link.close()


@pytest.mark.parametrize("case", LEASED)
def test_expirable_permits_are_redissons(case: str, redis_url: str, peek: Any, bare: Any) -> None:
    replay, before = Ids(redis_url, peek, bare), dict[int, int]()
    with messages(peek, "redisson*") as published:
        for step in LEASED[case]:
            replay.turn_to(step.at, before)
            already = len(published())
            reply = getattr(replay, step.verb.replace("try_set", "set"))(step)
            check_reply(step, reply)
            said = step.said if step.our_words is None else step.our_words
            assert published()[already:] == [(CHANNEL, word) for word in said], step
            assert peek.get("k") == (step.our_free or step.free), step
            check_holders(step, bare)
            before = step.holders
    replay.link.close()


def check_reply(step: Leased, reply: Any) -> None:
    expected = step.reply if step.our_reply is None else step.our_reply
    if isinstance(expected, int) and expected > 1:  # until the nearest lease ends
        assert expected - 1000 < reply <= expected, step
    else:
        assert reply == expected, step


def check_holders(step: Leased, bare: Any) -> None:
    """The same ids, which end when Redisson's do; but none of ours is for ever."""
    held = {int(id.hex(), 16): ends for id, ends in bare.zrange(LEASES, 0, -1, withscores=True)}
    assert held.keys() == step.holders.keys(), step
    for id, ends in step.holders.items():
        left = held[id] - time.time() * 1000
        if ends != NEVER:
            assert ends - step.at - 1000 < left <= ends - step.at, step
        elif id in step.ids:
            assert left <= LONGEST_LEASE * 1000
        else:
            assert held[id] == NEVER
