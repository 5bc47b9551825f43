"""A majority by hand, interrupted anywhere: nothing is left in the stores."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from interlock.errors import UsageError

from .members import Majority, Thing, busy, fly, settle, take, told, vote

INTERRUPTIONS: list[Callable[[], BaseException]] = [KeyboardInterrupt, asyncio.CancelledError]


@pytest.mark.parametrize("interruption", INTERRUPTIONS)
@pytest.mark.parametrize("taken", ["", "a", "ab"])
def test_interruption_gives_back_what_was_taken_and_nothing_more(
    taken: str, interruption: Callable[[], BaseException]
) -> None:
    case, struck = Majority("abcde", apart=True), interruption()
    for flight in fly(case.hand)[: len(taken)]:
        flight.land()
    if taken:
        case.hand.reply()

    case.hand.fail(struck).reply()
    for flight in fly(case.hand) if len(taken) > 1 else []:
        flight.land()
    if taken:
        settle(case.hand)

    assert case.hand.error is struck
    prefix = "begin " if len(taken) > 1 else ""  # one client alone needs no company
    gives = [prefix + f"give {name}" if len(taken) > 1 else "give a" for name in taken[::-1]]
    assert [each for each in told(case.hand) if "give" in each] == gives
    assert case.held == []


@pytest.mark.parametrize("interruption", [*INTERRUPTIONS, lambda: UsageError("read first")])
def test_interruption_of_those_of_one_client_is_that_of_all(
    interruption: Callable[[], BaseException],
) -> None:
    case, struck = Majority(), interruption()

    case.hand.fail(struck)

    assert told(case.hand) == ["take a, take b, take c"]
    assert type(case.hand.error) is type(struck)
    assert case.held == []


def test_interruption_while_the_others_are_tried_gives_back_the_one_that_was_waited_for() -> None:
    case, struck = Majority(), KeyboardInterrupt()
    vote(case.hand, a=busy("a"), b=busy("b"), c=busy("c"))
    case.hand.reply(False)
    take(case.hand)

    case.hand.fail(struck)
    settle(case.hand)

    assert told(case.hand)[2:] == ["take a", "take b, take c", "give a"]
    assert case.hand.error is struck


def test_member_that_was_taken_without_our_hearing_of_it_is_given_back_too() -> None:
    case, struck = Majority(), KeyboardInterrupt()
    case.members[0].stand(Thing("a"))

    case.hand.fail(struck).reply()

    assert told(case.hand) == ["take a, take b, take c", "give a"]
    assert case.hand.error is struck


def test_interruption_between_two_rounds_has_nothing_to_give_back() -> None:
    case, struck = Majority(), KeyboardInterrupt()
    vote(case.hand, a=busy("a"), b=busy("b"), c=busy("c"))

    case.hand.fail(struck)

    assert told(case.hand) == ["take a, take b, take c", "pause until 100.1"]
    assert case.hand.error is struck


@pytest.mark.parametrize("interruption", INTERRUPTIONS)
def test_interruption_while_a_round_is_given_back_gives_back_the_rest(
    interruption: Callable[[], BaseException],
) -> None:
    case, struck = Majority("abcd"), interruption()
    vote(case.hand, c=busy("c"), d=busy("d"))

    case.hand.fail(struck)

    assert told(case.hand)[1:] == ["give b, give a"]
    assert case.hand.error is struck
    assert case.held == []
