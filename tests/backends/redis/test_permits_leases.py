"""Permits of the dead come back, and no question takes or gives twice."""

from __future__ import annotations

import time
from typing import Any

import pytest

from interlock import StoreError
from interlock.drive import now
from interlock.recipes.lock import POLL_CAP
from tests.support.servers import RedisServer

from ...support.eventually import eventually
from ...support.worlds import World
from .counted import HOLDERS, KIND, KINDS, Meet, Person, free, permits_of
from .watching import Monitor, litter, tombs

pytestmark = pytest.mark.server

each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def meet(world: World, redis_url: str) -> Meet:
    """Make people; they leave with the world."""
    return lambda store: Person(world, redis_url, store)


@each_kind
def test_holder_that_dies_gives_its_permits_back(meet: Meet, peek: Any, kind: str) -> None:
    dead, alive = meet(permits_of(kind, 1)), meet(permits_of(kind))
    dead.take(lease=0.4)
    began = time.monotonic()

    grant = alive.take()

    assert 0.3 < time.monotonic() - began < POLL_CAP / 2
    assert free(peek) == 0
    alive.give(grant)
    assert free(peek) == 1


@each_kind
def test_renewal_sets_and_never_adds(meet: Meet, peek: Any, kind: str) -> None:
    person = meet(permits_of(kind, 2))
    grant = person.take(lease=5)
    holds = [("k", grant.owner), ("k", person.owner()), ("elsewhere", grant.owner)]
    for _ in range(3):
        assert person.do(person.store.renew(holds, 20.0, now() + 5)) == [True, False, False]
    assert 19 < person.look().expires_in <= 20
    assert person.do(person.store.renew(holds, 5.0, now() + 5))[0]
    assert 4 < person.look().expires_in <= 5
    assert free(peek) == 1


@each_kind
def test_lease_that_has_ended_is_neither_renewed_nor_released(
    meet: Meet, peek: Any, kind: str
) -> None:
    person = meet(permits_of(kind, 2))
    grant = person.take(lease=0.05)
    eventually(lambda: not person.look().holders)
    assert free(peek) == 1 and person.look().available == 2  # nobody has taken it back yet

    assert person.do(person.store.renew([("k", grant.owner)], 20.0, now() + 5)) == [False]
    assert not person.give(grant)

    assert free(peek) == 2  # it has come back all the same, and once
    assert not person.give(grant)
    assert free(peek) == 2


@each_kind
def test_no_lease_depends_on_the_clock_of_a_client(
    meet: Meet, peek: Any, kind: str, redis_server: RedisServer
) -> None:
    """D5: no instant is ever sent, only lengths of time; the server's clock says the rest."""
    person = meet(permits_of(kind, 2))
    person.give(person.take())
    with Monitor(redis_server.port) as monitor:
        grant = person.take(lease=20)
        person.do(person.store.renew([("k", grant.owner)], 20.0, now() + 5))
        person.look()
        person.give(grant)
        sent = [word for seen in monitor.sent() for word in seen.words]
    numbers = {int(word) for word in sent if word.isdigit()}
    assert 20_000 in numbers
    assert not {number for number in numbers if number > 1_000_000}


@each_kind
def test_same_question_twice_takes_one_permit(meet: Meet, peek: Any, kind: str) -> None:
    """D1: Redisson would lose a permit for ever."""
    person = meet(permits_of(kind, 3))
    owner = person.owner()
    tokens = [person.ask(owner) for _ in range(3)]

    assert tokens == sorted(set(tokens))
    assert (free(peek), peek.zcard(HOLDERS[kind])) == (2, 1)


@each_kind
def test_withdrawn_owner_leaves_nothing_and_is_refused(meet: Meet, peek: Any, kind: str) -> None:
    person = meet(permits_of(kind, 1))
    holding, waiting = person.owner(), person.owner()
    person.ask(holding)
    person.ask(waiting, waits=True)
    for owner, held in ((waiting, False), (holding, True), (holding, False)):
        assert person.do(person.store.withdraw("k", owner, now() + 5)) is held
        with pytest.raises(StoreError, match="withdrawn"):
            person.ask(owner)
    assert free(peek) == 1
    assert litter(peek) - tombs(peek) == {"k", KIND}


def test_operator_ends_what_it_does_not_know_the_weight_of(meet: Meet, peek: Any) -> None:
    heavy, operator = meet(permits_of("semaphore", 5, 3)), meet(permits_of("semaphore"))
    grant = heavy.take()

    steps = operator.store.withdraw("k", grant.owner, now() + 5, "stuck")
    assert operator.do(steps) is True

    assert free(peek) == 5
    assert heavy.do(heavy.store.withdrawal_reason("k", grant.owner, now() + 5)) == "stuck"
    assert heavy.do(heavy.store.renew([("k", grant.owner)], 9.0, now() + 5)) == [False]


@each_kind
def test_attempt_and_release_are_one_round_trip_each(
    meet: Meet, peek: Any, kind: str, redis_server: RedisServer
) -> None:
    person = meet(permits_of(kind, 2))
    person.give(person.take())
    with Monitor(redis_server.port) as monitor:
        person.give(person.take())
        sent = [seen for seen in monitor.sent() if seen.verb.startswith("EVAL")]
    assert len(sent) == 2


@each_kind
def test_share_of_what_became_a_lock_meanwhile_is_given_up_quietly(
    meet: Meet, peek: Any, kind: str
) -> None:
    person = meet(permits_of(kind, 2))
    released, withdrawn = person.take(), person.take()
    peek.delete("k")
    peek.hset("k", "somebody", 1)

    assert person.give(released)
    assert person.do(person.store.withdraw("k", withdrawn.owner, now() + 5))

    assert peek.hgetall("k") == {"somebody": "1"}
    assert peek.zcard(HOLDERS[kind]) == 0


@each_kind
def test_tokens_grow_though_the_clock_steps_back(meet: Meet, peek: Any, kind: str) -> None:
    peek.set("interlock:tokens", 3_000_000_000_000_000)

    assert meet(permits_of(kind, 2)).ask() == 3_000_000_000_000_001
