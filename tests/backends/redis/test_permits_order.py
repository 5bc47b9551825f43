"""Who gets permits: whoever came first, unless it is gone."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from interlock import AcquireTimeout
from interlock.drive import now
from interlock.model import PROVISIONAL, Busy
from interlock.recipes.lock import POLL_CAP, acquire, release
from interlock.steps import Steps, park

from ...support.eventually import eventually
from ...support.worlds import World
from .counted import KIND, KINDS, QUEUE, Meet, Person, free, line_up, permits_of
from .watching import litter, tombs

pytestmark = pytest.mark.server

each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def meet(world: World, redis_url: str) -> Meet:
    """Make people; they leave with the world."""
    return lambda store: Person(world, redis_url, store)


@each_kind
def test_waiters_are_served_in_order_of_arrival(meet: Meet, peek: Any, kind: str) -> None:
    holder = meet(permits_of(kind, 2))
    grants = [holder.take(), holder.take()]
    people = [meet(permits_of(kind)) for _ in range(5)]
    waiting = line_up(peek, people)
    tokens = [grant.token for grant in grants]
    for turn, person in zip(waiting, people, strict=True):
        assert holder.give(grants.pop(0))
        grants.append(turn.result(5))
        tokens.append(grants[-1].token)
        assert sum(each.done() for each in waiting) == len(tokens) - 2
        holder = person
    assert tokens == sorted(set(tokens))
    for grant in grants:
        assert holder.give(grant)
    assert free(peek) == 2
    assert litter(peek) == {"k", KIND}


def test_many_permits_are_taken_and_given_at_once(meet: Meet, peek: Any) -> None:
    heavy, light = meet(permits_of("semaphore", 5, 3)), meet(permits_of("semaphore", 5))
    grant = heavy.take()
    assert free(peek) == 2
    light.take()
    assert isinstance(heavy.ask(), Busy)
    assert {each.weight for each in light.look().holders} == {1, 3}

    assert heavy.give(grant)

    assert free(peek) == 4


def test_many_are_served_by_one_that_gives_much(meet: Meet, peek: Any) -> None:
    heavy = meet(permits_of("semaphore", 3, 3))
    grant = heavy.take()
    waiting = line_up(peek, [meet(permits_of("semaphore")) for _ in range(4)])
    began = time.monotonic()

    heavy.give(grant)

    for granted in waiting[:3]:
        granted.result(5)
    assert time.monotonic() - began < POLL_CAP / 2
    assert not waiting[3].done()


def test_heavy_waiter_is_not_overtaken_by_light_ones(meet: Meet, peek: Any) -> None:
    light, heavy = permits_of("semaphore", 3), permits_of("semaphore", 3, 3)
    holder, first, second = meet(light), meet(heavy), meet(light)
    grant = holder.take()
    waiting = line_up(peek, [first, second])

    assert isinstance(meet(light).ask(), Busy)  # though two permits are free

    holder.give(grant)
    assert not waiting[1].done()
    first.give(waiting[0].result(5))
    waiting[1].result(5)


def test_those_who_waited_for_a_heavy_one_alone_go_when_it_gives_up(meet: Meet, peek: Any) -> None:
    light, heavy = permits_of("semaphore", 3), permits_of("semaphore", 3, 3)
    meet(light).take()
    hasty = meet(heavy).wait(timeout=0.5)
    eventually(lambda: peek.zcard(QUEUE) == 1)
    patient = line_up(peek, [meet(light)])[0]

    with pytest.raises(AcquireTimeout):
        hasty.result(5)

    assert patient.result(POLL_CAP / 2)
    assert peek.zcard(QUEUE) == 0


def test_dead_heavy_waiter_holds_up_nobody(meet: Meet, peek: Any) -> None:
    """Nobody hears for it, so those behind it need not wait until it would fit."""
    light, heavy = permits_of("semaphore", 3), permits_of("semaphore", 3, 3)
    meet(light).take()
    dead = meet(heavy)
    assert isinstance(dead.ask(waits=True), Busy)  # without ever listening
    assert peek.zcard(QUEUE) == 1

    assert not isinstance(meet(light).ask(), Busy)
    assert peek.zcard(QUEUE) == 0


@each_kind
def test_waiters_that_die_while_they_wait_are_skipped(meet: Meet, peek: Any, kind: str) -> None:
    holder, dying = meet(permits_of(kind, 1)), [meet(permits_of(kind)) for _ in range(3)]
    grant = holder.take()
    channels = [f"interlock:wake:{each.identity}" for each in dying]
    with peek.pubsub() as subscriber:
        subscriber.subscribe(*channels)
        assert all(subscriber.get_message(timeout=5) for _ in channels)
        for each in dying:
            each.ask(waits=True)
        waiting = line_up(peek, [meet(permits_of(kind))])[0]
    eventually(lambda: sum(heard for _, heard in peek.pubsub_numsub(*channels)) == 0)
    began = time.monotonic()

    holder.give(grant)

    waiting.result(5)
    assert time.monotonic() - began < POLL_CAP / 2
    assert peek.zcard(QUEUE) == 0


@each_kind
def test_paused_waiter_costs_one_provisional_lease(meet: Meet, peek: Any, kind: str) -> None:
    """Somebody hears for it, but it does not claim."""
    holder, paused = meet(permits_of(kind, 1)), meet(permits_of(kind))
    grant = holder.take()
    with peek.pubsub() as subscriber:
        subscriber.subscribe(f"interlock:wake:{paused.identity}")
        assert subscriber.get_message(timeout=5)
        paused.ask(waits=True)
        waiting = line_up(peek, [meet(permits_of(kind))])[0]
        began = time.monotonic()
        holder.give(grant)
        waiting.result(10)
        assert PROVISIONAL - 0.1 < time.monotonic() - began < PROVISIONAL + 1.0
    assert free(peek) == 0


@each_kind
def test_try_never_overtakes_a_waiter(meet: Meet, peek: Any, kind: str) -> None:
    holder, waiter, hasty = (meet(permits_of(kind, 1)) for _ in range(3))
    owner = holder.owner()
    holder.ask(owner, lease=0.3)
    mine = waiter.owner()
    with peek.pubsub() as subscriber:
        subscriber.subscribe(f"interlock:wake:{waiter.identity}")
        assert subscriber.get_message(timeout=5)
        waiter.ask(mine, waits=True)
        eventually(lambda: not waiter.look().holders)  # the holder's lease has run out

        answer = hasty.ask()

        assert isinstance(answer, Busy) and answer.holder == mine
        assert subscriber.get_message(timeout=5)["data"] == mine
    assert peek.zcard(QUEUE) == 0  # nor was the try remembered


@each_kind
def test_queue_is_in_order_though_the_clock_steps_back_and_ends_by_itself(
    meet: Meet, peek: Any, kind: str
) -> None:
    people = [meet(permits_of(kind, 1)) for _ in range(3)]
    people[0].take()
    with peek.pubsub() as subscriber:
        subscriber.subscribe(*(f"interlock:wake:{each.identity}" for each in people))
        assert all(subscriber.get_message(timeout=5) for _ in people)
        people[1].ask(waits=True)
        ((first, _),) = peek.zscan(QUEUE)[1]
        peek.zadd(QUEUE, {first: 3e15})

        people[2].ask(waits=True)

    assert peek.zrange(QUEUE, 0, 0) == [first] and peek.zcard(QUEUE) == 2
    assert 0 < peek.pttl(QUEUE) <= 10_000


class Room:
    """Where permits are used; it notices when too many are."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self.inside = self.most = 0

    def move(self, permits: int) -> None:
        with self._mutex:
            self.inside += permits
            self.most = max(self.most, self.inside)


def visits(person: Person, room: Room) -> Steps[None]:
    """Take permits, use them, give them back; give up now and then."""
    weight = person.store.weight
    for visit in range(30):
        seeking = person.seeking(timeout=0.02 if visit % 3 == 0 else 30.0)
        try:
            grant = yield from acquire(seeking)
        except AcquireTimeout:
            continue
        room.move(weight)
        yield from park(None, now() + 0.002)
        room.move(-weight)
        assert (yield from release(person.store, grant, now() + 5))


@each_kind
def test_never_more_are_held_than_there_are(meet: Meet, peek: Any, kind: str) -> None:
    weights = (1, 1, 1, 1, 2, 2) if kind == "semaphore" else (1,) * 6
    people, room = [meet(permits_of(kind, 3, weight)) for weight in weights], Room()

    for done in [person.start(visits(person, room)) for person in people]:
        done.result(60)

    assert (room.inside, room.most) == (0, 3)
    assert free(peek) == 3
    assert litter(peek) - tombs(peek) == {"k", KIND}
