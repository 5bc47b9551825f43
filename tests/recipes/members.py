"""Locks to be taken together, under the test's hand."""

from __future__ import annotations

from typing import Any

from interlock.errors import AcquireTimeout, OutcomeUnknown, UsageError
from interlock.events import Event
from interlock.recipes.lock import Silence
from interlock.recipes.majority import take_majority
from interlock.recipes.multilock import Abroad
from interlock.steps import (
    Arrival,
    Begin,
    Call,
    Elsewhere,
    Park,
    Settle,
    Steps,
    Together,
    Via,
    call,
)

from .hand import Clock, Hand


class Thing:
    """What a member has while it holds; the test says when it is lost."""

    lost, depth = False, 1

    def __init__(self, member: str) -> None:
        self.member = member

    def __repr__(self) -> str:
        return f"hold of {self.member}"


class Home:
    """The client of some members: see `multilock.MemberClient`."""

    link: Any = None

    def __init__(self) -> None:
        self.silence = Silence()


HOME = Home()


class Friend:
    """One lock of several: taken when the test says so, forgotten when it is given back."""

    abroad: Abroad | None = None
    #: Whether to wait for it would be to wait for itself.
    itself = False

    def __init__(self, name: str) -> None:
        self.name, self.depth = name, 0
        self.client: Home = HOME
        self.hold: Any = None

    def take(self, timeout: float, limit: float, persists: bool = True) -> Steps[Any]:
        hold: Any = yield from call("take", (self.name,), (timeout, persists), limit)
        self.stand(hold)
        return hold

    def check_itself(self) -> Steps[None]:
        if self.itself:
            raise UsageError(f"{self.name} would wait for itself")
        yield from ()

    def stand(self, hold: Any) -> None:
        self.hold, self.depth = hold, self.depth + 1

    def give(self, hold: Any, until: float) -> Steps[None]:
        self.depth -= 1
        assert self.depth >= 0 and hold is self.hold, f"{self.name} was not taken so often"
        yield from call("give", (self.name,), (hold,), until)

    def standing(self) -> tuple[Any, int] | None:
        return (self.hold, self.depth) if self.depth else None


def friends(names: str) -> list[Friend]:
    return [Friend(name) for name in names]


def told(hand: Hand) -> list[str]:
    """Everything that was asked for: `take a`, `give c, give b`, `pause until 100.1`."""
    return [_words(request) for request in hand.requests]


def _words(request: Any) -> str:
    if isinstance(request, Begin):
        return f"begin {_words(Together(request.calls))}"
    if isinstance(request, Arrival | Settle):
        return type(request).__name__.lower()
    if isinstance(request, Via):
        return f"via {_words(request.request)}"
    if isinstance(request, Park):
        return f"pause until {request.until:.6g}"
    if isinstance(request, Elsewhere):
        return "elsewhere"
    if isinstance(request, Together):
        return ", ".join(_words(each) for each in request.calls)
    assert isinstance(request, Call)
    return f"{request.operation} {request.keys[0]}"


def given(*names: str) -> list[str]:
    """What is told when members are given back: all at once, the last one first."""
    return [", ".join(f"give {name}" for name in reversed(names))] if names else []


def settle(hand: Hand) -> Hand:
    """Let everything that is being given back be given back."""
    request = hand.request
    return hand.reply([None] * len(request.calls) if isinstance(request, Together) else None)


def take(hand: Hand, count: int = 1) -> list[Thing]:
    """Let the next members be taken."""
    things = []
    for _ in range(count):
        assert hand.request.operation == "take"
        things.append(Thing(hand.request.keys[0]))
        hand.reply(things[-1])
    return things


def vote(hand: Hand, **failures: BaseException) -> list[Thing]:
    """Let the members that are tried together be taken, but for those that fail."""
    request = hand.request
    names = [each.keys[0] for each in getattr(request, "calls", (request,))]
    replies = [failures.get(name) or Thing(name) for name in names]
    if isinstance(request, Together):
        hand.reply(replies)
    elif isinstance(replies[0], BaseException):
        hand.fail(replies[0])
    else:
        hand.reply(replies[0])
    return [each for each in replies if isinstance(each, Thing)]


class PaperFlight:
    """Calls that were sent; the test says what is answered: see `steps.Flight`."""

    def __init__(self, request: Begin) -> None:
        self.client, self.calls = request.client, request.calls
        self.replies: list[Any] | Exception | None = None
        self.left = False

    @property
    def names(self) -> list[str]:
        return [each.keys[0] for each in self.calls]

    def land(self, **failures: BaseException) -> list[Any]:
        """Answer: each member is taken, or given back, but for those that fail."""
        self.replies = [
            failures.get(name) or (Thing(name) if call.operation == "take" else None)
            for name, call in zip(self.names, self.calls, strict=True)
        ]
        return self.replies

    def leave(self) -> Exception:
        self.left = True
        return OutcomeUnknown("it was not awaited")


def fly(hand: Hand) -> list[PaperFlight]:
    """Send what is to be sent."""
    flights = []
    while isinstance(request := hand.request, Begin):
        flights.append(PaperFlight(request))
        hand.reply(flights[-1])
    return flights


def busy(name: str) -> AcquireTimeout:
    return AcquireTimeout(name, "somebody", 0.5)


class Majority:
    """Some members of which a majority is to be taken, with a clock to move."""

    def __init__(
        self,
        names: str = "abc",
        timeout: float = 60.0,
        jitter: float = 0.5,
        own: str = "",
        apart: bool = False,
    ) -> None:
        self.clock, self.members = Clock(), friends(names)
        if apart:  # each of a client of its own
            for member in self.members:
                member.client = Home()
        for member in self.members:
            member.itself = member.name in own
        self.events: list[Event] = []
        self.deadline = self.clock() + timeout
        terms = self.deadline, self.clock, jitter, self.events.append
        self.hand = Hand(take_majority(self.members, *terms))

    @property
    def held(self) -> list[str]:
        return [member.name for member in self.members if member.depth]
