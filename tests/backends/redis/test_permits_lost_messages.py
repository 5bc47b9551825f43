"""What if an answer or a message is lost right here?  No permit is ever lost with it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from interlock import StoreUnavailable
from interlock.backends.redis.scripts import script
from interlock.model import PROVISIONAL
from interlock.recipes.lock import POLL_CAP, acquire
from tests.support.faults import FaultProxy
from tests.support.servers import RedisServer

from ...support.eventually import eventually
from ...support.worlds import World
from .counted import (
    HOLDERS,
    KIND,
    KINDS,
    QUEUE,
    Java,
    Meet,
    Person,
    free,
    permits_of,
    share_of,
)
from .watching import Monitor, litter, sha, tombs

pytestmark = pytest.mark.server

each_kind = pytest.mark.parametrize("kind", KINDS)

#: The links are the same for both, so that the second has to prove its own bookkeeping only.
ROUNDS = {"semaphore": 1000, "leased_semaphore": 250}

#: Time for a question that was due anyway, on a busy machine.
SOON = 1.5


@pytest.fixture
def meet(world: World, proxy: FaultProxy) -> Meet:
    """Make people behind the proxy; they leave with the world."""
    return lambda store: Person(world, f"redis://127.0.0.1:{proxy.port}", store)


@each_kind
def test_count_is_exact_after_a_thousand_lost_answers(
    meet: Meet, proxy: FaultProxy, peek: Any, kind: str
) -> None:
    """D1: each second question is executed, its answer lost, and then asked again."""
    person = meet(permits_of(kind, 4))
    person.give(person.take())  # teaches the server the scripts
    for i in range(ROUNDS[kind]):
        proxy.lose_reply(sha("permits_release" if i % 2 else "permits_attempt"))
        grant = person.take()
        assert free(peek) == 3
        assert person.give(grant)
        assert free(peek) == 4
    assert proxy.fired == ROUNDS[kind]
    assert peek.zcard(HOLDERS[kind]) == 0
    assert litter(peek) - tombs(peek) == {"k", KIND}


@each_kind
def test_try_whose_answer_is_lost_leaves_nothing(
    meet: Meet, proxy: FaultProxy, peek: Any, kind: str
) -> None:
    person = meet(permits_of(kind, 4))
    person.give(person.take())
    for _ in range(20):
        proxy.lose_reply(sha("permits_attempt"))
        with pytest.raises(StoreUnavailable):
            person.wait(timeout=0).result(5)
        assert free(peek) == 4
    assert proxy.fired == 20


@each_kind
def test_permits_are_set_once_though_the_answer_is_lost(
    meet: Meet, proxy: FaultProxy, peek: Any, kind: str
) -> None:
    person = meet(permits_of(kind, 4))
    peek.script_load(script("permits_set").text)
    proxy.lose_reply(sha("permits_set"))

    grant = person.take()

    assert proxy.fired == 1
    assert free(peek) == 3
    assert person.give(grant)
    assert free(peek) == 4


@each_kind
def test_question_that_arrives_after_its_withdrawal_is_refused(
    meet: Meet, proxy: FaultProxy, peek: Any, kind: str, redis_server: RedisServer
) -> None:
    person = meet(permits_of(kind, 4))
    person.give(person.take())
    with Monitor(redis_server.port) as monitor:
        proxy.hold_back(sha("permits_attempt"), 1.3)
        with pytest.raises(StoreUnavailable):
            person.wait(timeout=0).result(5)
        late = sha("permits_attempt").decode()
        eventually(lambda: any(late in seen.words for seen in monitor.sent()))
    assert free(peek) == 4
    assert peek.zcard(HOLDERS[kind]) == 0


@each_kind
def test_waiter_survives_that_javas_message_is_lost(meet: Meet, peek: Any, kind: str) -> None:
    """D22: Redisson's own waiters would sleep for ever."""
    java, person = Java(peek), meet(permits_of(kind, 1))
    person.give(person.take())
    java.acquire()
    waiting = person.wait()
    eventually(lambda: peek.zcard(QUEUE) == 1)
    began = time.monotonic()

    peek.incr("k")  # and not a word

    waiting.result(POLL_CAP + SOON)
    assert time.monotonic() - began < POLL_CAP + SOON


@each_kind
def test_waiter_survives_that_its_wake_is_lost(meet: Meet, peek: Any, kind: str) -> None:
    """D22: it was handed the permit, and asks for it in time without having been told."""
    holder, waiter = meet(permits_of(kind, 1)), meet(permits_of(kind))
    holder.take()
    seeking = waiter.seeking()
    waiting = waiter.start(acquire(seeking))
    eventually(lambda: peek.zcard(QUEUE) == 1)
    ends = round((time.time() + PROVISIONAL) * 1000)

    peek.execute_command("ZREMRANGEBYRANK", HOLDERS[kind], 0, -1)
    peek.execute_command("ZADD", HOLDERS[kind], ends, share_of(kind, seeking.owner))
    peek.delete(QUEUE)

    grant = waiting.result(POLL_CAP + SOON)
    assert waiter.give(grant)
    assert free(peek) == 1
