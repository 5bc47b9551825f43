"""Locks to be taken together, under the test's hand."""

from __future__ import annotations

from typing import Any

from interlock.errors import AcquireTimeout
from interlock.recipes.several import take_majority
from interlock.steps import Call, Park, Steps, call

from .hand import Clock, Hand


class Thing:
    """What a member has while it holds; the test says when it is lost."""

    lost, depth = False, 1

    def __init__(self, member: str) -> None:
        self.member = member

    def __repr__(self) -> str:
        return f"hold of {self.member}"


class Friend:
    """One lock of several: taken when the test says so, forgotten when it is given back."""

    def __init__(self, name: str) -> None:
        self.name, self.depth = name, 0
        self.hold: Any = None

    def take(self, timeout: float) -> Steps[Any]:
        hold: Any = yield from call("take", (self.name,), (timeout,), 0.0)
        self.stand(hold)
        return hold

    def stand(self, hold: Any) -> None:
        self.hold, self.depth = hold, self.depth + 1

    def give(self, hold: Any) -> Steps[None]:
        self.depth -= 1
        assert self.depth >= 0 and hold is self.hold, f"{self.name} was not taken so often"
        yield from call("give", (self.name,), (hold,), 0.0)

    def standing(self) -> tuple[Any, int] | None:
        return (self.hold, self.depth) if self.depth else None


def friends(names: str) -> list[Friend]:
    return [Friend(name) for name in names]


def told(hand: Hand) -> list[str]:
    """Everything that was asked for: `take a`, `give b`, `pause until 100.1`."""
    return [_words(request) for request in hand.requests]


def _words(request: Any) -> str:
    if isinstance(request, Park):
        return f"pause until {request.until:.6g}"
    assert isinstance(request, Call)
    return f"{request.operation} {request.keys[0]}"


def take(hand: Hand, count: int = 1) -> list[Thing]:
    """Let the next members be taken."""
    things = []
    for _ in range(count):
        assert hand.request.operation == "take"
        things.append(Thing(hand.request.keys[0]))
        hand.reply(things[-1])
    return things


def busy(name: str) -> AcquireTimeout:
    return AcquireTimeout(name, "somebody", 0.5)


class Majority:
    """Some members of which a majority is to be taken, with a clock to move."""

    def __init__(self, names: str = "abc", timeout: float = 60.0, jitter: float = 0.5) -> None:
        self.clock, self.members = Clock(), friends(names)
        deadline = self.clock() + timeout
        self.hand = Hand(take_majority(self.members, deadline, self.clock, jitter))

    @property
    def held(self) -> list[str]:
        return [member.name for member in self.members if member.depth]
