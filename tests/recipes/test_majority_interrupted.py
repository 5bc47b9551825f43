"""A majority by hand, interrupted anywhere: nothing is left in the stores."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from interlock.errors import UsageError

from .members import Majority, Thing, busy, given, settle, take, told

INTERRUPTIONS: list[Callable[[], BaseException]] = [KeyboardInterrupt, asyncio.CancelledError]


@pytest.mark.parametrize("interruption", [*INTERRUPTIONS, lambda: UsageError("read first")])
@pytest.mark.parametrize("at", range(3))
def test_interruption_gives_back_what_was_taken_and_nothing_more(
    at: int, interruption: Callable[[], BaseException]
) -> None:
    case, struck = Majority(), interruption()
    taken = take(case.hand, at)

    case.hand.fail(struck)
    if taken:
        settle(case.hand)

    assert case.hand.error is struck
    assert told(case.hand)[at + 1 :] == given(*(thing.member for thing in taken))
    assert case.held == []


def test_member_that_was_taken_without_our_hearing_of_it_is_given_back_too() -> None:
    case, struck = Majority(), KeyboardInterrupt()
    case.members[0].stand(Thing("a"))

    case.hand.fail(struck).reply()

    assert told(case.hand) == ["take a", "give a"]
    assert case.hand.error is struck


def test_interruption_between_two_rounds_has_nothing_to_give_back() -> None:
    case, struck = Majority(), KeyboardInterrupt()
    case.hand.fail(busy("a")).fail(busy("b"))

    case.hand.fail(struck)

    assert told(case.hand) == ["take a", "take b", "pause until 100.1"]
    assert case.hand.error is struck


@pytest.mark.parametrize("interruption", INTERRUPTIONS)
def test_interruption_while_a_round_is_given_back_gives_back_the_rest(
    interruption: Callable[[], BaseException],
) -> None:
    case, struck = Majority("abcd"), interruption()
    take(case.hand, 2)
    case.hand.fail(busy("c")).fail(busy("d"))

    case.hand.fail(struck)

    assert told(case.hand)[4:] == ["give b, give a"]
    assert case.hand.error is struck
    assert case.held == []
