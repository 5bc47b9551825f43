"""How many permits there are: said once, changed at any time, and never miscounted."""

from __future__ import annotations

import time
from typing import Any

import pytest

from interlock import StoreMisconfigured
from interlock.drive import now
from interlock.model import Busy
from interlock.recipes.lock import POLL_CAP

from ...support.worlds import World
from .counted import KIND, KINDS, Meet, Person, free, line_up, permits_of
from .watching import litter

pytestmark = pytest.mark.server

each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def meet(world: World, redis_url: str) -> Meet:
    """Make people; they leave with the world."""
    return lambda store: Person(world, redis_url, store)


@each_kind
def test_first_to_ask_says_how_many_there_are(meet: Meet, peek: Any, kind: str) -> None:
    first, second = meet(permits_of(kind, 2)), meet(permits_of(kind, 9))
    first.take()
    second.take()

    assert isinstance(second.ask(), Busy)
    assert (free(peek), peek.get(KIND)) == (0, f"{kind} 2")
    assert second.look().permits == 2


@each_kind
def test_unset_permits_are_said_to_be_unset_and_nothing_is_left(
    meet: Meet, peek: Any, kind: str
) -> None:
    person = meet(permits_of(kind, None))

    with pytest.raises(StoreMisconfigured, match="how many permits"):
        person.take()
    assert litter(peek) == set()
    assert person.look() is None


@each_kind
def test_permits_that_are_set_need_not_be_said_again(meet: Meet, peek: Any, kind: str) -> None:
    person = meet(permits_of(kind, None))
    person.do(person.store.set_permits("k", 1, now() + 5))

    assert person.give(person.take())
    assert free(peek) == 1


@each_kind
def test_more_permits_are_handed_over_at_once(meet: Meet, peek: Any, kind: str) -> None:
    holder = meet(permits_of(kind, 1))
    holder.take()
    waiting = line_up(peek, [meet(permits_of(kind, 1)) for _ in range(3)])
    began = time.monotonic()

    holder.do(holder.store.set_permits("k", 3, now() + 5))

    for granted in waiting[:2]:
        granted.result(5)
    assert time.monotonic() - began < POLL_CAP / 2
    assert not waiting[2].done()
    assert (free(peek), peek.get(KIND)) == (0, f"{kind} 3")
    holder.do(holder.store.set_permits("k", 4, now() + 5))
    waiting[2].result(5)


@each_kind
def test_fewer_permits_admit_nobody_until_enough_are_back(
    meet: Meet, peek: Any, kind: str
) -> None:
    person = meet(permits_of(kind, 3))
    grants = [person.take() for _ in range(3)]

    for _ in range(2):  # to say it twice takes nothing twice
        person.do(person.store.set_permits("k", 1, now() + 5))
    assert free(peek) == -2
    for grant, left in zip(grants, (-1, 0, 1), strict=True):
        assert isinstance(person.ask(), Busy)
        assert person.give(grant)
        assert free(peek) == left
    assert person.give(person.take())
    assert person.look().available == 1


@each_kind
def test_number_that_somebody_deleted_is_set_anew_beside_its_holders(
    meet: Meet, peek: Any, kind: str
) -> None:
    person = meet(permits_of(kind, 3))
    grant = person.take()
    peek.delete("k")

    person.take()

    assert free(peek) == 1
    assert person.give(grant)
    assert free(peek) == 2
