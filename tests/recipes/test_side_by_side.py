"""Several algorithms side by side: one round trip for all, and each its own reply."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from interlock.errors import OutcomeUnknown, StoreError, StoreMisconfigured, StoreUnavailable
from interlock.steps import (
    Call,
    Park,
    Steps,
    Together,
    call,
    elsewhere,
    listen,
    nothing,
    park,
    side_by_side,
    together,
)

from .hand import Hand, Place

INTERRUPTIONS: list[Callable[[], BaseException]] = [KeyboardInterrupt, asyncio.CancelledError]


def asked(what: str) -> Call:
    return Call(what, (), (), 9.0)


def asks(*questions: str) -> Steps[list[Any]]:
    """Ask one thing after another; answers the replies."""
    replies = []
    for question in questions:
        reply: Any = yield from call(question, (), (), 9.0)
        replies.append(reply)
    return replies


class Careful:
    """Asks something, and takes it back whatever interrupts; remembers what did."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seen: list[BaseException] = []

    def steps(self) -> Steps[str]:
        try:
            yield from call(self.name, (), (), 9.0)
        except BaseException as interruption:
            self.seen.append(interruption)
            if not isinstance(interruption, GeneratorExit):
                yield from call(f"undo {self.name}", (), (), 9.0)
            raise
        return self.name


def told(hand: Hand) -> list[Any]:
    """Every request: the operations of those that went together as a tuple."""
    return [
        tuple(each.operation for each in request.calls)
        if isinstance(request, Together)
        else request.operation
        if isinstance(request, Call)
        else type(request).__name__
        for request in hand.requests
    ]


# --- asking ------------------------------------------------------------------------------------


def test_what_is_asked_goes_in_one_request_and_each_gets_its_own_reply() -> None:
    hand = Hand(side_by_side(asks("a", "b"), asks("c", "d")))
    assert hand.request == Together((asked("a"), asked("c")))

    hand.reply([1, 3]).reply([2, 4])

    assert told(hand) == [("a", "c"), ("b", "d")]
    assert hand.result == [[1, 2], [3, 4]]


def test_calls_that_go_together_already_go_with_the_others() -> None:
    both = together([asked("b"), asked("c")])
    hand = Hand(side_by_side(asks("a"), both, asks("d")))

    hand.reply([1, 2, 3, 4])

    assert told(hand) == [("a", "b", "c", "d")]
    assert hand.result == [[1], [2, 3], [4]]


def test_one_alone_asks_as_if_it_were_not_among_several() -> None:
    hand = Hand(side_by_side(asks("a"), asks("b", "c")))

    hand.reply([1, 2]).reply(3)

    assert told(hand) == [("a", "b"), "c"]
    assert hand.result == [[1], [2, 3]]


def test_what_needs_no_request_ends_at_once() -> None:
    hand = Hand(side_by_side(nothing(), asks("a")))

    hand.reply(1)

    assert told(hand) == ["a"]
    assert hand.result == [None, [1]]


def test_nothing_at_all_asks_for_nothing() -> None:
    hand = Hand(side_by_side())

    assert (hand.requests, hand.result) == ([], [])


def test_other_requests_are_performed_one_after_another_in_the_same_round() -> None:
    def listening() -> Steps[str]:
        with (yield from listen(("topic",), 5.0)):
            yield from call("b", (), (), 9.0)
        return "heard"

    hand = Hand(side_by_side(park(None, 5.0), asks("a", "d"), listening(), asks("c")))
    hand.reply([1, 3])
    assert isinstance(hand.request, Park)

    hand.reply(False).reply(Place()).reply([4, 2])

    assert told(hand) == [("a", "c"), "Park", "Listen", ("d", "b")]
    assert hand.result == [False, [1, 4], "heard", [3]]


def test_another_client_may_run_one_of_them() -> None:
    abroad = asks("x")
    hand = Hand(side_by_side(elsewhere(list, abroad), asks("a")))
    assert told(hand) == ["Elsewhere"]

    hand.reply("done").reply(1)

    assert hand.result == ["done", [1]]
    abroad.close()


# --- failures ----------------------------------------------------------------------------------


@pytest.mark.parametrize("failure", [StoreUnavailable("down"), StoreMisconfigured("no rights")])
def test_failure_of_a_call_is_raised_in_its_own_algorithm_alone(failure: StoreError) -> None:
    careful = Careful("b")
    hand = Hand(side_by_side(asks("a"), careful.steps()))

    hand.reply([1, failure]).reply()

    assert told(hand) == [("a", "b"), "undo b"]
    assert careful.seen == [failure]
    assert hand.result == [[1], failure]


def test_failures_of_calls_that_go_together_are_replies_as_ever() -> None:
    failure = StoreUnavailable("down")
    hand = Hand(side_by_side(asks("a"), together([asked("b"), asked("c")])))

    hand.reply([1, failure, 3])

    assert hand.result == [[1], [failure, 3]]


def test_failure_of_the_whole_is_raised_in_each_of_those_that_asked() -> None:
    one, other = Careful("a"), Careful("b")
    failure, cause = OutcomeUnknown("no answer", "store"), OSError()
    failure.__cause__ = cause
    hand = Hand(side_by_side(one.steps(), park(None, 5.0), other.steps()))

    hand.fail(failure).reply(True).reply([None, None])

    assert told(hand) == [("a", "b"), "Park", ("undo a", "undo b")]
    assert hand.result[1] is True
    for careful in (one, other):
        (seen,) = careful.seen
        assert isinstance(seen, OutcomeUnknown) and str(seen) == "no answer"
        assert (seen.store, seen.__cause__) == ("store", cause)
    assert one.seen[0] is not other.seen[0]  # each may get notes of its own


def test_failure_of_another_request_is_raised_in_its_own_algorithm_alone() -> None:
    down = StoreUnavailable("down")
    hand = Hand(side_by_side(park(None, 5.0), asks("a")))

    hand.fail(down).reply(1)

    assert hand.result == [down, [1]]


# --- interruptions -----------------------------------------------------------------------------


@pytest.mark.parametrize("interruption", INTERRUPTIONS)
def test_interruption_reaches_each_once_and_goes_on_when_all_have_ended(
    interruption: Callable[[], BaseException],
) -> None:
    struck, several = interruption(), [Careful("a"), Careful("b"), Careful("c")]
    hand = Hand(side_by_side(*(each.steps() for each in several)))

    hand.fail(struck)
    assert not hand.done
    hand.reply([None] * 3)

    assert told(hand) == [("a", "b", "c"), ("undo a", "undo b", "undo c")]
    assert [each.seen for each in several] == [[struck]] * 3
    assert hand.error is struck


def test_interruption_of_a_request_of_one_reaches_the_others_as_well() -> None:
    struck, careful = KeyboardInterrupt(), Careful("a")
    hand = Hand(side_by_side(park(None, 5.0), park(None, 6.0), careful.steps()))

    hand.fail(struck).reply()

    assert told(hand) == ["Park", "undo a"]
    assert careful.seen == [struck]
    assert hand.error is struck


def test_interruption_that_strikes_in_one_reaches_the_others_in_place_of_their_replies() -> None:
    struck, careful = KeyboardInterrupt(), Careful("b")

    def striking() -> Steps[None]:
        yield from call("a", (), (), 9.0)
        raise struck

    hand = Hand(side_by_side(asks("z", "y"), striking(), careful.steps()))

    hand.reply([1, 2, 3]).reply()

    assert told(hand) == [("z", "a", "b"), "undo b"]
    assert careful.seen == [struck]
    assert hand.error is struck


def test_interruption_at_the_beginning_lets_the_others_begin_and_clean_up() -> None:
    struck, careful = KeyboardInterrupt(), Careful("b")

    def striking() -> Steps[None]:
        raise struck
        yield

    hand = Hand(side_by_side(striking(), careful.steps()))

    hand.reply()

    assert told(hand) == ["undo b"]
    assert careful.seen == [struck]
    assert hand.error is struck


def test_second_interruption_ends_the_cleaning_up_and_the_first_goes_on() -> None:
    first, second = asyncio.CancelledError(), KeyboardInterrupt()
    several = [Careful("a"), Careful("b")]
    hand = Hand(side_by_side(*(each.steps() for each in several)))

    hand.fail(first).fail(second)

    assert [each.seen for each in several] == [[first], [first]]
    assert hand.error is first


def test_abandoned_algorithms_are_all_closed_and_ask_for_nothing() -> None:
    several = [Careful("a"), Careful("b")]
    hand = Hand(side_by_side(*(each.steps() for each in several), asks("c")))

    hand.steps.close()

    assert told(hand) == [("a", "b", "c")]
    assert [[type(error) for error in each.seen] for each in several] == [[GeneratorExit]] * 2
