"""Several locks given back by hand: all at once and within one limit, whatever goes wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from interlock.errors import InterlockError, LockLost, OutcomeUnknown, StoreUnavailable
from interlock.recipes.lock import GRACE, WITHDRAWAL
from interlock.recipes.majority import take_majority
from interlock.recipes.multilock import give_all, take_all
from interlock.steps import Arrival, Begin, Call, Park, Settle, Together

from .hand import Clock, Hand
from .members import Friend, Home, PaperFlight, Thing, fly, friends, told

INTERRUPTIONS: list[Callable[[], BaseException]] = [KeyboardInterrupt, asyncio.CancelledError]

#: When everything must have been given back.
LIMIT = 105.0


def held(*names: str) -> tuple[list[Friend], list[Thing]]:
    members, things = friends("".join(names)), [Thing(name) for name in names]
    for member, thing in zip(members, things, strict=True):
        member.stand(thing)
    return members, things


def give(members: list[Friend], things: list[Any], clock: Clock | None = None) -> Hand:
    return Hand(give_all(members, things, LIMIT, clock or Clock()))


def test_all_are_given_back_at_once_the_last_one_first() -> None:
    hand = give(*held("a", "b", "c")).reply([None] * 3)

    assert told(hand) == ["give c, give b, give a"]
    assert {each.until for each in hand.requests[0].calls} == {LIMIT}  # type: ignore[union-attr]
    assert hand.result == []


def test_what_was_not_got_is_not_given_back() -> None:
    members, things = held("a", "b", "c")

    hand = give(members, [things[0], None, things[2]]).reply([None] * 2)

    assert told(hand) == ["give c, give a"]


def test_failures_are_told_when_all_have_been_given_back() -> None:
    lost, down = LockLost("c", 1, 2.0, "gone"), StoreUnavailable("out of reach")

    hand = give(*held("a", "b", "c")).reply([lost, None, down])

    assert hand.result == [lost, down]


def test_silence_is_a_failure_of_each() -> None:
    hand = give(*held("a", "b", "c")).fail(OutcomeUnknown("no answer"))

    assert told(hand) == ["give c, give b, give a"]
    assert [str(failure) for failure in hand.result] == ["no answer"] * 3


# --- of several clients --------------------------------------------------------------------------


def apart(*crews: str) -> tuple[list[Friend], list[Thing]]:
    """Held members of several clients, those of each in a word."""
    members, things = held(*"".join(crews))
    homes = [home for crew in crews for home in [Home()] * len(crew)]
    for member, home in zip(members, homes, strict=True):
        member.client = home
    return members, things


@pytest.mark.parametrize("interruption", INTERRUPTIONS)
def test_interruption_goes_on_when_all_have_been_given_back(
    interruption: Callable[[], BaseException],
) -> None:
    first = interruption()
    hand = give(*apart("a", "bc"))
    fly(hand)

    hand.fail(first)
    assert isinstance(hand.request, Settle)
    hand.fail(KeyboardInterrupt()).reply()

    assert told(hand) == ["begin give c, give b", "begin give a", "arrival", "settle", "settle"]
    assert hand.error is first


def test_those_of_all_clients_are_given_back_at_once_and_those_of_one_together() -> None:
    hand = give(*apart("ab", "cd"))
    theirs, ours = fly(hand)
    theirs.land()
    hand.reply()
    ours.land()
    hand.reply()

    assert told(hand) == ["begin give d, give c", "begin give b, give a", "arrival", "arrival"]
    assert hand.result == []


def test_failures_of_all_clients_are_told() -> None:
    hand, down = give(*apart("a", "b")), StoreUnavailable("out of reach")
    first, second = fly(hand)
    first.land()
    second.land(a=down)

    hand.reply()

    assert hand.result == [down]


def test_client_whose_link_has_to_wait_is_asked_when_the_others_have_answered() -> None:
    hand = give(*apart("a", "b"))
    assert hand.request.client.link is None
    first = PaperFlight(hand.request)
    hand.reply(first).reply(None)
    first.land()
    hand.reply()

    assert told(hand) == ["begin give b", "begin give a", "arrival", "via give a"]
    hand.reply(None)
    assert hand.result == []


def test_silent_client_leaves_those_behind_it_a_chance_within_the_same_limit() -> None:
    hand = give(*apart("a", "b", "c"))

    ends = [flight.calls[0].until for flight in fly(hand)]

    assert ends == [pytest.approx(104.6), pytest.approx(104.8), LIMIT]


def test_once_enough_were_given_back_the_others_have_the_time_of_a_withdrawal() -> None:
    clock = Clock()
    hand = Hand(give_all(*apart("a", "b", "c"), LIMIT, clock, enough=2))
    flights = fly(hand)
    for flight in flights[:2]:
        flight.land()
    hand.reply()
    assert isinstance(hand.request, Arrival) and hand.request.until == 100.0 + WITHDRAWAL
    clock.now = hand.request.until

    hand.reply()

    assert flights[2].left
    assert [type(failure) for failure in hand.result] == [OutcomeUnknown]


def test_limit_that_has_passed_still_gives_everything_back() -> None:
    hand = give(*apart("a", "b"), Clock(LIMIT + 1))

    flights = fly(hand)

    assert [flight.names for flight in flights] == [["b"], ["a"]]


# --- however late each answer is ---------------------------------------------------------------


class Late:
    """Lets some members be taken at once, and then nothing be answered in its time."""

    def __init__(self, hand: Hand, clock: Clock, taken: int) -> None:
        self.hand, self.clock, self.taken = hand, clock, taken

    def run(self) -> None:
        while not self.hand.done:
            request = self.hand.request
            if isinstance(request, Begin):
                self.hand.reply(PaperFlight(request))
            elif isinstance(request, Arrival):
                self._arrive(request.flights, request.until)
            elif isinstance(request, Park):
                self.clock.now = max(self.clock.now, request.until)
                self.hand.reply(False)
            elif isinstance(request, Together):
                self.hand.reply(self._replies(request.calls))
            else:
                (reply,) = self._replies((request,))
                self.hand.fail(reply) if isinstance(reply, Exception) else self.hand.reply(reply)

    def _replies(self, calls: tuple[Call, ...]) -> list[Any]:
        replies: list[Any] = []
        for call in calls:
            if call.operation == "take" and self.taken:
                self.taken -= 1
                replies.append(Thing(call.keys[0]))
            else:
                self.clock.now = max(self.clock.now, call.until)
                replies.append(OutcomeUnknown("no answer"))
        return replies

    def _arrive(self, flights: tuple[Any, ...], until: float) -> None:
        ends = min(call.until for flight in flights for call in flight.calls)
        if self.taken:
            flights[0].replies = self._replies(flights[0].calls)
        elif until < ends:
            self.clock.now = max(self.clock.now, until)
        else:
            for flight in flights:
                flight.replies = self._replies(flight.calls)
        self.hand.reply()


@pytest.mark.parametrize("timeout", [0.0, 0.2, 5.0])
@pytest.mark.parametrize("taken", [0, 1, 5])
@pytest.mark.parametrize("clients", [1, 2, 3])
@pytest.mark.parametrize("kind", ["all", "majority"])
def test_acquire_of_several_ends_two_seconds_after_its_deadline_at_the_latest(
    kind: str, clients: int, taken: int, timeout: float
) -> None:
    clock, members = Clock(), friends("abcdefghij")
    homes = [Home() for _ in range(clients)]
    for place, member in enumerate(members):
        member.client = homes[place % clients]
    deadline = clock() + timeout
    steps = (
        take_all(members, deadline, clock)
        if kind == "all"
        else take_majority(members, deadline, clock, 0.5, lambda event: None)
    )

    hand = Hand(steps)
    Late(hand, clock, taken).run()

    assert isinstance(hand.error, InterlockError)
    assert clock.now <= deadline + GRACE
    assert [member.name for member in members if member.depth] == []


def test_member_is_not_asked_for_when_there_is_no_time_left_for_its_answer() -> None:
    clock, members = Clock(), friends("abc")
    hand = Hand(take_all(members, 100.0, clock))
    hand.reply(Thing("a"))
    clock.now += 1.5

    hand.reply(Thing("b"))
    hand.reply([None, None])

    assert told(hand) == ["take a", "take b", "give b, give a"]
    assert isinstance(hand.error, StoreUnavailable)
    assert "2 of 3 locks were taken in 1.5 s" in str(hand.error)
    assert "a try of so many needs quicker answers" in str(hand.error)
