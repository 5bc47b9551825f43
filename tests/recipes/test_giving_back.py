"""Several locks given back by hand: last first, whatever goes wrong with one of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from interlock.errors import LockLost, StoreUnavailable
from interlock.recipes.several import give_all

from .hand import Hand
from .members import Friend, Thing, friends, told

INTERRUPTIONS: list[Callable[[], BaseException]] = [KeyboardInterrupt, asyncio.CancelledError]


def held(*names: str) -> tuple[list[Friend], list[Thing]]:
    members, things = friends("".join(names)), [Thing(name) for name in names]
    for member, thing in zip(members, things, strict=True):
        member.stand(thing)
    return members, things


def test_all_are_given_back_last_first() -> None:
    hand = Hand(give_all(*held("a", "b", "c"))).reply().reply().reply()

    assert told(hand) == ["give c", "give b", "give a"]
    assert hand.result == []


def test_what_was_not_got_is_not_given_back() -> None:
    members, things = held("a", "b", "c")

    hand = Hand(give_all(members, [things[0], None, things[2]])).reply().reply()

    assert told(hand) == ["give c", "give a"]


def test_failures_are_told_when_all_have_been_given_back() -> None:
    lost, down = LockLost("c", 1, 2.0, "gone"), StoreUnavailable("out of reach")

    hand = Hand(give_all(*held("a", "b", "c"))).fail(lost).reply().fail(down)

    assert told(hand) == ["give c", "give b", "give a"]
    assert hand.result == [lost, down]


@pytest.mark.parametrize("interruption", INTERRUPTIONS)
def test_interruption_goes_on_when_all_have_been_given_back(
    interruption: Callable[[], BaseException],
) -> None:
    first = interruption()

    hand = Hand(give_all(*held("a", "b", "c"))).fail(first).fail(KeyboardInterrupt()).reply()

    assert told(hand) == ["give c", "give b", "give a"]
    assert hand.error is first
